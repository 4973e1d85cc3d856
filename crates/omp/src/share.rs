//! A work-share: a loop, sections or a single, as the threads of a team share it.
//!
//! A team has a ring of slots (`ring`). A thread that is a whole ring ahead of another one finds its
//! slot in use. It closes the slot to later work-shares, which are then elsewhere, or waits until all
//! threads have left the slot.
//!
//! | state of the slot | meaning |
//! | --- | --- |
//! | 4n | free for work-share n |
//! | 4n + 1 | the first thread fills it in |
//! | 4n + 2 | open |
//! | 4n + 3 | open, and closed to the work-shares after it |
//!
//! A slot is closed by the bit [`CLOSED`] in the count of threads that have left it, before the last
//! thread has: then that thread does not free the slot. The state follows the bit.

use crate::space::{MOST_BY_RECIPROCAL, ScheduleKind, Trapezoid, guided_chunk, reciprocal, share_by_reciprocal};
use crate::turns::Turns;
use crate::waits::{Waits, Why};
pub use crate::work::Work;
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release};
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Clock, Deadline, Machine, Slot, WaitResult};
use core::num::NonZeroU32;

/// Slots of a team's first ring. A power of two, because the states wrap at 32 bits, and the slot
/// numbers must wrap with them.
pub const RING: u32 = 8;

/// The bit of `left` that closes the slot to later work-shares. The last thread that leaves a closed
/// slot does not free it.
const CLOSED: u32 = 1 << 31;

/// What a thread that enters a work-share finds in the slot of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The slot is free: the thread is the work-share's first, and opens it.
    Free,
    /// Another thread was the work-share's first and has opened it: its work can be read.
    Open,
    /// The slot is closed to this work-share, which is in a larger ring, or in `beyond`.
    Closed,
}

/// A slot of the ring.
#[repr(align(128))]
pub struct Share<M: Machine> {
    state: M::Atomic<u32>,
    /// The number of threads that have left the work-share, and [`CLOSED`].
    left: M::Atomic<u32>,
    work: M::Slot<Work>,
    next: M::Atomic<u64>,
    copied: M::Atomic<usize>,
    /// The turns of the slot's ordered loops; `None` until it has had one.
    turns: M::Slot<Option<Turns<M>>>,
    threads: NonZeroU32,
    /// See [`share_by_reciprocal`].
    reciprocal: u64,
    /// The most iterations that are divided by it; 0 in a team of one thread.
    most: u64,
}

// SAFETY: only the thread that moved the state to 4n + 1 writes `work` and `turns`, and only
// threads that saw 4n + 2 or 4n + 3 read them (Release, Acquire); the next writer comes after all
// threads have left.
unsafe impl<M: Machine> Sync for Share<M> {}
// SAFETY: a slot holds plain data and atomics.
unsafe impl<M: Machine> Send for Share<M> {}

impl<M: Machine> Share<M> {
    /// Makes slot `at` of a ring, free for work-share `at`, for a team of `threads` threads.
    pub fn new(at: u32, threads: u32) -> Self {
        let threads = NonZeroU32::new(threads).expect("a team has a thread");
        Share {
            state: M::Atomic::new(at.wrapping_mul(4)),
            left: M::Atomic::new(0),
            work: M::Slot::new(Work::default()),
            next: M::Atomic::new(0),
            copied: M::Atomic::new(0),
            turns: M::Slot::new(None),
            threads,
            reciprocal: reciprocal(threads.into()),
            most: if threads.get() > 1 { MOST_BY_RECIPROCAL } else { 0 },
        }
    }

    /// Finds out what the calling thread must do to enter work-share `number`. As long as the slot
    /// has an earlier work-share, the thread waits, or closes the slot if it `may_close` it in this
    /// state.
    #[inline]
    pub fn find(&self, number: u32, waits: &Waits, may_close: impl Fn(u32) -> bool) -> Found {
        loop {
            match self.look(number) {
                Ok(found) => return found,
                Err(state) => self.rest(state, waits, &may_close),
            }
        }
    }

    /// Does what [`find`](Share::find) does, without waiting. The error is the slot's state, if the
    /// slot has another work-share or is being filled in.
    #[inline(always)]
    pub(crate) fn look(&self, number: u32) -> Result<Found, u32> {
        let free = number.wrapping_mul(4);
        // Acquire: the thread sees the work that the first thread wrote.
        let state = self.state.load(Acquire);
        let ahead = state.wrapping_sub(free);
        if ahead & !1 == 2 {
            return Ok(Found::Open);
        }
        if ahead != 0 {
            return if state % 4 == 3 { Ok(Found::Closed) } else { Err(state) };
        }
        // Acquire: this thread comes after what the threads did that left the slot's last
        // work-share.
        // C11: the load above has acquired that already: one store alone makes a slot free for this
        // number, so the load read the same store as the exchange reads.
        match self.state.compare_exchange(free, free.wrapping_add(1), Acquire, Relaxed) {
            Ok(_) => Ok(Found::Free),
            // Another thread is the first. It may have opened the slot by now.
            Err(_) => Err(free),
        }
    }

    /// Whether no thread has come to work-share `number` yet.
    #[inline]
    pub(crate) fn is_free(&self, number: u32) -> bool {
        // Relaxed: the answer is a hint, and hands nothing over.
        self.state.load(Relaxed) == number.wrapping_mul(4)
    }

    /// Waits until the slot's state is not `state` any more, or closes the slot if it is open.
    #[cold]
    #[inline(never)]
    fn rest(&self, state: u32, waits: &Waits, may_close: &impl Fn(u32) -> bool) {
        if state % 4 == 2 && may_close(state) {
            self.close_to_later(waits);
        } else {
            // If the slot is not open, it is being filled in for this very work-share, because the
            // thread has been in the slot's last one.
            waits.wait::<M, u32>(Why::Barrier, &self.state, state);
        }
    }

    /// Opens the slot for work-share `number`, as the work-share's first thread. The work may be
    /// ordered only if `ORDERED` says so.
    ///
    /// # Safety
    /// The calling thread found the slot free, and has not opened it.
    #[inline(always)]
    pub unsafe fn open<'a, const ORDERED: bool>(&self, number: u32, work: &Work, waits: impl FnOnce() -> &'a Waits) {
        // SAFETY: the state says that this thread alone fills in the slot.
        unsafe { self.work.write(|at| at.write(*work)) };
        // Relaxed: the store of the state below publishes the counter.
        self.next.store(0, Relaxed);
        if ORDERED && work.ordered {
            // SAFETY: as above.
            unsafe { self.turns.write(|at| (*at).get_or_insert_with(|| self.new_turns()).begin()) };
        }
        // Release: the other threads see the work with the state.
        self.state.store(number.wrapping_mul(4).wrapping_add(2), Release);
        if self.threads.get() > 1 {
            waits().wake::<M, u32>(Why::Barrier, &self.state);
        }
    }

    #[cold]
    #[inline(never)]
    fn new_turns(&self) -> Turns<M> {
        Turns::new(self.threads.get())
    }

    /// The work that the first thread stored for the work-share.
    ///
    /// # Safety
    /// The calling thread found the slot open, and has not left the work-share.
    #[inline]
    pub unsafe fn work(&self) -> Work {
        // SAFETY: the caller says that the slot is open and this thread is in it, so no thread
        // writes the work.
        unsafe { self.work.read(|work| *work) }
    }

    /// Waits until the state is not `state` any more, for `span` at most. Returns whether it still
    /// is.
    pub(crate) fn waits_in_vain(&self, state: u32, waits: &Waits, span: Nanos) -> bool {
        let deadline = Deadline { at: M::now(Clock::Monotonic) + span, clock: Clock::Monotonic };
        M::wait_while(&self.state, state, waits.of(Why::Barrier), Some(deadline)) == WaitResult::Expired
    }

    /// Wakes the threads that wait for the slot's state. In a team of one thread there are none.
    #[inline]
    #[track_caller]
    fn wake(&self, waits: &Waits) {
        if self.threads.get() > 1 {
            waits.wake::<M, u32>(Why::Barrier, &self.state);
        }
    }

    /// Closes an open slot to further work-shares, unless all threads leave it meanwhile. Threads
    /// that wait for the slot go on.
    pub(crate) fn close_to_later(&self, waits: &Waits) {
        // Relaxed, all accesses: they hand nothing over. A thread that acquires from the state
        // acquires the first thread's work, because the exchange is a part of that release's
        // sequence.
        if self.state.load(Relaxed) % 4 != 2 {
            return;
        }
        let left = self.left.load(Relaxed);
        if left & CLOSED == 0
            && (left == self.threads.get()
                || self.left.compare_exchange(left, left | CLOSED, Relaxed, Relaxed).is_err())
        {
            return;
        }
        // The slot may have been freed before the bit was set, and perhaps opened anew. Then the
        // bit holds for the slot's next work-share: the slot is closed to the ones after that, now
        // or when a thread is a ring ahead again. The caller looks again in any case.
        let state = self.state.load(Relaxed);
        if state % 4 == 2 && self.state.compare_exchange(state, state.wrapping_add(1), Relaxed, Relaxed).is_ok() {
            self.wake(waits);
        }
    }

    /// Leaves work-share `number`, which has no memory, in a ring of `length` slots. The last thread
    /// to leave frees the slot.
    #[inline]
    pub fn leave(&self, number: u32, length: u32, waits: &Waits) {
        // AcqRel: the last thread comes after all accesses of the others to the slot. If the slot is
        // closed, the count is greater than the number of threads, and the slot is not freed.
        if self.left.fetch_add(1, AcqRel) + 1 == self.threads.get() {
            self.free(number, length, waits);
        }
    }

    /// Does what [`leave`](Share::leave) does, for a work-share with memory, which the last thread
    /// to leave frees too.
    pub fn leave_with_memory(&self, number: u32, length: u32, waits: &Waits) {
        // AcqRel: as above.
        let left = self.left.fetch_add(1, AcqRel) + 1;
        if left & !CLOSED == self.threads.get() {
            self.free_memory();
        }
        if left == self.threads.get() {
            self.free(number, length, waits);
        }
    }

    /// Makes the slot free for the work-share that is a ring's `length` after `number`.
    #[inline]
    fn free(&self, number: u32, length: u32, waits: &Waits) {
        // Relaxed: the store of the state below publishes the count.
        self.left.store(0, Relaxed);
        // Release: the first thread of the slot's next work-share comes after all of this.
        self.state.store(number.wrapping_add(length).wrapping_mul(4), Release);
        self.wake(waits);
    }

    /// Makes the slot free for work-share `number`, whatever its state. No thread is in a
    /// work-share of the team.
    pub fn restart(&self, number: u32) {
        self.close();
        // Relaxed, both stores: no thread is in the region, and the beginning of the next region
        // publishes the words.
        self.left.store(0, Relaxed);
        self.state.store(number.wrapping_mul(4), Relaxed);
    }

    /// Frees the memory of a work-share that some threads have not left, and never will. No thread
    /// is in a work-share of the team.
    pub(crate) fn close(&self) {
        // Relaxed, both loads: no thread is in the region.
        let open = self.state.load(Relaxed) % 4 >= 2;
        if open && self.left.load(Relaxed) & !CLOSED != self.threads.get() {
            self.free_memory();
        }
    }

    /// Frees the memory of an open slot's work-share, in which no thread is any more.
    fn free_memory(&self) {
        // SAFETY: no thread is in the work-share any more, so none writes the work.
        let (address, bytes) = unsafe { self.work.read(|work| (*work).memory) };
        if let Some(memory) = core::ptr::NonNull::new(core::ptr::with_exposed_provenance_mut::<u8>(address)) {
            M::happens_after(memory.as_ptr().cast_const().cast());
            // SAFETY: `shared_memory` allocated the memory with this layout, and no thread is in
            // the work-share any more.
            unsafe { M::dealloc(memory, memory_layout(bytes)) };
        }
    }

    /// Takes the next `stride` iterations, or what is left, of a dynamic loop of `count` iterations
    /// by adding to its counter. Used if the counter cannot overflow.
    #[inline(always)]
    pub(crate) fn take_by(&self, stride: u64, count: u64) -> Option<(u64, u64)> {
        // Relaxed: the counter hands out numbers, and orders nothing else.
        let from = self.next.fetch_add(stride, Relaxed);
        (from < count).then(|| (from, count.min(from + stride)))
    }

    /// Takes the next chunk of a guided or trapezoidal loop, or of a dynamic loop whose counter an addition could
    /// overflow, as its first iteration and the one behind its last.
    #[inline]
    pub(crate) fn take(&self, work: &Work) -> Option<(u64, u64)> {
        let (chunk, threads) = (work.schedule.chunk, self.threads.into());
        match work.schedule.kind {
            ScheduleKind::Guided => self.exchange(work.space.count, |left| guided_chunk(left, chunk, threads)),
            // Relaxed: as in `take_by`. The counter counts chunks.
            ScheduleKind::Trapezoidal => {
                Trapezoid::new(work.space.count, chunk, threads).chunk(self.next.fetch_add(1, Relaxed))
            }
            _ => self.exchange(work.space.count, |left| chunk.max(1).min(left)),
        }
    }

    /// Whether a guided loop of `count` iterations is divided by
    /// [`take_by_reciprocal`](Share::take_by_reciprocal).
    #[inline(always)]
    pub(crate) fn has_reciprocal(&self, count: u64) -> bool {
        count <= self.most
    }

    /// Takes the next chunk of a guided loop whose length [has a
    /// reciprocal](Share::has_reciprocal), as values of the loop variable.
    #[inline(always)]
    pub(crate) fn take_by_reciprocal(&self, work: &Work) -> Option<(u64, u64)> {
        let (space, count) = (&work.space, work.space.count);
        // Relaxed, all accesses: see `exchange`.
        let mut from = self.next.load(Relaxed);
        while from < count {
            let left = count - from;
            let length = share_by_reciprocal(left, self.reciprocal).max(work.schedule.chunk);
            // Two arms, as the loop's last chunk ends with the loop's own end.
            if length >= left {
                match self.next.compare_exchange_weak(from, count, Relaxed, Relaxed) {
                    Ok(_) => return Some((space.value(from), space.end())),
                    Err(now) => from = now,
                }
            } else {
                match self.next.compare_exchange_weak(from, from + length, Relaxed, Relaxed) {
                    Ok(_) => return Some((space.value(from), space.value(from + length))),
                    Err(now) => from = now,
                }
            }
        }
        None
    }

    /// Takes a chunk by compare-and-exchange. `length` gets the number of iterations that are left,
    /// and returns that of the chunk.
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
    /// The calling thread is in the work-share, which was entered as an ordered loop.
    #[inline]
    pub(crate) unsafe fn turns(&self) -> &Turns<M> {
        // SAFETY: the caller says that the thread is in the work-share, so no thread writes the
        // turns before it has left, and that the work-share is an ordered loop, so `open` made
        // them.
        unsafe { self.turns.read(|at| (*at).as_ref()).unwrap_unchecked() }
    }

    /// The word by which the thread that ran a single hands an address to the others, with a
    /// barrier before they read it and one before the next writer.
    pub fn copied(&self) -> &M::Atomic<usize> {
        &self.copied
    }
}

/// The layout of a work-share's memory.
fn memory_layout(bytes: usize) -> core::alloc::Layout {
    core::alloc::Layout::from_size_align(bytes, 64).expect("a work-share's memory has a size that memory can have")
}

/// Allocates zeroed memory for a work-share, which is freed when all threads have left it. Returns
/// its address and size.
pub fn shared_memory<M: Machine>(bytes: usize) -> (usize, usize) {
    (M::alloc(memory_layout(bytes)).as_ptr().expose_provenance(), bytes)
}
