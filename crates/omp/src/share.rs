//! A work-share: a loop, sections or a single, as the threads of a team share it.
//!
//! A team has a ring of them. The n-th work-share that a thread meets is the n-th of each thread, and stands in slot n modulo the
//! ring's length. A thread that is a whole ring ahead of another one waits until all have left the slot.
//!
//! | state of the slot | meaning |
//! | --- | --- |
//! | 4n | free for work-share n |
//! | 4n + 1 | the first thread fills it in |
//! | 4n + 2 | open |
//! | 4n + 3 | open, and closed to the work-shares after it: the region is cancelled (`beyond`) |

use crate::space::{ScheduleKind, guided_chunk};
use crate::turns::Turns;
use crate::waits::{Waits, Why};
pub use crate::work::Work;
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Slot};

/// Slots of a team's ring. States wrap with 32 bits, and so must their remainder.
pub const RING: u32 = 8;

/// A slot of the ring.
#[repr(align(128))]
pub struct Share<M: Machine> {
    state: M::Atomic<u32>,
    left: M::Atomic<u32>,
    work: M::Slot<Work>,
    next: M::Atomic<u64>,
    copied: M::Atomic<usize>,
    /// The turns of its ordered loops, once there was one.
    turns: M::Slot<Option<Turns<M>>>,
    threads: u32,
}

// SAFETY: `work` and `turns` are written by the one thread that moved the state to 4n + 1 and read only by those that saw 4n + 2
// (Release, Acquire); the next writer comes after all have left.
unsafe impl<M: Machine> Sync for Share<M> {}
// SAFETY: it holds plain data and atomics.
unsafe impl<M: Machine> Send for Share<M> {}

impl<M: Machine> Share<M> {
    /// The slot number `at` of a ring, free for work-share `at`, of a team of so many threads.
    pub fn new(at: u32, threads: u32) -> Self {
        Share {
            state: M::Atomic::new(at * 4),
            left: M::Atomic::new(0),
            work: M::Slot::new(Work::default()),
            next: M::Atomic::new(0),
            copied: M::Atomic::new(0),
            turns: M::Slot::new(None),
            threads,
        }
    }

    /// Enters work-share `number`; `make` is called in the first thread. Returns whether the calling thread is the first, and the work;
    /// `None`: the slot has no room for this work-share, and will have none, as the region is `cancelled`.
    pub fn enter(
        &self,
        number: u32,
        waits: &Waits,
        cancelled: impl Fn() -> bool,
        make: impl FnOnce() -> Work,
    ) -> Option<(bool, Work)> {
        let free = number.wrapping_mul(4);
        loop {
            // Acquire: see what the first thread said.
            let state = self.state.load(Acquire);
            if state == free.wrapping_add(2) || state == free.wrapping_add(3) {
                // SAFETY: the slot is open: no thread writes the work.
                return Some((false, unsafe { self.work.read(|work| *work) }));
            }
            // Acquire: what those did that left the slot's last work-share comes before.
            // C11: the load above has acquired that already: one store alone makes a slot free for this number, so it read what the exchange
            // reads.
            if state == free && self.state.compare_exchange(free, free.wrapping_add(1), Acquire, Relaxed).is_ok() {
                let work = make();
                // SAFETY: the state says that this thread alone fills in the slot.
                unsafe { self.work.write(|at| at.write(work)) };
                // Relaxed: the store below publishes it.
                self.next.store(0, Relaxed);
                if work.ordered {
                    // SAFETY: as above.
                    unsafe { self.turns.write(|at| (*at).get_or_insert_with(|| Turns::new(self.threads)).begin()) };
                }
                // Release: the others see the work.
                self.state.store(free.wrapping_add(2), Release);
                waits.wake::<M, u32>(Why::Barrier, &self.state);
                return Some((true, work));
            }
            if state % 4 == 3 {
                return None;
            }
            if state == free {
                continue;
            }
            if state % 4 == 2 && cancelled() {
                self.close_to_later(waits);
            } else {
                // A slot that is not open yet will be this work-share's: the thread has been at the slot's last one.
                waits.wait::<M, u32>(Why::Barrier, &self.state, state);
            }
        }
    }

    /// Says that an open slot gets no other work-share in this region, which is cancelled: those that wait for the slot go on.
    pub(crate) fn close_to_later(&self, waits: &Waits) {
        // Relaxed, both: it hands nothing over; whoever acquires from it acquires what the first thread said, of whose release sequence this
        // exchange is a part.
        let state = self.state.load(Relaxed);
        if state % 4 == 2 && self.state.compare_exchange(state, state.wrapping_add(1), Relaxed, Relaxed).is_ok() {
            waits.wake::<M, u32>(Why::Barrier, &self.state);
        }
    }

    /// Leaves work-share `number`. The last one frees the slot and its memory. With `can_close` the slot may be closed meanwhile.
    pub fn leave(&self, number: u32, waits: &Waits, can_close: bool) {
        // AcqRel: the last one comes after what all did with the slot.
        if self.left.fetch_add(1, AcqRel) + 1 < self.threads {
            return;
        }
        self.free_memory();
        // Relaxed: the store below publishes it.
        self.left.store(0, Relaxed);
        let (open, next) = (number.wrapping_mul(4).wrapping_add(2), number.wrapping_add(RING).wrapping_mul(4));
        if !can_close {
            // Release: the next first thread comes after all of this.
            self.state.store(next, Release);
        } else if self.state.compare_exchange(open, next, Release, Relaxed).is_err() {
            // The slot is closed. Relaxed: says to `close` that the memory is given back.
            return self.left.store(self.threads, Relaxed);
        }
        waits.wake::<M, u32>(Why::Barrier, &self.state);
    }

    /// Makes the slot free for work-share `number`, whatever it was. No thread is in a work-share of the team.
    pub fn restart(&self, number: u32) {
        self.close();
        // Relaxed, both: no thread is in the region, and the next one's begin publishes them.
        self.left.store(0, Relaxed);
        self.state.store(number.wrapping_mul(4), Relaxed);
    }

    /// Gives back what a slot holds that some threads have not left. No thread is in a work-share of the team.
    pub(crate) fn close(&self) {
        // Relaxed, both: no thread is in the region.
        let open = self.state.load(Relaxed) % 4 >= 2;
        if open && self.left.load(Relaxed) != self.threads {
            self.free_memory();
        }
    }

    /// Gives back the memory of an open slot that all have left.
    fn free_memory(&self) {
        // SAFETY: all have left: no thread writes the work.
        let (address, bytes) = unsafe { self.work.read(|work| (*work).memory) };
        if let Some(memory) = core::ptr::NonNull::new(core::ptr::with_exposed_provenance_mut(address)) {
            // SAFETY: `shared_memory` took it with this layout, and all have left the work-share.
            unsafe { M::dealloc(memory, memory_layout(bytes)) };
        }
    }

    /// Advances the counter of a dynamic loop by `stride` iterations; returns the first of them, which may lie beyond the loop's end.
    #[inline]
    pub(crate) fn advance(&self, stride: u64) -> u64 {
        // Relaxed: the counter hands out numbers, and orders nothing else.
        self.next.fetch_add(stride, Relaxed)
    }

    /// The next chunk of a dynamic or guided schedule whose counter an addition cannot advance.
    pub fn take(&self, work: &Work) -> Option<(u64, u64)> {
        let (count, chunk) = (work.space.count, work.schedule.chunk.max(1));
        // Relaxed, here and below: the counter hands out numbers, and orders nothing else.
        let mut from = self.next.load(Relaxed);
        while from < count {
            let taken = match work.schedule.kind {
                ScheduleKind::Guided => guided_chunk(count - from, chunk, u64::from(self.threads)),
                _ => chunk.min(count - from),
            };
            match self.next.compare_exchange_weak(from, from + taken, Relaxed, Relaxed) {
                Ok(_) => return Some((from, from + taken)),
                Err(now) => from = now,
            }
        }
        None
    }

    /// The turns of an ordered loop.
    ///
    /// # Safety
    /// The calling thread is in the work-share, and it was entered as an ordered loop.
    pub(crate) unsafe fn turns(&self) -> &Turns<M> {
        // SAFETY: by contract the slot is open: no thread writes there until this one has left.
        unsafe { self.turns.read(|at| (*at).as_ref()) }.expect("the loop was entered as an ordered one")
    }

    /// What the thread of a single hands to the others, behind a barrier on each side.
    pub fn copied(&self) -> &M::Atomic<usize> {
        &self.copied
    }
}

/// The layout of a work-share's memory.
fn memory_layout(bytes: usize) -> core::alloc::Layout {
    core::alloc::Layout::from_size_align(bytes, 64).expect("a work-share's memory has a size that memory can have")
}

/// Zeroed memory for a work-share, given back when all have left it.
pub fn shared_memory<M: Machine>(bytes: usize) -> (usize, usize) {
    (M::alloc(memory_layout(bytes)).as_ptr().expose_provenance(), bytes)
}
