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

/// What a thread that enters a work-share finds in its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The slot is free: the thread is the work-share's first, and opens it.
    Free,
    /// The work-share is open.
    Open,
    /// The slot has no room for the work-share, and will have none, as the region is cancelled.
    Closed,
}

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

    /// Finds out what the calling thread is to do to enter work-share `number`. While the slot's last work-share lasts, the thread waits, unless
    /// the region is `cancelled`.
    #[inline]
    pub fn find(&self, number: u32, waits: &Waits, cancelled: impl Fn() -> bool) -> Found {
        loop {
            match self.look(number) {
                Ok(found) => return found,
                Err(state) => self.rest(state, waits, &cancelled),
            }
        }
    }

    /// Does what [`find`](Share::find) does, without waiting. The error is the slot's state if the slot has another work-share, or is being
    /// filled in.
    #[inline(always)]
    fn look(&self, number: u32) -> Result<Found, u32> {
        let free = number.wrapping_mul(4);
        // Acquire: see what the first thread said.
        let state = self.state.load(Acquire);
        if state == free.wrapping_add(2) || state == free.wrapping_add(3) {
            return Ok(Found::Open);
        }
        if state != free {
            return if state % 4 == 3 { Ok(Found::Closed) } else { Err(state) };
        }
        // Acquire: what those did that left the slot's last work-share comes before.
        // C11: the load above has acquired that already: one store alone makes a slot free for this number, so it read what the exchange
        // reads.
        match self.state.compare_exchange(free, free.wrapping_add(1), Acquire, Relaxed) {
            Ok(_) => Ok(Found::Free),
            // Another thread is the first. It may have opened the slot already.
            Err(_) => Err(free),
        }
    }

    /// Waits until the slot's state is not `state`. Where the region is cancelled, closes an open slot.
    #[cold]
    #[inline(never)]
    fn rest(&self, state: u32, waits: &Waits, cancelled: &impl Fn() -> bool) {
        if state % 4 == 2 && cancelled() {
            self.close_to_later(waits);
        } else {
            // A slot that is not open yet will be this work-share's: the thread has been at the slot's last one.
            waits.wait::<M, u32>(Why::Barrier, &self.state, state);
        }
    }

    /// Opens the slot for work-share `number`, as the work-share's first thread.
    ///
    /// # Safety
    /// The calling thread found the slot free, and has not opened it.
    #[inline]
    pub unsafe fn open(&self, number: u32, work: &Work, waits: &Waits) {
        // SAFETY: the state says that this thread alone fills in the slot.
        unsafe { self.work.write(|at| at.write(*work)) };
        // Relaxed: the store below publishes it.
        self.next.store(0, Relaxed);
        if work.ordered {
            // SAFETY: as above.
            unsafe { self.turns.write(|at| (*at).get_or_insert_with(|| self.new_turns()).begin()) };
        }
        // Release: the others see the work.
        self.state.store(number.wrapping_mul(4).wrapping_add(2), Release);
        self.wake(waits);
    }

    #[cold]
    #[inline(never)]
    fn new_turns(&self) -> Turns<M> {
        Turns::new(self.threads)
    }

    /// What the first thread said of the work-share.
    ///
    /// # Safety
    /// The calling thread found the slot open, and has not left the work-share.
    #[inline]
    pub unsafe fn work(&self) -> Work {
        // SAFETY: the slot is open: no thread writes the work.
        unsafe { self.work.read(|work| *work) }
    }

    /// Wakes the threads that wait for the slot's state. In a team of one thread there are none.
    #[inline]
    #[track_caller]
    fn wake(&self, waits: &Waits) {
        if self.threads > 1 {
            waits.wake::<M, u32>(Why::Barrier, &self.state);
        }
    }

    /// Says that an open slot gets no other work-share in this region, which is cancelled: those that wait for the slot go on.
    pub(crate) fn close_to_later(&self, waits: &Waits) {
        // Relaxed, both: it hands nothing over; whoever acquires from it acquires what the first thread said, of whose release sequence this
        // exchange is a part.
        let state = self.state.load(Relaxed);
        if state % 4 == 2 && self.state.compare_exchange(state, state.wrapping_add(1), Relaxed, Relaxed).is_ok() {
            self.wake(waits);
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
        self.wake(waits);
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

    /// The next `stride` iterations, or what is left of them, of a dynamic loop of `count`, whose counter each thread can advance by an addition.
    #[inline(always)]
    pub(crate) fn take_by(&self, stride: u64, count: u64) -> Option<(u64, u64)> {
        // Relaxed: the counter hands out numbers, and orders nothing else.
        let from = self.next.fetch_add(stride, Relaxed);
        (from < count).then(|| (from, count.min(from + stride)))
    }

    /// The next chunk of a dynamic or guided schedule whose counter an addition cannot advance.
    #[inline]
    pub(crate) fn take(&self, work: &Work) -> Option<(u64, u64)> {
        let (chunk, threads) = (work.schedule.chunk.max(1), u64::from(self.threads));
        match work.schedule.kind {
            ScheduleKind::Guided => self.exchange(work.space.count, |left| guided_chunk(left, chunk, threads)),
            _ => self.exchange(work.space.count, |left| chunk.min(left)),
        }
    }

    /// Takes a chunk by an exchange; `length` is told how many iterations are left.
    #[inline(always)]
    fn exchange(&self, count: u64, length: impl Fn(u64) -> u64) -> Option<(u64, u64)> {
        // Relaxed, here and below: the counter hands out numbers, and orders nothing else.
        let mut from = self.next.load(Relaxed);
        while from < count {
            let to = from + length(count - from);
            match self.next.compare_exchange_weak(from, to, Relaxed, Relaxed) {
                Ok(_) => return Some((from, to)),
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
