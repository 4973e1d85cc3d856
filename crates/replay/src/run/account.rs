//! Blocking, critical sections and competition overhead, kept while a run goes on. The definitions are those of the
//! trace's analysis (`docs/analysis.md`): of the time that threads wait, the part in which somebody holds the lock is
//! critical sections, the part in which nobody does is competition overhead.

use baton_units::Cycles;

/// All locks of a run together, in cycles added over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Acquisitions.
    pub acquisitions: u64,
    /// Of these, those that waited.
    pub contended: u64,
    /// Waiting while the lock was held.
    pub sections: Cycles,
    /// Waiting while the lock was free.
    pub overhead: Cycles,
}

impl Totals {
    /// Waiting, all of it.
    pub fn blocked(&self) -> Cycles {
        self.sections + self.overhead
    }
}

/// One lock's book.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Book {
    waiters: u64,
    held: bool,
    since: u64,
    totals: Totals,
}

impl Book {
    fn turn(&mut self, now: Cycles) {
        let waited = Cycles((now.0 - self.since) * self.waiters);
        if self.held {
            self.totals.sections += waited;
        } else {
            self.totals.overhead += waited;
        }
        self.since = now.0;
    }

    /// A thread wants the lock; whether it has to wait.
    pub(crate) fn request(&mut self, now: Cycles) -> bool {
        let waits = self.held || self.waiters != 0;
        if waits {
            self.turn(now);
            self.waiters += 1;
            self.totals.contended += 1;
        }
        waits
    }

    /// It has the lock.
    pub(crate) fn acquired(&mut self, now: Cycles, waited: bool) {
        self.turn(now);
        self.waiters -= u64::from(waited);
        self.held = true;
        self.totals.acquisitions += 1;
    }

    /// It gives the lock up.
    pub(crate) fn release(&mut self, now: Cycles) {
        self.turn(now);
        self.held = false;
    }

    pub(crate) fn totals(mut self, end: Cycles) -> Totals {
        self.turn(Cycles(end.0.max(self.since)));
        self.totals
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
