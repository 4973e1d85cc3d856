//! By critical threads: the thread that most others wait for gets a fast core at once. Threads say that they wait; with the
//! notice, a simulator's guest may say for which lock, and who holds it.
//!
//! | what a waiting thread said | whom it waits for |
//! | --- | --- |
//! | who holds the lock | that thread; if that one waits too, the thread at the end of the chain |
//! | the lock alone | the holder that another waiter has named, or the thread whose wait for that lock was over last |
//! | no more than that it spins | any thread of its application that can run and does not wait: each has an equal part of it |
//!
//! By the last row, the one thread that has not reached a barrier yet has the weight of all that have, as soon as they say that they spin.

use crate::placement::{Adapter, Board, Event, Placement, Rank, Ranked, Rule};
use crate::{AppId, Cpus, Notice, Params, Policy, ThreadId};
use std::collections::BTreeMap;

/// Its row in the registry.
pub const POLICY: Policy = Policy {
    name: "crit",
    what: "the threads that most others wait for get the fast cores, at once",
    source: "-",
    make: |cpus, params| Adapter::boxed(cpus, params, placement(cpus, params)),
};

/// The weight of one thread that waits.
const ONE: u64 = 1000;

/// What a waiting thread has said.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    lock: Option<u64>,
    holder: Option<ThreadId>,
}

#[derive(Default)]
struct Crit {
    /// Threads that have said that they wait, and have neither said that they work nor been woken since.
    waiting: BTreeMap<ThreadId, Said>,
    /// Holders of the locks that threads wait for.
    holders: BTreeMap<u64, ThreadId>,
    /// How many thousandths of a thread wait for each, where that is not none.
    weights: BTreeMap<ThreadId, u64>,
    /// What a thread says of the wait that it is about to tell.
    said: Said,
}

impl Crit {
    fn weight(&self, id: ThreadId) -> u64 {
        self.weights.get(&id).copied().unwrap_or(0)
    }

    /// The wait is over. If it was one for a lock that others wait for, the thread `takes` that.
    fn ends(&mut self, id: ThreadId, takes: bool) {
        let Some(Said { lock: Some(lock), .. }) = self.waiting.remove(&id) else { return };
        if !self.waiting.values().any(|said| said.lock == Some(lock)) {
            self.holders.remove(&lock);
        } else if takes {
            self.holders.insert(lock, id);
            for said in self.waiting.values_mut().filter(|said| said.lock == Some(lock)) {
                said.holder = None;
            }
        }
    }

    fn waits(&mut self, id: ThreadId, said: Said) {
        self.ends(id, false);
        if let (Some(lock), Some(holder)) = (said.lock, said.holder) {
            self.holders.insert(lock, holder);
        }
        self.waiting.insert(id, said);
    }

    fn holder(&self, said: &Said) -> Option<ThreadId> {
        said.lock.and_then(|lock| self.holders.get(&lock).copied()).or(said.holder)
    }

    /// The thread at the end of the chain of holders, if that one can run.
    fn blocker(&self, board: &Board, id: ThreadId) -> Option<ThreadId> {
        let mut at = id;
        // A longer chain is a ring: a deadlock.
        for _ in 0..=self.waiting.len() {
            let Some(said) = self.waiting.get(&at) else {
                return board.runnable.contains(&at).then_some(at);
            };
            at = self.holder(said)?;
        }
        None
    }

    fn weigh(&mut self, board: &Board) {
        self.weights.clear();
        let mut unknown: BTreeMap<AppId, u64> = BTreeMap::new();
        for &id in self.waiting.keys() {
            match self.blocker(board, id) {
                Some(blocker) => *self.weights.entry(blocker).or_default() += ONE,
                None => *unknown.entry(board.thread(id).app).or_default() += ONE,
            }
        }
        for (app, weight) in unknown {
            let works = |id: &&ThreadId| board.thread(**id).app == app && !self.waiting.contains_key(id);
            let working: Vec<ThreadId> = board.runnable.iter().filter(works).copied().collect();
            for id in &working {
                *self.weights.entry(*id).or_default() += weight / working.len() as u64;
            }
        }
    }
}

impl Rule for Crit {
    fn rank(&self, board: &Board, id: ThreadId) -> Rank {
        Rank::plain(if board.thread(id).marked { 0 } else { 1 + self.weight(id) })
    }

    fn hears(&mut self, _: u64, board: &Board, event: &Event, _: &mut Vec<crate::placement::Answer>) {
        match event {
            Event::Waits(_, lock, holder) => self.said = Said { lock: *lock, holder: *holder },
            Event::Notice(id, Notice::Spinning) => {
                let said = std::mem::take(&mut self.said);
                self.waits(*id, said);
            }
            Event::Notice(id, Notice::Working) => self.ends(*id, true),
            // A sleeper that is woken looks again.
            Event::Wake(id) | Event::Exit(id) => self.ends(*id, false),
            Event::Block(_) => {}
            _ => return,
        }
        if !self.waiting.is_empty() || !self.weights.is_empty() {
            self.weigh(board);
        }
    }

    fn urgent(&self, board: &Board) -> Vec<ThreadId> {
        let least = u64::from(board.amp.crit_waiters) * ONE;
        let heavy = self.weights.iter().filter(|&(_, &weight)| weight >= least);
        let mut heavy: Vec<(u64, ThreadId)> = heavy.map(|(&id, &weight)| (u64::MAX - weight, id)).collect();
        heavy.sort_unstable();
        heavy.into_iter().map(|(_, id)| id).collect()
    }

    fn stay(&self, board: &Board) -> u64 {
        board.amp.min_stay.unwrap_or(board.time_slice.max(1))
    }
}

/// The placement alone.
pub fn placement(cpus: &Cpus, params: &Params) -> Box<dyn Placement> {
    Box::new(Ranked::new(Board::new(cpus, params), Crit::default()))
}
