//! Placement by what a kernel sees of locks: calls of futexes. A thread that has slept for a lock and
//! then gets it is a holder that is known, as in scx_lavd, and comes to a fast core at once. It keeps
//! its CPU for up to one more time slice.
//!
//! The kernel does not see a holder that never slept for its lock, waiters that spin, nor which
//! thread a barrier waits for; [`crit`](crate::crit) hears of these from the runtime. scx_lavd's
//! other criteria (how often a thread wakes others and is woken, its deadlines) are left out.

use crate::placement::{Adapter, Answer, Board, Event, Placement, Rank, Ranked, Rule};
use crate::{Cpus, LockNotice, Params, Policy, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// The policy's row in the registry.
pub const POLICY: Policy = Policy {
    name: "lavd",
    what: "threads that got a lock for which they slept get the fast cores, at once: what a kernel sees of locks",
    source: "scx_lavd (sched_ext, Linux 6.12): the boost of lock holders by tracing futexes",
    make: |cpus, params| Adapter::boxed(cpus, params, placement(cpus, params)),
};

#[derive(Default)]
struct Lavd {
    /// The lock that each thread wants, and whether the thread has slept for it.
    wanted: BTreeMap<ThreadId, (u64, bool)>,
    /// The holders that are known, by lock.
    owners: BTreeMap<u64, ThreadId>,
}

impl Lavd {
    fn holds(&self, id: ThreadId) -> bool {
        self.owners.values().any(|&owner| owner == id)
    }

    fn hears_lock(&mut self, board: &Board, id: ThreadId, notice: LockNotice, lock: u64) {
        match notice {
            // On a real machine the thread may sleep already when this is heard.
            LockNotice::Wanted => _ = self.wanted.insert(id, (lock, !board.runnable.has(id))),
            LockNotice::Taken => {
                if self.wanted.remove(&id) == Some((lock, true)) {
                    self.owners.insert(lock, id);
                } else {
                    // The holder before this one has left, even if that was not seen.
                    self.owners.remove(&lock);
                }
            }
            LockNotice::Left => {
                if self.wanted.get(&id).is_some_and(|(wanted, _)| *wanted == lock) {
                    self.wanted.remove(&id);
                }
                if self.owners.get(&lock) == Some(&id) {
                    self.owners.remove(&lock);
                }
            }
            LockNotice::Arrived => {}
        }
    }
}

impl Rule for Lavd {
    const SEES_FUTEXES: bool = true;

    fn rank(&self, _: &Board, id: ThreadId) -> Rank {
        Rank::plain(u64::from(self.holds(id)))
    }

    fn hears(&mut self, _: u64, board: &Board, event: &Event, _: &mut Vec<Answer>) {
        match event {
            Event::Lock(id, notice, lock) => self.hears_lock(board, *id, *notice, *lock),
            Event::Block(id) => {
                if let Some((_, slept)) = self.wanted.get_mut(id) {
                    *slept = true;
                }
            }
            Event::Exit(id) => {
                self.wanted.remove(id);
                self.owners.retain(|_, owner| owner != id);
            }
            _ => {}
        }
    }

    fn urgent(&self, board: &Board) -> Vec<ThreadId> {
        let owners: BTreeSet<ThreadId> = self.owners.values().copied().collect();
        owners.into_iter().filter(|id| board.runnable.has(*id)).collect()
    }

    fn keeps(&self, _: &Board, id: ThreadId) -> bool {
        self.holds(id)
    }

    fn stay(&self, _: u64, board: &Board, _: ThreadId) -> u64 {
        board.amp.min_stay.unwrap_or(board.time_slice.max(1))
    }
}

/// Makes the placement without run queues.
pub fn placement(cpus: &Cpus, params: &Params) -> Box<dyn Placement> {
    Box::new(Ranked::new(Board::new(cpus, params), Lavd::default()))
}
