//! The futex protocol on the simulated machine: the kernel's memory at the start of the arena,
//! prices from the chip file, and sleeping by the run queues.

use crate::engine::current::{ended, memory, offset_of, own, suspend_unless, with};
use crate::engine::thread::Ended;
use crate::engine::waiting::Waited;
use crate::issue::drain::drain;
use crate::machine::cell::SimulatedAtomic;
use crate::machine::kernel::{
    after_wake, enter_kernel, enter_queue, futex_prices, give_way, kernel, leave_queue, mark_next,
};
use crate::machine::simulated::Simulated;
use crate::os::futex::layout::Layout;
use crate::os::futex::protocol::{Bucket, Counter, Kernel, Node, OUT, Path};
use baton_chipfile::config::mechanism::LockRequest;
use baton_machine::{Deadline, Word};
use baton_memory::Line;
use std::cell::Cell;

/// The kernel of the current simulation on this host thread.
pub(crate) struct SimulatedKernel {
    layout: Layout,
    /// Whether this call has interrupted a CPU. Only its first interrupt has the full price
    /// (`os.futex_wake`).
    interrupted: Cell<bool>,
}

impl SimulatedKernel {
    pub(crate) fn new() -> SimulatedKernel {
        SimulatedKernel { layout: with(|engine| engine.os.layout), interrupted: Cell::new(false) }
    }

    fn at<T>(&self, offset: usize) -> &T {
        let at = memory(|memory| memory.arena.at(offset));
        // SAFETY: the layout keeps this part of the arena for kernel structures, whose all-zero bytes are valid; it is
        // never given out, only guests of this engine use it, and the arena outlives them.
        unsafe { at.cast::<T>().as_ref() }
    }
}

impl Kernel for SimulatedKernel {
    type M = Simulated;

    fn key<T: Word>(&self, cell: *const SimulatedAtomic<T>) -> u64 {
        offset_of(cell.addr()) as u64
    }

    fn counter(&self, key: u64) -> &Counter<Simulated> {
        self.at(Layout::counter(key as usize))
    }

    fn bucket_of(&self, key: u64) -> u32 {
        self.layout.bucket_of(key as usize)
    }

    fn bucket(&self, number: u32) -> &Bucket<Simulated> {
        self.at(self.layout.bucket(number))
    }

    fn node(&self, number: u32) -> &Node<Simulated> {
        self.at(self.layout.node(number))
    }

    fn me(&self) -> u32 {
        own(|thread| thread.local.index())
    }

    fn path(&self, path: Path) {
        match path {
            Path::Wait | Path::Wake => enter_kernel(),
            Path::Sleep => leave_queue(),
        }
        let prices = futex_prices();
        kernel(match path {
            Path::Wait => prices.wait_changed.0,
            Path::Sleep => prices.wait.0.saturating_sub(prices.wait_changed.0),
            Path::Wake => prices.wake_none.0,
        });
        // The next access is the atomic on the bucket's lock, for the registration or for the
        // search for a sleeper.
        match path {
            Path::Wait => mark_next(LockRequest::Registration),
            Path::Wake => mark_next(LockRequest::WakeUp),
            Path::Sleep => {}
        }
    }

    fn hold(&self, held: bool) {
        if held {
            give_way();
        }
        own(|thread| {
            if held {
                thread.os.holds += 1;
            } else {
                thread.os.holds -= 1;
                if thread.os.holds == 0 && std::mem::take(&mut thread.os.wanted) {
                    (thread.os.preempt, thread.os.leaves) = (true, true);
                }
            }
        });
    }

    fn block(&self, key: u64, state: &SimulatedAtomic<u32>, deadline: Option<Deadline>) -> bool {
        let mut expired = false;
        let over = suspend_unless(|engine| {
            let deadline = deadline.map_or(u64::MAX, |deadline| engine.chip.core.clock.cycles(deadline.at).0);
            // This look takes no time. The thread's own stores left their buffer on its way here,
            // and a waker's mark leaves the waker's buffer before the waker rouses the thread.
            if state.peek() == OUT {
                return true;
            }
            expired = engine.now >= deadline;
            if !expired {
                engine.sleep(Waited::Cell(key as usize), deadline);
            }
            expired
        });
        if over {
            return expired;
        }
        own(|thread| thread.wait.waits_on = None);
        // A signal makes the thread give up as well.
        ended() != Ended::Woken
    }

    fn unblock(&self, number: u32, bucket: u32) {
        // The mark must be on the node before its thread can look.
        drain();
        let (id, roused) = with(|engine| {
            let id = engine.os.numbers[number as usize];
            let line = Line((self.layout.bucket(bucket) >> engine.guest.line_shift) as u32);
            (id, engine.rouse_sleeper(id, line))
        });
        enter_queue(id);
        let mut interrupted = self.interrupted.get();
        kernel(after_wake(&futex_prices(), roused, &mut interrupted));
        self.interrupted.set(interrupted);
    }
}
