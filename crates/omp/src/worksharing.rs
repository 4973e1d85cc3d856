//! How a thread enters and leaves work-shares, takes chunks of loops and sections, and passes
//! `single` and `ordered`.

use crate::ring::{LONG, PATIENCE};
use crate::share::{Found, Share, Work};
use crate::space::{ScheduleKind, Space, StaticChunks};
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
        // SAFETY: the ring stays as long as the team.
        let mut share = unsafe { &*self.ring.get().slot(number) };
        let mut found = share.find(number, self.waits(), |state| self.may_close(share, state));
        if found == Found::Closed {
            (share, found) = self.elsewhere(number);
        }
        if found == Found::Free {
            self.work.set(make());
        }
        self.take_part::<true>(number, share, found);
        if self.is_static() {
            self.chunks.set(self.static_chunks());
        }
        found == Found::Free
    }

    /// Does what [`enter`](Context::enter) does, for a loop that the caller has put into
    /// [`work`](Context::work) and that is not ordered. Returns false, and does nothing, if the
    /// thread would have to wait or to look elsewhere. If the loop
    /// [`is_static`](Context::is_static), its first chunk must be taken by
    /// [`first_static_chunk`](Context::first_static_chunk).
    #[inline(always)]
    pub fn enters_at_once(&self) -> bool {
        let number = self.next_share.get();
        // SAFETY: the ring stays as long as the team.
        let share = unsafe { &*self.ring.get().slot(number) };
        // Two arms, so that each has a way of its own to its end.
        match share.look(number) {
            Ok(Found::Free) => self.take_part::<false>(number, share, Found::Free),
            Ok(Found::Open) => self.take_part::<false>(number, share, Found::Open),
            _ => return false,
        }
        true
    }

    /// Takes part in work-share `number`. Its first thread has put the work into
    /// [`work`](Context::work).
    #[inline(always)]
    fn take_part<const ORDERED: bool>(&self, number: u32, share: &Share<M>, found: Found) {
        self.next_share.set(number.wrapping_add(1));
        self.share.set(share);
        self.in_order.set(false);
        let size = self.team().size;
        // SAFETY: only this thread uses its context, and nothing else borrows `work` meanwhile.
        let work = unsafe { &mut *self.work.as_ptr() };
        if found == Found::Free {
            work.fit::<ORDERED>(size);
            // SAFETY: this thread found the slot free, and opens it once.
            unsafe { share.open::<ORDERED>(number, work, || self.waits()) };
        } else {
            // SAFETY: this thread found the slot open, and has not left it.
            *work = unsafe { share.work() };
        }
    }

    /// The thread's chunks of a loop whose iterations are divided beforehand.
    #[inline(always)]
    fn static_chunks(&self) -> StaticChunks {
        let (work, id, size) = (self.said(), u64::from(self.id), u64::from(self.team().size));
        StaticChunks::new(work.space.count, work.schedule.chunk, id, size)
    }

    /// Whether a thread that finds a slot in use, in this state, closes it rather than wait: it can go
    /// on in a larger ring, or the region is cancelled.
    fn may_close(&self, share: &Share<M>, state: u32) -> bool {
        let ring = self.ring.get();
        self.must_not_wait()
            || self.team().rings.has_larger(ring)
                && (ring.length() < LONG || share.waits_in_vain(state, self.waits(), PATIENCE))
    }

    /// Work-share `number`, for which the thread's ring has no room, and in which state the thread
    /// finds it: in a larger ring, or in `beyond`.
    #[cold]
    #[inline(never)]
    fn elsewhere(&self, number: u32) -> (&Share<M>, Found) {
        let (team, waits) = (self.team(), self.waits());
        while let Some(ring) = team.rings.larger(self.ring.get(), number) {
            self.ring.set(ring);
            // SAFETY: the ring stays as long as the team.
            let share = unsafe { &*ring.slot(number) };
            let found = share.find(number, waits, |state| self.may_close(share, state));
            if found != Found::Closed {
                return (share, found);
            }
        }
        let beyond = team.cancel.beyond.as_ref().expect("a slot is closed only where cancellation is on");
        // SAFETY: the work-share stays until the region has ended.
        let share = unsafe { &*beyond.share(number, team.size, waits) };
        (share, share.find(number, waits, |_| false))
    }

    /// Leaves the work-share.
    #[inline]
    pub fn leave(&self) {
        if self.said().memory.0 != 0 {
            return self.leave_memory();
        }
        let number = self.next_share.get().wrapping_sub(1);
        self.share().leave(number, self.ring.get().length(), self.waits());
    }

    /// Leaves a work-share that has memory.
    #[cold]
    #[inline(never)]
    fn leave_memory(&self) {
        self.said().happens_before::<M>();
        let number = self.next_share.get().wrapping_sub(1);
        self.share().leave_with_memory(number, self.ring.get().length(), self.waits());
    }

    /// The thread's own copy of what the first thread stored about the work-share.
    #[inline]
    fn said(&self) -> &Work {
        // SAFETY: only this thread uses its context. It writes the copy only when it enters a
        // work-share, and nothing borrows the copy then.
        unsafe { &*self.work.as_ptr() }
    }

    /// The iterations of the thread's work-share.
    #[inline]
    pub fn space(&self) -> &Space {
        &self.said().space
    }

    /// Whether the thread's work-share is an ordered loop.
    #[inline]
    pub fn is_ordered(&self) -> bool {
        self.said().ordered
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
        Some(space.chunk_values(from, to))
    }

    /// Whether the schedule of the thread's work-share divides the iterations beforehand.
    #[inline(always)]
    pub fn is_static(&self) -> bool {
        self.said().is_static()
    }

    /// Takes the thread's first chunk of a static loop that the thread
    /// [has entered at once](Context::enters_at_once), as [`next_chunk`](Context::next_chunk) does
    /// later.
    #[inline(always)]
    pub fn first_static_chunk(&self) -> Option<(u64, u64)> {
        let mut chunks = self.static_chunks();
        let first = chunks.next();
        self.chunks.set(chunks);
        let (from, to) = first?;
        Some(self.said().space.values(from, to))
    }

    #[inline(always)]
    fn take_static(&self) -> Option<(u64, u64)> {
        // SAFETY: only this thread uses its context, and nothing else borrows `chunks` meanwhile.
        unsafe { &mut *self.chunks.as_ptr() }.next()
    }

    /// Whether the thread's work-share is a guided loop with at most 2^32 iterations, in a team of
    /// several threads.
    #[inline(always)]
    pub fn is_guided(&self) -> bool {
        let work = self.said();
        work.schedule.kind == ScheduleKind::Guided && self.share().has_reciprocal(work.space.count)
    }

    /// Does what [`next_chunk`](Context::next_chunk) does in a work-share that
    /// [`is_guided`](Context::is_guided).
    #[inline(always)]
    pub fn next_guided_chunk(&self) -> Option<(u64, u64)> {
        self.share().take_by_reciprocal(self.said())
    }

    /// Does what [`next_chunk`](Context::next_chunk) does, where [`stride`](Context::stride) is 0.
    #[inline(always)]
    pub fn next_chunk_by_schedule(&self) -> Option<(u64, u64)> {
        let work = self.said();
        // The usual kinds first.
        let chunk = match work.schedule.kind {
            ScheduleKind::Static | ScheduleKind::Auto => self.take_static(),
            ScheduleKind::Guided | ScheduleKind::Dynamic | ScheduleKind::Trapezoidal => self.share().take(work),
        };
        let (from, to) = chunk?;
        Some(work.space.values(from, to))
    }

    /// The thread's next chunk, as its first iteration and the one behind its last.
    #[inline(always)]
    fn take(&self, work: &Work) -> Option<(u64, u64)> {
        match work.schedule.kind {
            ScheduleKind::Static | ScheduleKind::Auto => self.take_static(),
            ScheduleKind::Dynamic if work.stride != 0 => self.share().take_by(work.stride, work.space.count),
            ScheduleKind::Dynamic | ScheduleKind::Guided | ScheduleKind::Trapezoidal => self.share().take(work),
        }
    }

    /// Does what [`next_chunk`](Context::next_chunk) does, in an ordered loop. If the thread has
    /// had a chunk, it first waits for that chunk's turn and passes the turn on.
    #[inline(always)]
    pub fn next_ordered_chunk(&self) -> Option<(u64, u64)> {
        let work = self.said();
        if self.in_order.get() {
            self.ordered();
            if !self.has_passed() {
                self.pass_turn();
            }
        }
        self.take_in_order(self.take(work))
    }

    /// Passes on the turn of the thread's chunk.
    #[inline(always)]
    fn pass_turn(&self) {
        // SAFETY: the thread is in a work-share that was entered as an ordered loop.
        unsafe { self.share().turns() }.pass(self.said(), self.chunk.get().1, self.waits());
    }

    /// Makes `chunk` the thread's chunk of an ordered loop.
    #[inline(always)]
    fn take_in_order(&self, chunk: Option<(u64, u64)>) -> Option<(u64, u64)> {
        self.in_order.set(chunk.is_some());
        let (from, to) = chunk?;
        self.turn.set(0);
        self.chunk.set((from, to));
        Some(self.said().space.values(from, to))
    }

    /// The [`stride`](Context::stride) of an ordered loop, if the turn of the thread's chunk has
    /// come, and no block was [ended](Context::end_ordered); else 0.
    #[inline(always)]
    pub fn ordered_stride(&self) -> u64 {
        if self.in_order.get() && self.turn.get() == 1 { self.stride() } else { 0 }
    }

    /// Does what [`next_ordered_chunk`](Context::next_ordered_chunk) does, if
    /// [`ordered_stride`](Context::ordered_stride) is not 0.
    #[inline(always)]
    pub fn next_ordered_chunk_by(&self, stride: u64) -> Option<(u64, u64)> {
        self.pass_turn();
        self.take_in_order(self.share().take_by(stride, self.said().space.count))
    }

    /// Waits until all iterations before this thread's chunk have passed on their turn.
    #[inline]
    pub fn ordered(&self) {
        if !self.in_order.get() || self.turn.get() != 0 {
            return;
        }
        self.turn.set(1);
        let from = self.chunk.get().0;
        // SAFETY: the thread is in a work-share that was entered as an ordered loop.
        let seen = unsafe { self.share().turns() }.now(self.said(), from);
        if seen != from {
            self.await_turn(from, seen);
        }
    }

    /// Ends an ordered block. If each iteration of the thread's chunk has had its block, passes on the
    /// turn, so that other threads' blocks need not wait for what is behind this one. Interfaces
    /// without a call at a block's end leave this to the next chunk.
    #[inline]
    pub fn end_ordered(&self) {
        if self.in_order.get() && self.turn.get() != 0 && !self.has_passed() {
            self.turn.set(self.turn.get() + 1);
            if self.has_passed() {
                self.pass_turn();
            }
        }
    }

    /// Whether the blocks of all iterations of the thread's chunk have ended, so that the turn was
    /// passed on.
    #[inline(always)]
    fn has_passed(&self) -> bool {
        let (from, to) = self.chunk.get();
        self.turn.get() > to - from
    }

    /// Waits for the turn of the thread's chunk, which begins with `from`. It was the turn of
    /// `seen`.
    #[inline(never)]
    fn await_turn(&self, from: u64, seen: u64) {
        // SAFETY: the thread is in a work-share that was entered as an ordered loop.
        unsafe { self.share().turns() }.wait(self.said(), from, seen, self.waits());
    }

    /// Whether this thread is the one that runs the next single block.
    pub fn single(&self) -> bool {
        let number = self.next_single.get();
        self.next_single.set(number.wrapping_add(1));
        self.team().is_first_in_single(number)
    }

    /// Does what [`single`](Context::single) does, for interfaces that do not say before the block
    /// whether copies follow. `site` is the address that such a single and its call of
    /// [`hand_out`](Context::hand_out) have in common.
    pub fn single_at(&self, site: usize) -> bool {
        if self.team().copier.was_at(site) {
            let number = self.next_single.get();
            self.let_copier_first(|| self.team().is_unclaimed(number));
        }
        self.single()
    }

    /// Does what [`single`](Context::single) does, with copyprivate. Returns `None` to the thread
    /// that must run the block and then call [`copy_out`](Context::copy_out), and to the others the
    /// address that the first thread handed out.
    pub fn single_copy(&self) -> Option<usize> {
        let number = self.next_share.get();
        // SAFETY: the ring stays as long as the team.
        let share = unsafe { &*self.ring.get().slot(number) };
        self.let_copier_first(|| share.is_free(number));
        if !self.enter(Work::default) {
            return Some(self.handed_out());
        }
        self.team().copier.runs(self.id);
        None
    }

    /// Gives the thread that ran the last single with copyprivate a moment to come to this one first,
    /// as long as `is_free` says that no thread has come.
    #[inline]
    fn let_copier_first(&self, is_free: impl Fn() -> bool) {
        self.team().copier.let_first(self.id, self.waits().of(Why::Barrier), is_free);
    }

    /// The address that another thread hands out in this work-share, which ends here.
    fn handed_out(&self) -> usize {
        self.barrier(Why::Barrier);
        // Acquire: the thread sees the data to which the address leads.
        // C11: the barrier that both pass in between orders the store, and all before it, before
        // this load.
        let copied = self.share().copied().load(Acquire);
        self.leave();
        self.team().copier.handed_out(self.next_share.get().wrapping_sub(1));
        copied
    }

    /// Hands an address to the team's other threads at a single with copyprivate.
    pub fn copy_out(&self, address: usize) {
        // Release: see `handed_out`.
        // C11: as there, the barrier below orders it.
        self.share().copied().store(address, Release);
        self.barrier(Why::Barrier);
        self.leave();
    }

    /// Hands an address from the one thread of the team that passes its own to all others, which
    /// pass `None`. Returns the address. All threads of the team meet here. `site` is that of
    /// [`single_at`](Context::single_at).
    pub fn hand_out(&self, site: usize, own: Option<usize>) -> usize {
        self.enter(Work::default);
        let Some(address) = own else { return self.handed_out() };
        self.team().copier.runs_at(self.id, site);
        self.copy_out(address);
        address
    }

    /// Combines the data of the team's threads by a tree: calls `combine` with the address of the data of
    /// each thread below this one, when those threads have combined what is below them. `data` is the
    /// address of this thread's own. While the thread waits, it runs tasks. When the call returns in the
    /// team's first thread, all data are combined there.
    ///
    /// All threads of the team call this, and pass a barrier of the team before they call it again or
    /// free their data. The region is not cancelled, as a thread that left it would be missing.
    pub fn gather(&self, data: usize, combine: impl FnMut(usize)) {
        self.team().tree.gather(self.id, data, self.waits(), || self.run_any(), combine);
    }
}
