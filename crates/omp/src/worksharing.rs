//! What a thread asks of its work-share: chunks of loops and sections, `single`, `ordered`.

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
        // SAFETY: the thread has entered a work-share of its team before, and the team outlives the
        // context.
        unsafe { &*self.share.get() }
    }

    /// Enters the next work-share. Returns whether this thread is the first to enter it.
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
        // SAFETY: only this thread uses its context, and nothing else borrows `work` meanwhile.
        let work = unsafe { &mut *self.work.as_ptr() };
        if first {
            work.fit(team.size);
            // SAFETY: this thread found the slot free, and opens it once.
            unsafe { share.open(number, work, waits) };
        } else {
            // SAFETY: this thread found the slot open, and has not left it.
            *work = unsafe { share.work() };
        }
        if matches!(work.schedule.kind, ScheduleKind::Static | ScheduleKind::Auto) {
            let (id, size) = (u64::from(self.id), u64::from(team.size));
            self.chunks.set(StaticChunks::new(work.space.count, work.schedule.chunk, id, size));
        }
        first
    }

    /// Work-share `number`, for which the ring has no room, and in which state the thread finds it.
    #[cold]
    #[inline(never)]
    fn beyond(&self, number: u32) -> (&Share<M>, Found) {
        let (team, waits) = (self.team(), self.waits());
        let beyond = team.cancel.beyond.as_ref().expect("a slot is closed only where cancellation is on");
        // SAFETY: the work-share stays until the region has ended.
        let share = unsafe { &*beyond.share(number, team.size, waits) };
        (share, share.find(number, waits, || false))
    }

    /// Leaves the work-share.
    pub fn leave(&self) {
        let number = self.next_share.get().wrapping_sub(1);
        if M::is_checked_for_races() {
            self.said().happens_before::<M>();
        }
        self.share().leave(number, self.waits(), self.team().cancel.is_on());
    }

    /// The thread's own copy of what the first thread stored about the work-share.
    #[inline]
    fn said(&self) -> &Work {
        // SAFETY: only this thread uses its context. It writes the copy only when it enters a
        // work-share, and nothing borrows the copy then.
        unsafe { &*self.work.as_ptr() }
    }

    /// The thread's next chunk, as the loop variable's first value and its end.
    pub fn next_chunk(&self) -> Option<(u64, u64)> {
        match self.stride() {
            0 => self.next_chunk_by_schedule(),
            stride => self.next_chunk_by(stride),
        }
    }

    /// How much an addition to the work-share's counter takes, if chunks are taken by additions;
    /// else 0.
    #[inline(always)]
    pub fn stride(&self) -> u64 {
        self.said().stride
    }

    /// Does what [`next_chunk`](Context::next_chunk) does if [`stride`](Context::stride) is not 0:
    /// takes the chunk by adding `stride` to the work-share's counter.
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

    /// The thread's next chunk, as its first iteration and the one behind its last.
    #[inline(always)]
    fn take(&self, work: &Work) -> Option<(u64, u64)> {
        match work.schedule.kind {
            ScheduleKind::Static | ScheduleKind::Auto => {
                // SAFETY: only this thread uses its context, and nothing else borrows `chunks`
                // meanwhile.
                unsafe { &mut *self.chunks.as_ptr() }.next()
            }
            ScheduleKind::Dynamic if work.stride != 0 => self.share().take_by(work.stride, work.space.count),
            ScheduleKind::Dynamic | ScheduleKind::Guided => self.share().take(work),
        }
    }

    /// Does what [`next_chunk`](Context::next_chunk) does, in an ordered loop. If the thread has
    /// had a chunk, it first waits for that chunk's turn and passes the turn on.
    #[inline(always)]
    pub fn next_ordered_chunk(&self) -> Option<(u64, u64)> {
        let work = self.said();
        if self.in_order.get() {
            self.ordered();
            // SAFETY: the thread is in a work-share that was entered as an ordered loop.
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
            // SAFETY: the thread is in a work-share that was entered as an ordered loop.
            unsafe { self.share().turns() }.wait(self.said(), self.chunk.get().0, self.waits());
        }
    }

    /// Whether this thread is the one that runs the next single block.
    pub fn single(&self) -> bool {
        let number = self.next_single.get();
        self.next_single.set(number.wrapping_add(1));
        self.team().is_first_in_single(number)
    }

    /// Does what [`single`](Context::single) does, with copyprivate. Returns `None` to the thread
    /// that must run the block and then call [`copy_out`](Context::copy_out), and to the others the
    /// address that the first thread handed out.
    pub fn single_copy(&self) -> Option<usize> {
        if self.enter(Work::default) {
            return None;
        }
        self.barrier(Why::Barrier);
        // Acquire: the thread sees the data to which the address leads.
        // C11: the barrier that both pass in between orders the store, and all before it, before
        // this load.
        let copied = self.share().copied().load(Acquire);
        self.leave();
        Some(copied)
    }

    /// Hands an address to the team's other threads at a single with copyprivate.
    pub fn copy_out(&self, address: usize) {
        // Release: see `single_copy`.
        // C11: as there, the barrier below orders it.
        self.share().copied().store(address, Release);
        self.barrier(Why::Barrier);
        self.leave();
    }
}
