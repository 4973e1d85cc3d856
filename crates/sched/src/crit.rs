//! Placement by critical threads: the thread for which most others wait gets a fast core at once.
//! Threads report that they wait; with the report, a simulator's guest may say for which lock and
//! which thread holds it.
//!
//! | what a waiting thread reported | the thread that it waits for |
//! | --- | --- |
//! | the holder of the lock | that thread; if it waits too, the thread at the end of the chain |
//! | only the lock | the holder that another waiter has named, or the thread that waited for that lock too and has since reported that it works, whichever came last |
//! | only that it spins | any thread of its application that can run and does not wait: each gets an equal part of the weight |
//!
//! If threads report what they do with locks and barriers ([`LockNotice`]), the holder is known
//! without a waiter's report, a sleeper waits like a spinner, and a thread that has come to a
//! barrier waits for all that have not.
//!
//! By the last row of the table, the one thread that has not reached a barrier yet has the weight
//! of all that have, as soon as these report that they spin. The last thread to arrive wakes the
//! others, and is no waiter, unless it sleeps or another thread arrives after it.
//!
//! Without `min_stay`, the policy decides lock by lock how long a fast CPU takes part in no further
//! swap. If the rest of the hold that is expected takes so much longer on the holder's slow CPU that
//! this exceeds the price of a swap, the holder comes at once and another such holder may follow it.
//! Otherwise a swap cannot pay within one hold, and the thread that it brings stays for a time
//! slice.

use crate::placement::{Adapter, Board, Event, Holds, Placement, Rank, Ranked, Rule};
use crate::{AppId, Cpus, LockNotice, Notice, Params, Policy, ThreadId};
use std::collections::BTreeMap;

/// The policy's row in the registry.
pub const POLICY: Policy = Policy {
    name: "crit",
    what: "the threads that most others wait for get the fast cores, at once",
    source: "-",
    make: |cpus, params| Adapter::boxed(cpus, params, placement(cpus, params)),
};

/// Weight of one waiting thread.
const ONE: u64 = 1000;

/// What a waiting thread has reported of its wait.
#[derive(Clone, Copy, Debug, Default)]
struct WaitReport {
    lock: Option<u64>,
    holder: Option<ThreadId>,
    /// Whether the wait ends only when the thread reports that it has taken the lock or has left,
    /// or ends itself. Other waits end when the thread reports that it works, is woken or ends.
    lasts: bool,
    /// Whether the thread waits at a barrier, for all that have not arrived.
    all: bool,
}

impl WaitReport {
    /// A wait for a lock, or at a barrier.
    fn of(notice: LockNotice, lock: u64) -> WaitReport {
        WaitReport { lock: Some(lock), holder: None, lasts: true, all: notice == LockNotice::Arrived }
    }

    /// Whether the thread waits for some thread that exists but may not be known.
    fn waits_for_some(&self) -> bool {
        self.all || !self.lasts
    }
}

#[derive(Default)]
struct Crit {
    /// Threads that have reported that they wait, and whose wait has not ended.
    waiting: BTreeMap<ThreadId, WaitReport>,
    /// Threads that have arrived at a barrier, by number, when no other thread of their application
    /// was working.
    last: BTreeMap<ThreadId, u64>,
    /// What locks are held for.
    holds: Holds,
    /// Holders of locks, as reported by the holders themselves. `held` has the number of locks that
    /// each thread holds.
    owners: BTreeMap<u64, ThreadId>,
    held: BTreeMap<ThreadId, u32>,
    /// Holders of locks for which threads wait: as reported by a waiter, or the waiter that has
    /// since reported that it works.
    holders: BTreeMap<u64, ThreadId>,
    /// For each thread for which others wait: how many wait for it, in thousandths of a thread.
    weights: BTreeMap<ThreadId, u64>,
    /// What a thread has reported of the wait that it is about to begin.
    said: WaitReport,
}

impl Crit {
    fn weight(&self, id: ThreadId) -> u64 {
        self.weights.get(&id).copied().unwrap_or(0)
    }

    fn lasts(&self, id: ThreadId) -> bool {
        self.waiting.get(&id).is_some_and(|said| said.lasts)
    }

    /// Ends the thread's wait. If it waited for a lock for which others wait, and `takes` is set,
    /// the thread becomes the lock's holder.
    fn ends(&mut self, id: ThreadId, takes: bool) {
        let Some(WaitReport { lock: Some(lock), .. }) = self.waiting.remove(&id) else { return };
        if !self.waiting.values().any(|said| said.lock == Some(lock)) {
            self.holders.remove(&lock);
        } else if takes {
            self.holders.insert(lock, id);
            for said in self.waiting.values_mut().filter(|said| said.lock == Some(lock)) {
                said.holder = None;
            }
        }
    }

    fn waits(&mut self, id: ThreadId, said: WaitReport) {
        self.ends(id, false);
        if let (Some(lock), Some(holder)) = (said.lock, said.holder) {
            self.holders.insert(lock, holder);
        }
        self.waiting.insert(id, said);
    }

    /// Notes that a thread has arrived at a barrier. If no other thread of its application works,
    /// it is the last one, and works until the others are awake.
    fn arrives(&mut self, board: &Board, id: ThreadId, barrier: u64, said: WaitReport) {
        let app = board.thread(id).app;
        let before = self.last.iter().filter(|&(other, at)| *at == barrier && board.thread(*other).app == app);
        for other in before.map(|(&other, _)| other).collect::<Vec<_>>() {
            self.last.remove(&other);
            self.waits(other, said);
        }
        let works = |other: &ThreadId| board.thread(*other).app == app && !self.waiting.contains_key(other);
        if board.runnable.iter().any(|other| *other != id && works(other)) {
            self.waits(id, said);
        } else {
            self.ends(id, false);
            self.last.insert(id, barrier);
        }
    }

    fn hears_lock(&mut self, now: u64, board: &Board, (id, notice, lock): (ThreadId, LockNotice, u64)) {
        let said = WaitReport::of(notice, lock);
        match notice {
            LockNotice::Arrived => self.arrives(board, id, lock, said),
            LockNotice::Wanted => self.waits(id, said),
            LockNotice::Taken => {
                self.ends(id, false);
                self.leaves(lock);
                self.owners.insert(lock, id);
                *self.held.entry(id).or_default() += 1;
                self.holds.begins(now, id, lock);
            }
            LockNotice::Left => {
                self.last.remove(&id);
                if self.waiting.get(&id).is_some_and(|said| said.lock == Some(lock)) {
                    self.ends(id, false);
                }
                if self.owners.get(&lock) == Some(&id) {
                    self.holds.ends(now, id, lock);
                    self.leaves(lock);
                }
            }
        }
    }

    /// Records that the lock has no owner any more.
    fn leaves(&mut self, lock: u64) {
        let Some(owner) = self.owners.remove(&lock) else { return };
        if let Some(held) = self.held.get_mut(&owner) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&owner);
            }
        }
    }

    /// Forgets the locks of a thread that has ended.
    fn forget(&mut self, id: ThreadId) {
        if self.held.remove(&id).is_some() {
            self.owners.retain(|_, owner| *owner != id);
        }
    }

    fn holder(&self, said: &WaitReport) -> Option<ThreadId> {
        let of = |lock: u64| self.owners.get(&lock).or_else(|| self.holders.get(&lock)).copied();
        said.lock.and_then(of).or(said.holder)
    }

    /// Follows the chain of holders from a waiting thread. Returns the thread at its end if that
    /// thread can run. Otherwise returns, as the error, the waiting thread at which the chain
    /// breaks off because its holder is not known, or `id` if the last thread cannot run or the
    /// chain is a ring.
    fn blocker(&self, board: &Board, id: ThreadId) -> Result<ThreadId, ThreadId> {
        let mut at = id;
        // A chain with more steps than there are waiting threads is a ring, that is, a deadlock.
        for _ in 0..=self.waiting.len() {
            let Some(said) = self.waiting.get(&at) else {
                return if board.runnable.has(at) { Ok(at) } else { Err(id) };
            };
            at = self.holder(said).ok_or(at)?;
        }
        Err(id)
    }

    fn weigh(&mut self, board: &Board) {
        self.weights.clear();
        let mut unknown: BTreeMap<AppId, u64> = BTreeMap::new();
        for &id in self.waiting.keys() {
            match self.blocker(board, id) {
                Ok(blocker) => *self.weights.entry(blocker).or_default() += ONE,
                Err(last) if self.waiting.get(&last).is_some_and(WaitReport::waits_for_some) => {
                    *unknown.entry(board.thread(last).app).or_default() += ONE;
                }
                // The lock is changing hands, or its holder cannot run, or threads wait in a ring:
                // the waiter's weight goes to no thread.
                Err(_) => {}
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
    const HEARS_LOCKS: bool = true;

    fn rank(&self, board: &Board, id: ThreadId) -> Rank {
        Rank::plain(if board.thread(id).marked || self.lasts(id) { 0 } else { 1 + self.weight(id) })
    }

    fn hears(&mut self, now: u64, board: &Board, event: &Event, _: &mut Vec<crate::placement::Answer>) {
        self.holds.follow(now, board, event);
        match event {
            Event::Waits(_, lock, holder) => {
                self.said = WaitReport { lock: *lock, holder: *holder, ..WaitReport::default() };
            }
            Event::Notice(id, Notice::Spinning) => {
                let said = std::mem::take(&mut self.said);
                if !self.lasts(*id) {
                    self.waits(*id, said);
                }
            }
            Event::Lock(id, notice, lock) => self.hears_lock(now, board, (*id, *notice, *lock)),
            Event::Notice(id, Notice::Working) if !self.lasts(*id) => self.ends(*id, true),
            // A sleeper that is woken looks at the lock again, so its report no longer holds.
            Event::Wake(id) if !self.lasts(*id) => self.ends(*id, false),
            Event::Exit(id) => {
                self.ends(*id, false);
                self.last.remove(id);
                self.forget(*id);
            }
            // A thread that sleeps at a barrier waits there, although it seemed to be the last one.
            Event::Block(id) => {
                if let Some(barrier) = self.last.remove(id) {
                    self.waits(*id, WaitReport::of(LockNotice::Arrived, barrier));
                }
            }
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

    fn keeps(&self, board: &Board, id: ThreadId) -> bool {
        board.amp.holder_keeps && self.held.contains_key(&id)
    }

    fn stay(&self, now: u64, board: &Board, id: ThreadId) -> u64 {
        let slice = board.time_slice.max(1);
        board.amp.min_stay.unwrap_or(if self.pays(now, board, id) { 0 } else { slice })
    }

    fn pays(&self, now: u64, board: &Board, id: ThreadId) -> bool {
        let held = self.owners.iter().filter(|&(_, owner)| *owner == id);
        let wanted = held.filter(|(lock, _)| self.waiting.values().any(|said| said.lock == Some(**lock)));
        let rest = wanted.map(|(&lock, _)| self.holds.rest(now, id, lock)).max().unwrap_or(0);
        board.amp.min_stay.is_none() && board.saves_on_fast(id, rest) > board.amp.swap_price.unwrap_or(0)
    }
}

/// Makes the placement without run queues.
pub fn placement(cpus: &Cpus, params: &Params) -> Box<dyn Placement> {
    Box::new(Ranked::new(Board::new(cpus, params), Crit::default()))
}
