//! Sums up blocked time, critical sections and competition overhead during a run. The account is
//! that of the trace's analysis (`docs/reference/analysis.md`): while a thread waits, time in which
//! another thread holds the lock counts as critical sections, and time in which no thread holds it
//! counts as competition overhead.

use crate::ran::Totals;
use baton_trace::analysis::{Account, Waiter};
use baton_trace::{Mode, SiteId, ThreadIndex, Ticks};
use baton_units::Cycles;

impl Totals {
    /// All waiting time.
    pub fn blocked(&self) -> Cycles {
        self.sections + self.overhead
    }
}

/// The account of one lock.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    account: Account,
    /// The time of the latest change to the account.
    latest: Ticks,
    totals: Totals,
}

impl Book {
    /// The account of a free lock.
    pub(crate) fn new() -> Book {
        Book { account: Account::new(Ticks(0)), latest: Ticks(0), totals: Totals::default() }
    }

    /// Records that a thread asks for the lock. Returns whether the thread has to wait: a writer
    /// waits if any thread holds the lock or waits for it, a reader only if a writer holds it.
    pub(crate) fn request(&mut self, now: Cycles, thread: u32, mode: Mode) -> bool {
        let waits = match mode {
            Mode::Exclusive => !self.account.holders().is_empty() || !self.account.waiters().is_empty(),
            Mode::Shared => self.account.holders().iter().any(|holder| holder.mode == Mode::Exclusive),
        };
        if waits {
            self.latest = Ticks(now.0);
            let unfinished = self.account.request(self.latest, ThreadIndex(thread), SiteId::UNKNOWN);
            debug_assert!(unfinished.is_none(), "thread {thread} waits twice for a lock");
            self.totals.contended += 1;
        }
        waits
    }

    /// Records that the thread gets the lock.
    pub(crate) fn acquired(&mut self, now: Cycles, thread: u32, mode: Mode) {
        self.latest = Ticks(now.0);
        let taken = self.account.acquire(self.latest, ThreadIndex(thread), mode, None);
        debug_assert!(taken.lost.is_empty() && !taken.recursive, "thread {thread} took a lock that was held");
        if let Some(waiter) = taken.waited {
            self.totals += self.waited(self.latest, &waiter);
        }
        self.totals.acquisitions += 1;
    }

    /// Records that the thread releases the lock.
    pub(crate) fn release(&mut self, now: Cycles, thread: u32) {
        self.latest = Ticks(now.0);
        let released = self.account.release(self.latest, ThreadIndex(thread));
        debug_assert!(released.is_some_and(|r| !r.foreign), "thread {thread} gave up a lock that it did not hold");
    }

    /// Returns the totals of a run that ended at `end`, including waits that had not ended.
    pub(crate) fn totals(&self, end: Cycles) -> Totals {
        let end = Ticks(end.0).max(self.latest);
        let mut totals = self.totals;
        for waiter in self.account.waiters() {
            totals += self.waited(end, waiter);
        }
        totals
    }

    /// Returns what a wait that ended at `now` contributes. A waiter never holds the lock itself,
    /// so what is not overhead counts as critical sections.
    fn waited(&self, now: Ticks, waiter: &Waiter<()>) -> Totals {
        let overhead = self.account.overhead(now, waiter);
        let sections = now.since(waiter.since).since(overhead);
        Totals { sections: Cycles(sections.0), overhead: Cycles(overhead.0), ..Totals::default() }
    }
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Totals) {
        self.acquisitions += other.acquisitions;
        self.contended += other.contended;
        self.sections += other.sections;
        self.overhead += other.overhead;
    }
}
