//! The futex protocol on the simulated machine: the kernel's memory at the start of the arena, prices from the chip file,
//! and sleeping by the run queues.

use super::layout::Layout;
use super::protocol::{Bucket, Counter, Kernel, Node, OUT, Path};
use crate::core::drain::drain;
use crate::core::mark::Sort;
use crate::engine::Engine;
use crate::engine::current::{give_up_core, kernel, suspend, with};
use crate::engine::thread::{Ended, State, ThreadId, Waited};
use crate::machine::Simulated;
use crate::machine::cell::SimulatedAtomic;
use crate::machine::kernel::{enter_kernel, enter_queue, leave_queue};
use crate::machine::wait::mark_next;
use crate::memory::Line;
use baton_machine::{Deadline, Word};
use std::cell::Cell;

/// The kernel of the simulation that is current on this host thread.
pub(crate) struct SimulatedKernel {
    layout: Layout,
    /// A CPU was roused by this call: the first one costs the interrupt.
    roused: Cell<bool>,
}

impl SimulatedKernel {
    /// The kernel of the current simulation.
    pub(crate) fn new() -> SimulatedKernel {
        SimulatedKernel { layout: with(|engine| engine.layout), roused: Cell::new(false) }
    }

    fn at<T>(&self, offset: usize) -> &T {
        let at = with(|engine| engine.arena.at(offset));
        // SAFETY: the layout keeps this part of the arena for kernel structures, whose all-zero bytes are valid; it is
        // never given out, only guests of this engine use it, and the arena outlives them.
        unsafe { at.cast::<T>().as_ref() }
    }
}

impl Kernel for SimulatedKernel {
    type M = Simulated;

    fn key<T: Word>(&self, cell: *const SimulatedAtomic<T>) -> u64 {
        with(|engine| engine.offset_of(cell.addr())) as u64
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
        with(|engine| engine.threads[engine.running as usize].local.index())
    }

    fn path(&self, path: Path) {
        match path {
            Path::Wait | Path::Wake => enter_kernel(),
            Path::Sleep => leave_queue(),
        }
        kernel(with(|engine| {
            let os = &engine.chip.os;
            match path {
                Path::Wait => os.futex_wait_changed.0,
                Path::Sleep => os.futex_wait.0.saturating_sub(os.futex_wait_changed.0),
                Path::Wake => os.futex_wake_none.0,
            }
        }));
        // The next access is the atomic on the bucket's lock: the registration, or the look for a sleeper.
        match path {
            Path::Wait => mark_next(Sort::Registration),
            Path::Wake => mark_next(Sort::WakeUp),
            Path::Sleep => {}
        }
    }

    fn hold(&self, held: bool) {
        if held && with(|engine| engine.threads[engine.running as usize].preempt) {
            give_up_core();
        }
        with(|engine| {
            let thread = &mut engine.threads[engine.running as usize];
            if held {
                thread.holds += 1;
            } else {
                thread.holds -= 1;
                if thread.holds == 0 && std::mem::take(&mut thread.wanted) {
                    (thread.preempt, thread.leaves) = (true, true);
                }
            }
        });
    }

    fn block(&self, key: u64, state: &SimulatedAtomic<u32>, deadline: Option<Deadline>) -> bool {
        let sleeps = with(|engine| {
            let deadline = deadline.map_or(u64::MAX, |deadline| engine.chip.core.clock.cycles(deadline.at).0);
            // Its own store may still be on its way, and nobody else writes what it says before: the value that counts is
            // whether a waker has marked it.
            if state.peek() == OUT {
                return Err(false);
            }
            if engine.now >= deadline {
                return Err(true);
            }
            engine.sleep(Waited::Cell(key as usize), deadline);
            Ok(())
        });
        match sleeps {
            Err(expired) => expired,
            Ok(()) => {
                suspend();
                with(|engine| {
                    let thread = &mut engine.threads[engine.running as usize];
                    thread.waits_on = None;
                    thread.ended == Ended::Expired
                })
            }
        }
    }

    fn unblock(&self, number: u32, bucket: u32) {
        // The mark on the node is there before its thread can look.
        drain();
        let (id, roused, os) = with(|engine| {
            let id = engine.numbers[number as usize];
            let line = Line((self.layout.bucket(bucket) >> engine.line_shift) as u32);
            (id, engine.unblock(id, line), engine.chip.os.clone())
        });
        enter_queue(id);
        // An idle CPU is roused by an interrupt, once for all; the queue of a busy one just grows.
        let interrupt = os.futex_wake.0.saturating_sub(os.futex_wake_none.0);
        kernel(if roused && !self.roused.replace(true) { interrupt } else { os.futex_wake_more.0 });
    }
}

impl Engine {
    /// Rouses a thread that sleeps on a cell, and leaves any other alone. Whether that roused an idle CPU.
    fn unblock(&mut self, id: ThreadId, bucket: Line) -> bool {
        let thread = &mut self.threads[id as usize];
        if thread.state != State::Asleep || !matches!(thread.waits_on, Some((Waited::Cell(_), _))) {
            return false;
        }
        thread.ended = Ended::Woken;
        self.queue.cancel(crate::engine::timeout(id));
        self.wake_sleeper(id, Some(bucket))
    }
}
