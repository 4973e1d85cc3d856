//! Cohort lock, ticket over ticket (C-TKT-TKT): a ticket lock for each NUMA node under a global
//! one. A holder hands the global lock to a waiter of its own node, so that the lock and the data
//! that it guards stay there for a while.
//!
//! A thread that holds the global lock holds the cohort lock. A node's lock only gathers the
//! threads that may pass it on among themselves, so a try takes the global lock alone.

use super::ticket::Ticket;
use super::{Counted, LockInfo, Posix, RawLock, Token, TryLock, Waits, ZeroInit};
use baton_machine::Ordering::Relaxed;
use baton_machine::{Atomic, Machine, Wait};

/// Number of nodes that are distinguished; on a larger machine, nodes with equal remainders share a
/// cohort.
const NODES: usize = 8;
/// Hand-offs inside a node before other nodes get their turn: fairness against locality (the bound
/// that the paper used for its figures).
const HAND_OFFS: u32 = 64;

/// The part of one node, alone in its pair of cache lines.
#[repr(C, align(128))]
struct Cohort<M: Machine> {
    lock: Ticket<M>,
    /// Hand-offs inside the node since it got the global lock, plus one; 0 if it does not have the
    /// global lock. The node's lock protects it.
    passed: M::Atomic<u32>,
}

/// A cohort lock: 1,152 bytes.
#[repr(C, align(128))]
pub struct CohortLock<M: Machine> {
    global: Ticket<M>,
    cohorts: [Cohort<M>; NODES],
}

/// The holder's token: the cohort whose lock the holder took first; none after a successful try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Via(Option<u8>);

impl Token for Via {
    #[inline(always)]
    fn to_word(self) -> usize {
        self.0.map_or(0, |node| usize::from(node) + 1)
    }
    #[inline(always)]
    fn from_word(word: usize) -> Self {
        Via(word.checked_sub(1).map(|node| node as u8))
    }
}

// SAFETY: ticket locks and counters are free when zero.
unsafe impl<M: Machine> ZeroInit for CohortLock<M> {}

// SAFETY: a thread enters when it has taken the global lock, or when it has got its node's lock
// from a holder that left it the global one and said so in `passed`. The node's lock orders that
// holder before the thread; the global lock orders everything else.
unsafe impl<M: Machine> RawLock<M> for CohortLock<M> {
    type Token = Via;
    const INFO: LockInfo = LockInfo {
        name: "cohort",
        what: "a ticket lock for each NUMA node under a global one, handed on inside the node up to 64 times",
        source: "Dice, Marathe and Shavit, PPoPP 2012 (C-TKT-TKT)",
        limits: "order of arrival only inside a node; 1,152 bytes; 8 nodes told apart",
        fifo: false,
        try_lock: true,
        timed: false,
        hints: false,
        posix: Posix::Yes,
        general: false,
        waits: Waits::Any,
        // The instructions include the call that reports the NUMA node.
        counted: Counted { instructions: 109.0, accesses: 14 },
        c_number: 10,
    };

    fn new() -> Self {
        CohortLock {
            global: Ticket::new(),
            cohorts: core::array::from_fn(|_| Cohort { lock: Ticket::new(), passed: M::Atomic::new(0) }),
        }
    }

    fn aged() -> Self {
        CohortLock {
            global: Ticket::aged(),
            cohorts: core::array::from_fn(|_| Cohort { lock: Ticket::aged(), passed: M::Atomic::new(0) }),
        }
    }

    fn lock(&self, wait: Wait) -> Via {
        let node = M::node() as usize % NODES;
        let cohort = &self.cohorts[node];
        cohort.lock.lock(wait);
        // Relaxed for both: the node's lock orders them.
        if cohort.passed.load(Relaxed) == 0 {
            self.global.lock(wait);
            cohort.passed.store(1, Relaxed);
        }
        Via(Some(node as u8))
    }

    unsafe fn unlock(&self, via: Via, wait: Wait) {
        let Via(Some(node)) = via else {
            // SAFETY: a holder that came by no node's lock holds the global lock, and only that.
            return unsafe { self.global.unlock((), wait) };
        };
        let cohort = &self.cohorts[usize::from(node)];
        // Relaxed: this thread holds the node's lock, which orders it.
        let passed = cohort.passed.load(Relaxed);
        // SAFETY: this thread holds the node's lock, and with it the global one.
        unsafe {
            if passed <= HAND_OFFS && cohort.lock.awaited() {
                // Relaxed: the node's lock orders it.
                cohort.passed.store(passed + 1, Relaxed);
                cohort.lock.unlock((), wait);
            } else {
                cohort.passed.store(0, Relaxed);
                // Releases the global lock last: once it is free, the next holder may free the
                // memory of both.
                cohort.lock.unlock((), wait);
                self.global.unlock((), wait);
            }
        }
    }
}

// SAFETY: the global lock is the lock.
unsafe impl<M: Machine> TryLock<M> for CohortLock<M> {
    fn try_lock(&self) -> Option<Via> {
        self.global.try_lock().map(|()| Via(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Native;

    #[test]
    fn after_its_hand_offs_a_node_lets_the_lock_go_round() {
        let (lock, wait) = (CohortLock::<Native>::new(), Wait::Pause);
        let mut via = lock.lock(wait);
        for hand_off in 1.. {
            // Takes a number of the node's lock, so that in every round one waiter of the holder's
            // node is next.
            let cohort = &lock.cohorts[usize::from(via.0.expect("it came by a node's lock"))];
            let (mine, _) = cohort.lock.take_number();
            // SAFETY: this thread holds the lock by `via`.
            unsafe { lock.unlock(via, wait) };
            assert_eq!(cohort.lock.serving().load(Relaxed), mine, "the waiter of the same node is next");
            if let Some(other) = lock.try_lock() {
                assert_eq!(other, Via(None));
                assert_eq!(hand_off, HAND_OFFS + 1, "the lock goes round after {HAND_OFFS} hand-offs, not before");
                // SAFETY: just locked.
                unsafe { lock.unlock(other, wait) };
                break;
            }
            via = Via(via.0);
        }
    }

    #[test]
    fn a_token_is_a_word() {
        for via in [Via(None), Via(Some(0)), Via(Some(7))] {
            assert_eq!(Via::from_word(via.to_word()), via);
        }
    }
}
