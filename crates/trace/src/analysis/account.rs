//! The account of one lock: which threads hold it, which wait for it, and for how long it has been
//! free.
//!
//! All code that reports blocked time, sections and overhead keeps this account and adds its own
//! data: the ledgers of the analysis, the intervals of a report, the totals of a replayed run. So
//! all of them agree on what a wait, a hold and competition overhead are, and treat lost events
//! alike.
//!
//! The **overhead** of a wait is the time in it during which no thread held the lock. It is
//! computed as the lock's total free time at the wait's end less that at its beginning.

use crate::clock::Ticks;
use crate::event::{Mode, SiteId, ThreadIndex};

/// The account of one lock. `W` is the data that the account's owner keeps for each wait.
#[derive(Clone, Debug)]
pub struct Account<W = ()> {
    holders: Vec<Holder>,
    waiters: Vec<Waiter<W>>,
    /// Since when the lock has been free; `None` while it is held.
    free_since: Option<Ticks>,
    /// Total time that the lock was free up to `free_since`, or, if it is held, up to its
    /// acquisition.
    free_total: Ticks,
}

/// A thread that holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The thread that holds the lock.
    pub thread: ThreadIndex,
    /// The mode in which the thread holds the lock.
    pub mode: Mode,
    /// The call site that took the lock.
    pub site: SiteId,
    /// When the lock was taken, or when the account was last restarted, if that was later.
    pub since: Ticks,
    /// Number of the thread's acquisitions that it has not released yet: more than one if the
    /// thread holds the lock recursively.
    depth: u32,
}

/// A thread that waits for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter<W> {
    /// The thread that waits.
    pub thread: ThreadIndex,
    /// The call site that waits.
    pub site: SiteId,
    /// When the wait began, or when the account was last restarted, if that was later.
    pub since: Ticks,
    /// The lock's total free time at `since`.
    free_before: Ticks,
    /// Data that the account's owner keeps for this wait.
    pub noted: W,
}

/// The effects of an acquisition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken<W> {
    /// The wait that ended with the acquisition, if there was one.
    pub waited: Option<Waiter<W>>,
    /// The call site of the acquisition; if none was given, that of the wait.
    pub site: SiteId,
    /// Whether the thread already held the lock, in any mode; no new hold begins then.
    pub recursive: bool,
    /// Earlier holds that exclude this acquisition. Their releases must have been lost, so they end
    /// now.
    pub lost: Vec<Holder>,
    /// Since when the lock was free before this acquisition; `None` if it was held.
    pub free_since: Option<Ticks>,
}

/// The effects of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// The hold that ended; `None` if the thread still holds the lock recursively.
    pub hold: Option<Holder>,
    /// Whether another thread than the releasing one held the lock.
    pub foreign: bool,
    /// Whether the lock is free now.
    pub free: bool,
}

impl<W: Default> Account<W> {
    /// The account of a lock that is free from `now` on.
    pub fn new(now: Ticks) -> Account<W> {
        Account { holders: Vec::new(), waiters: Vec::new(), free_since: Some(now), free_total: Ticks(0) }
    }

    /// Records that a thread begins to wait. Returns an earlier wait of the same thread, if its end
    /// is missing; that wait ends now.
    pub fn request(&mut self, now: Ticks, thread: ThreadIndex, site: SiteId) -> Option<Waiter<W>> {
        let unfinished = self.leave(thread);
        let free_before = self.free_time(now);
        self.waiters.push(Waiter { thread, site, since: now, free_before, noted: W::default() });
        unfinished
    }

    /// Records that a thread takes the lock, after a wait or without one.
    pub fn acquire(&mut self, now: Ticks, thread: ThreadIndex, mode: Mode, site: Option<SiteId>) -> Taken<W> {
        let waited = self.leave(thread);
        let site = site.or(waited.as_ref().map(|w| w.site)).unwrap_or(SiteId::UNKNOWN);
        if let Some(holder) = self.holders.iter_mut().find(|h| h.thread == thread) {
            holder.depth += 1;
            return Taken { waited, site, recursive: true, lost: Vec::new(), free_since: None };
        }
        let excludes = |h: &Holder| mode == Mode::Exclusive || h.mode == Mode::Exclusive;
        let excluded = self.holders.iter().any(excludes);
        let lost = if excluded { std::mem::take(&mut self.holders) } else { Vec::new() };
        let free_since = self.free_since.take();
        if let Some(since) = free_since {
            self.free_total += now.since(since);
        }
        self.holders.push(Holder { thread, mode, site, since: now, depth: 1 });
        Taken { waited, site, recursive: false, lost, free_since }
    }

    /// Ends a thread's wait without an acquisition. Returns the wait; `None` if the thread does not
    /// wait.
    pub fn leave(&mut self, thread: ThreadIndex) -> Option<Waiter<W>> {
        let at = self.waiters.iter().position(|w| w.thread == thread)?;
        // Keeps the waiters in the order in which they came.
        Some(self.waiters.remove(at))
    }

    /// Records that the lock is released. A thread that does not hold the lock releases it for the
    /// only exclusive holder, as some kinds of mutexes allow; `None` if there is no such holder.
    pub fn release(&mut self, now: Ticks, thread: ThreadIndex) -> Option<Released> {
        let own = self.holders.iter().position(|h| h.thread == thread);
        let at = match (own, self.holders.as_slice()) {
            (Some(at), _) => at,
            (None, [only]) if only.mode == Mode::Exclusive => 0,
            _ => return None,
        };
        let foreign = own.is_none();
        self.holders[at].depth -= 1;
        if self.holders[at].depth > 0 {
            return Some(Released { hold: None, foreign, free: false });
        }
        let hold = self.holders.remove(at);
        let free = self.holders.is_empty();
        if free {
            self.free_since = Some(now);
        }
        Some(Released { hold: Some(hold), foreign, free })
    }

    /// Restarts the account: holds and waits in progress count as if they had begun at `now`.
    pub fn restart(&mut self, now: Ticks) {
        let free_before = self.free_time(now);
        for waiter in &mut self.waiters {
            *waiter = Waiter { since: now, free_before, noted: W::default(), ..*waiter };
        }
        for holder in &mut self.holders {
            holder.since = now;
        }
    }
}

impl<W> Account<W> {
    /// Threads that hold the lock, the oldest first.
    pub fn holders(&self) -> &[Holder] {
        &self.holders
    }

    /// Threads that wait for the lock, the oldest first.
    pub fn waiters(&self) -> &[Waiter<W>] {
        &self.waiters
    }

    /// Returns the threads that hold the lock and those that wait for it, so that the caller can
    /// update the data that it keeps of each wait.
    pub fn parties(&mut self) -> (&[Holder], &mut [Waiter<W>]) {
        (&self.holders, &mut self.waiters)
    }

    /// Ends and returns all holds.
    pub fn end_holds(&mut self) -> Vec<Holder> {
        std::mem::take(&mut self.holders)
    }

    /// Total time that the lock has been free since the account began.
    fn free_time(&self, now: Ticks) -> Ticks {
        self.free_total + self.free_since.map_or(Ticks(0), |since| now.since(since))
    }

    /// Returns the overhead of a wait that is in progress at `now`, or has just ended: the time in
    /// it during which the lock was free.
    pub fn overhead(&self, now: Ticks, waiter: &Waiter<W>) -> Ticks {
        self.free_time(now).since(waiter.free_before)
    }

    /// Returns since when the lock has been free while this thread waits for it; `None` while the
    /// lock is held.
    pub fn competes_since(&self, waiter: &Waiter<W>) -> Option<Ticks> {
        self.free_since.map(|free| free.max(waiter.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ThreadIndex = ThreadIndex(0);
    const B: ThreadIndex = ThreadIndex(1);
    const HERE: SiteId = SiteId(7);

    #[test]
    fn overhead_is_the_part_of_a_wait_in_which_the_lock_was_free() {
        let mut lock: Account = Account::new(Ticks(0));
        lock.acquire(Ticks(10), A, Mode::Exclusive, Some(HERE));
        assert_eq!(lock.request(Ticks(15), B, HERE), None);
        assert_eq!(lock.competes_since(&lock.waiters()[0]), None);
        assert!(lock.release(Ticks(20), A).unwrap().free);
        assert_eq!(lock.competes_since(&lock.waiters()[0]), Some(Ticks(20)));
        let taken = lock.acquire(Ticks(23), B, Mode::Exclusive, None);
        let waited = taken.waited.unwrap();
        assert_eq!((taken.site, taken.free_since), (HERE, Some(Ticks(20))));
        assert_eq!((waited.since, lock.overhead(Ticks(23), &waited)), (Ticks(15), Ticks(3)));
    }

    #[test]
    fn a_recursive_hold_ends_with_its_last_release() {
        let mut lock: Account = Account::new(Ticks(0));
        lock.acquire(Ticks(1), A, Mode::Exclusive, None);
        assert!(lock.acquire(Ticks(2), A, Mode::Exclusive, None).recursive);
        assert_eq!(lock.release(Ticks(3), A).unwrap().hold, None);
        assert_eq!(lock.release(Ticks(4), A).unwrap().hold.unwrap().since, Ticks(1));
        assert_eq!(lock.release(Ticks(5), A), None);
    }

    #[test]
    fn what_excludes_each_other_cannot_hold_together() {
        let mut lock: Account = Account::new(Ticks(0));
        assert!(lock.acquire(Ticks(1), A, Mode::Shared, None).lost.is_empty());
        assert!(lock.acquire(Ticks(2), B, Mode::Shared, None).lost.is_empty());
        assert_eq!(lock.acquire(Ticks(3), ThreadIndex(2), Mode::Exclusive, None).lost.len(), 2);
        let released = lock.release(Ticks(4), A).unwrap();
        assert!(released.foreign && released.free);
    }

    #[test]
    fn a_wait_whose_end_is_missing_ends_with_the_next_one() {
        let mut lock: Account = Account::new(Ticks(0));
        assert_eq!(lock.request(Ticks(1), A, HERE), None);
        assert_eq!(lock.request(Ticks(5), A, HERE).unwrap().since, Ticks(1));
        lock.restart(Ticks(8));
        assert_eq!(lock.leave(A).unwrap().since, Ticks(8));
        assert_eq!(lock.leave(A), None);
    }
}
