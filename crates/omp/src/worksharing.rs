//! What a thread asks of its work-share: loops, sections, single, ordered.

use crate::share::{Found, Share, Work};
use crate::space::{ScheduleKind, StaticChunks};
use crate::team::Context;
use crate::waits::Why;
use baton_machine::Ordering::{Acquire, Release};
use baton_machine::{Atomic, Machine};

impl<M: Machine> Context<M> {
    /// The work-share that the thread is in.
    #[inline]
    fn share(&self) -> &Share<M> {
        // SAFETY: a thread that is in a work-share has entered one of its team's.
        unsafe { &*self.share.get() }
    }

    /// Enters the next work-share. Whether this thread is the first.
    #[inline(always)]
    pub fn enter(&self, make: impl FnOnce() -> Work) -> bool {
        let number = self.next_share.get();
        self.next_share.set(number.wrapping_add(1));
        let (team, waits) = (self.team(), self.waits());
        let mut share = &team.shares[number as usize % team.shares.len()];
        let mut found = share.find(number, waits, || self.must_not_wait());
        if found == Found::Closed {
            (share, found) = self.beyond(number);
        }
        self.share.set(share);
        self.in_order.set(false);
        let first = found == Found::Free;
        if first {
            self.work.set(make());
        }
        // SAFETY: only this thread uses its place, and nothing else borrows the copy meanwhile.
        let work = unsafe { &mut *self.work.as_ptr() };
        if first {
            work.fit(team.size);
            // SAFETY: the slot was free.
            unsafe { share.open(number, work, waits) };
        } else {
            // SAFETY: the slot was open.
            *work = unsafe { share.work() };
        }
        if matches!(work.schedule.kind, ScheduleKind::Static | ScheduleKind::Auto) {
            let (id, size) = (u64::from(self.id), u64::from(team.size));
            self.chunks.set(StaticChunks::new(work.space.count, work.schedule.chunk, id, size));
        }
        first
    }

    /// The work-share of that number, for which the ring has no room, and what the thread finds there.
    #[cold]
    #[inline(never)]
    fn beyond(&self, number: u32) -> (&Share<M>, Found) {
        let (team, waits) = (self.team(), self.waits());
        let beyond = team.cancel.beyond.as_ref().expect("a slot is closed only where cancellation is on");
        // SAFETY: it stays until the region has ended.
        let share = unsafe { &*beyond.share(number, team.size, waits) };
        (share, share.find(number, waits, || false))
    }

    /// Leaves the work-share.
    pub fn leave(&self) {
        let number = self.next_share.get().wrapping_sub(1);
        self.share().leave(number, self.waits(), self.team().cancel.is_on());
    }

    /// What the work-share was said to be, in the thread's own copy.
    #[inline]
    fn said(&self) -> &Work {
        // SAFETY: only this thread uses its place, and writes the copy only when it enters a work-share, where nothing borrows the copy.
        unsafe { &*self.work.as_ptr() }
    }

    /// The thread's next chunk, as the loop's values at its begin and end.
    pub fn next_chunk(&self) -> Option<(u64, u64)> {
        match self.stride() {
            0 => self.next_chunk_by_schedule(),
            stride => self.next_chunk_by(stride),
        }
    }

    /// Iterations by which an addition to the work-share's counter takes the next chunk; 0: chunks are taken otherwise.
    #[inline(always)]
    pub fn stride(&self) -> u64 {
        self.said().stride
    }

    /// As [`next_chunk`](Context::next_chunk), where an addition of `stride`, which is not 0, to the work-share's counter takes the chunk.
    #[inline(always)]
    pub fn next_chunk_by(&self, stride: u64) -> Option<(u64, u64)> {
        let space = &self.said().space;
        let (from, to) = self.share().take_by(stride, space.count)?;
        Some(space.values(from, to))
    }

    /// Does what [`next_chunk`](Context::next_chunk) does, where [`stride`](Context::stride) is 0.
    #[inline(always)]
    pub fn next_chunk_by_schedule(&self) -> Option<(u64, u64)> {
        let work = self.said();
        let (from, to) = self.take(work)?;
        Some(work.space.values(from, to))
    }

    /// The thread's next chunk, as numbers of its first iteration and of the first one after it.
    #[inline(always)]
    fn take(&self, work: &Work) -> Option<(u64, u64)> {
        match work.schedule.kind {
            ScheduleKind::Static | ScheduleKind::Auto => {
                // SAFETY: only this thread uses its place, and nothing else borrows the chunks meanwhile.
                unsafe { &mut *self.chunks.as_ptr() }.next()
            }
            ScheduleKind::Dynamic if work.stride != 0 => self.share().take_by(work.stride, work.space.count),
            ScheduleKind::Dynamic | ScheduleKind::Guided => self.share().take(work),
        }
    }

    /// As [`next_chunk`](Context::next_chunk) in an ordered loop: a chunk that it had has had its turn first.
    #[inline(always)]
    pub fn next_ordered_chunk(&self) -> Option<(u64, u64)> {
        let work = self.said();
        if self.in_order.get() {
            self.ordered();
            // SAFETY: the thread is in an ordered loop.
            unsafe { self.share().turns() }.pass(work, self.chunk.get().1, self.waits());
        }
        let chunk = self.take(work);
        self.in_order.set(chunk.is_some());
        let (from, to) = chunk?;
        self.has_turn.set(false);
        self.chunk.set((from, to));
        Some(work.space.values(from, to))
    }

    /// Waits until all iterations before this thread's chunk have passed on their turn.
    #[inline]
    pub fn ordered(&self) {
        if self.in_order.get() && !self.has_turn.replace(true) {
            // SAFETY: the thread is in an ordered loop.
            unsafe { self.share().turns() }.wait(self.said(), self.chunk.get().0, self.waits());
        }
    }

    /// Whether this thread runs the single block.
    pub fn single(&self) -> bool {
        let number = self.next_single.get();
        self.next_single.set(number.wrapping_add(1));
        self.team().is_first_in_single(number)
    }

    /// As [`single`](Context::single) with copyprivate: `None` to the thread that runs the block and then calls
    /// [`copy_out`](Context::copy_out); what that one handed over to the others.
    pub fn single_copy(&self) -> Option<usize> {
        if self.enter(Work::default) {
            return None;
        }
        self.barrier(Why::Barrier);
        // Acquire: what the address leads to.
        // C11: the barrier that both pass in between orders the store, and all before it, before this load.
        let copied = self.share().copied().load(Acquire);
        self.leave();
        Some(copied)
    }

    /// Hands an address to the other threads of a single.
    pub fn copy_out(&self, address: usize) {
        // Release: see `single_copy`.
        // C11: as there, the barrier below orders it.
        self.share().copied().store(address, Release);
        self.barrier(Why::Barrier);
        self.leave();
    }
}
