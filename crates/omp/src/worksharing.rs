//! What a thread asks of its work-share: loops, sections, single, ordered.

use crate::share::{Share, Work};
use crate::space::{ScheduleKind, static_chunk};
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
    pub fn enter(&self, make: impl FnOnce() -> Work) -> bool {
        let number = self.next_share.get();
        self.next_share.set(number.wrapping_add(1));
        let mut make = Some(make);
        let mut once = || make.take().expect("a work-share has one first thread")();
        let (team, waits) = (self.team(), self.waits());
        let mut share: *const Share<M> = &raw const team.shares[number as usize % team.shares.len()];
        // SAFETY: it is the team's.
        let entered = unsafe { &*share }.enter(number, waits, || self.must_not_wait(), &mut once);
        let (first, work) = entered.unwrap_or_else(|| {
            let beyond = team.cancel.beyond.as_ref().expect("a slot is closed only where cancellation is on");
            share = beyond.share(number, team.size, waits);
            // SAFETY: it stays until the region has ended.
            let entered = unsafe { &*share }.enter(number, waits, || false, &mut once);
            entered.expect("a work-share beyond the ring is closed to none")
        });
        self.share.set(share);
        self.work.set(work);
        self.stride.set(work.stride(team.size));
        self.chunk.set((0, 0));
        self.trip.set(0);
        self.in_order.set(false);
        first
    }

    /// Leaves the work-share.
    pub fn leave(&self) {
        let number = self.next_share.get().wrapping_sub(1);
        self.share().leave(number, self.waits(), self.team().cancel.is_on());
    }

    /// The thread's next chunk, as the loop's values at its begin and end.
    #[inline]
    pub fn next_chunk(&self) -> Option<(u64, u64)> {
        match self.stride.get() {
            0 => self.next_chunk_by_schedule(),
            stride => self.next_chunk_by(stride),
        }
    }

    /// As [`next_chunk`](Context::next_chunk), where an addition of `stride`, which is not 0, to the work-share's counter takes the chunk.
    #[inline(always)]
    pub fn next_chunk_by(&self, stride: u64) -> Option<(u64, u64)> {
        // SAFETY: only this thread uses its place, and nothing below writes there.
        let space = unsafe { &(*self.work.as_ptr()).space };
        let from = self.share().advance(stride);
        (from < space.count).then(|| space.values(from, space.count.min(from + stride)))
    }

    #[inline(never)]
    fn next_chunk_by_schedule(&self) -> Option<(u64, u64)> {
        let work = self.work.get();
        let chunk = match work.schedule.kind {
            ScheduleKind::Static | ScheduleKind::Auto => {
                let trip = self.trip.get();
                self.trip.set(trip + 1);
                let (id, size) = (u64::from(self.id), u64::from(self.team().size));
                static_chunk(work.space.count, work.schedule.chunk, trip, id, size)
            }
            ScheduleKind::Dynamic | ScheduleKind::Guided => self.share().take(&work),
        };
        self.chunk.set(chunk.unwrap_or((0, 0)));
        chunk.map(|(from, to)| work.space.values(from, to))
    }

    /// As [`next_chunk`](Context::next_chunk) in an ordered loop: a chunk that it had has had its turn first.
    pub fn next_ordered_chunk(&self) -> Option<(u64, u64)> {
        if self.in_order.get() {
            self.ordered();
            // SAFETY: the thread is in an ordered loop.
            unsafe { self.share().turns() }.pass(&self.work.get(), self.chunk.get().1, self.waits());
        }
        let values = self.next_chunk();
        self.in_order.set(values.is_some());
        values
    }

    /// Waits until all iterations before this thread's chunk have passed on their turn.
    pub fn ordered(&self) {
        if self.in_order.get() {
            // SAFETY: the thread is in an ordered loop.
            unsafe { self.share().turns() }.wait(&self.work.get(), self.chunk.get().0, self.waits());
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
