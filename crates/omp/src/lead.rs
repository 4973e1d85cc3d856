//! Lets a team's first thread leave a barrier first, where it would else wait long for a CPU.
//!
//! With more threads than CPUs, the threads that leave a barrier may keep all CPUs while they wait, in
//! the program's own code, for what the first thread does next. LLVM's first thread releases the
//! others itself and so has a CPU. Here the last thread to arrive releases all and goes on, which
//! takes one change of threads less. So the first thread finds out how long after another one it
//! leaves. If that is long, the others offer it their CPUs at the barriers that follow.
//!
//! All words are hints: they hand nothing over, and every access is relaxed.

use baton_machine::Ordering::Relaxed;
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Clock, Deadline, Machine, Wait, WaitResult};

/// How long after another thread the first one must leave a barrier for the others to offer their
/// CPUs: many times what the offers cost.
const LATE_NS: u64 = 100_000;
/// The number of barriers at which threads then offer their CPUs, before it is found out anew.
const BARRIERS: u64 = 1000;
/// How long a thread offers its CPU at most: a few changes of threads.
const OFFERS: Nanos = Nanos(20_000);
/// The bits of a barrier's number that stand beside a time.
const NUMBER: u64 = 0xffff;

/// What the threads of a team tell each other when they leave a barrier.
#[repr(align(128))]
pub(crate) struct Lead<M: Machine> {
    /// The number of the last barrier that the first thread has left.
    left: M::Atomic<u64>,
    /// The time, in nanoseconds, at which another thread left a barrier before the first one. The low
    /// bits are replaced by those of the barrier's number.
    early: M::Atomic<u64>,
    /// The number of the last barrier at which threads offer their CPUs.
    until: M::Atomic<u64>,
}

impl<M: Machine> Lead<M> {
    pub(crate) fn new() -> Self {
        Lead { left: M::Atomic::new(0), early: M::Atomic::new(0), until: M::Atomic::new(0) }
    }

    /// Called by thread `id` when it has passed barrier `number`, in a team with more threads than
    /// CPUs.
    #[cold]
    #[inline(never)]
    pub(crate) fn leave(&self, id: u32, number: u64) {
        let now = || M::now(Clock::Monotonic);
        if id == 0 {
            self.first_leaves(number, now);
        } else if self.other_leaves(number, now) {
            self.offer(number, now() + OFFERS);
        }
    }

    fn first_leaves(&self, number: u64, now: impl FnOnce() -> Nanos) {
        self.left.store(number, Relaxed);
        let early = self.early.load(Relaxed);
        // The other bits say when. A number of long ago that has the same bits tells of a thread that
        // left long ago: then the others offer their CPUs for nothing.
        if early & NUMBER == number & NUMBER && now().0.saturating_sub(early) > LATE_NS {
            self.until.store(number + BARRIERS, Relaxed);
        }
    }

    /// Returns whether the calling thread is to offer its CPU until the first one has left.
    fn other_leaves(&self, number: u64, now: impl FnOnce() -> Nanos) -> bool {
        if self.left.load(Relaxed) >= number {
            return false;
        }
        if number <= self.until.load(Relaxed) {
            return true;
        }
        if self.early.load(Relaxed) & NUMBER != number & NUMBER {
            self.early.store(now().0 & !NUMBER | number & NUMBER, Relaxed);
        }
        false
    }

    /// Offers the CPU until the first thread has left barrier `number`, until `at` at the latest.
    fn offer(&self, number: u64, at: Nanos) {
        let deadline = Deadline { at, clock: Clock::Monotonic };
        let mut left = self.left.load(Relaxed);
        while left < number {
            // No thread is woken for this word: the wait ends with the deadline before it sleeps.
            match M::wait_while(&self.left, left, Wait::YieldPark(u32::MAX - 1), Some(deadline)) {
                WaitResult::Changed(now) => left = now,
                WaitResult::Expired => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Native;

    const START: u64 = 1 << 40;

    fn at(microseconds: u64) -> impl FnOnce() -> Nanos {
        move || Nanos(START + 1000 * microseconds)
    }

    #[test]
    fn threads_offer_their_cpus_while_the_first_one_is_late() {
        let lead = Lead::<Native>::new();
        // At barrier 7 another thread is 30 us ahead of the first one, which is not long.
        assert!(!lead.other_leaves(7, at(0)));
        lead.first_leaves(7, at(30));
        assert!(!lead.other_leaves(8, at(100)));
        // The second thread that is ahead does not set the time anew. The time is rounded down by up to
        // 65 us.
        assert!(!lead.other_leaves(8, at(299)));
        lead.first_leaves(8, at(300));
        assert!(lead.other_leaves(9, || panic!("the time is not asked for")));
        lead.first_leaves(9, || panic!("no thread has told when it left"));
        assert!(!lead.other_leaves(9, at(0)), "the first thread has left");
        assert!(lead.other_leaves(8 + BARRIERS, at(0)));
        assert!(!lead.other_leaves(9 + BARRIERS, at(1000)), "it is found out anew");
        lead.first_leaves(9 + BARRIERS, at(1001));
        assert!(!lead.other_leaves(10 + BARRIERS, at(2000)));
    }

    #[test]
    fn an_offer_ends_without_the_first_thread() {
        let lead = Lead::<Native>::new();
        lead.until.store(3, Relaxed);
        lead.leave(1, 3);
        assert_eq!(lead.left.load(Relaxed), 0);
    }
}
