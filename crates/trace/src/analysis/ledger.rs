//! The ledger of one lock: its account, and what the waiters' time was spent on.
//!
//! The ledger is settled at every change, for the interval since the last change, in which the
//! holders and waiters stayed the same. A waiter's time lost to sections is summed interval by
//! interval; its overhead comes from the account, which computes it from the lock's total free
//! time. The two must add up to the wait (see [`super`]).

use super::account::{Account, Holder, Waiter};
use super::starved::Passed;
use super::stats::{LockStats, ThreadLockStats};
use crate::clock::Ticks;
use crate::event::{Mode, SiteId, ThreadIndex};

/// State and figures of a lock.
pub(super) struct Ledger {
    account: Account<Lost>,
    /// Whether a thread was waiting for the lock when it last became free.
    awaited_at_release: bool,
    settled: Ticks,
    /// Whether other processes may take the lock, too: a process-shared mutex.
    pub(super) is_shared: bool,
    pub(super) stats: LockStats,
}

/// What a wait has cost so far, summed over the intervals between changes.
#[derive(Clone, Copy, Default)]
struct Lost {
    /// Time in which other threads held the lock.
    sections: Ticks,
    /// Time in which only the waiter itself held the lock.
    own: Ticks,
    passed: Passed,
}

impl Ledger {
    pub(super) fn new(now: Ticks) -> Ledger {
        let (account, stats) = (Account::new(now), LockStats::default());
        Ledger { account, awaited_at_release: false, settled: now, is_shared: false, stats }
    }

    /// Accounts for the time since the last change. `counted` says whether that time lies inside
    /// the window.
    fn settle(&mut self, now: Ticks, counted: bool) {
        let length = now.since(self.settled);
        self.settled = now;
        if !counted || length == Ticks(0) {
            return;
        }
        let ((holders, waiters), stats) = (self.account.parties(), &mut self.stats);
        if !holders.is_empty() {
            stats.busy += length;
        } else if !waiters.is_empty() {
            stats.idle_contended += length;
        }
        if waiters.is_empty() {
            return;
        }
        *stats.queue.entry(waiters.len() as u32).or_default() += length;
        for waiter in waiters {
            let others = holders.iter().filter(|h| h.thread != waiter.thread).count() as u64;
            if others == 0 {
                if !holders.is_empty() {
                    waiter.noted.own += length;
                }
                continue;
            }
            waiter.noted.sections += length;
            // Readers that hold the lock together share the blame evenly. Ticks that cannot be
            // divided go to those that took the lock first, one each.
            let (each, mut rest) = (length.0 / others, length.0 % others);
            for holder in holders.iter().filter(|h| h.thread != waiter.thread) {
                let part = Ticks(each + u64::from(rest > 0));
                rest = rest.saturating_sub(1);
                stats.sites.entry(holder.site).or_default().blame += part;
                stats.threads.entry(holder.thread).or_default().blame += part;
                *stats.waited_for.entry((waiter.thread, holder.thread)).or_default() += part;
            }
        }
    }

    /// Records that a wait begins.
    pub(super) fn request(&mut self, now: Ticks, thread: ThreadIndex, mode: Mode, site: SiteId, counted: bool) {
        self.settle(now, counted);
        if let Some(unfinished) = self.account.request(now, thread, site) {
            self.stats.anomalies.unfinished_waits += 1;
            self.end_wait(now, &unfinished, counted);
        }
        if let Some(waiter) = self.account.parties().1.last_mut() {
            waiter.noted.passed = Passed::new(mode);
        }
    }

    /// Records that the lock is taken. Returns the length of the wait, if there was one.
    pub(super) fn acquire(
        &mut self,
        now: Ticks,
        thread: ThreadIndex,
        mode: Mode,
        site: Option<SiteId>,
        counted: bool,
    ) -> Option<Ticks> {
        self.settle(now, counted);
        let taken = self.account.acquire(now, thread, mode, site);
        let came = taken.waited.as_ref().map_or(now, |waiter| waiter.since);
        for waiter in self.account.parties().1.iter_mut().filter(|waiter| waiter.since < came) {
            waiter.noted.passed.passed(now, mode);
        }
        let waited = taken.waited.map(|waiter| self.end_wait(now, &waiter, counted));
        if taken.recursive {
            self.stats.recursive += u64::from(counted);
            return waited;
        }
        self.stats.anomalies.overlaps += u64::from(!taken.lost.is_empty());
        for holder in &taken.lost {
            self.end_hold(now, holder, counted);
        }
        if !counted {
            return waited;
        }
        if let Some(since) = taken.free_since.filter(|_| self.awaited_at_release) {
            self.stats.handoff.add(now.since(since));
        }
        let contended = u64::from(waited.is_some());
        self.stats.acquisitions += 1;
        self.stats.contended += contended;
        self.stats.shared += u64::from(mode == Mode::Shared);
        self.stats.barged += u64::from(waited.is_none() && !self.account.waiters().is_empty());
        let by_site = self.stats.sites.entry(taken.site).or_default();
        by_site.acquisitions += 1;
        by_site.contended += contended;
        let by_thread = self.stats.threads.entry(thread).or_default();
        by_thread.acquisitions += 1;
        by_thread.contended += contended;
        waited
    }

    /// Ends a wait that did not get the lock, or whose end was never recorded. Returns false if the
    /// thread was not waiting.
    pub(super) fn give_up(&mut self, now: Ticks, thread: ThreadIndex, counted: bool) -> bool {
        self.settle(now, counted);
        let waiter = self.account.leave(thread);
        waiter.is_some_and(|waiter| {
            self.end_wait(now, &waiter, counted);
            true
        })
    }

    /// Records that the lock is released.
    pub(super) fn release(&mut self, now: Ticks, thread: ThreadIndex, counted: bool) {
        self.settle(now, counted);
        let Some(released) = self.account.release(now, thread) else {
            self.stats.anomalies.unmatched_releases += 1;
            return;
        };
        self.stats.anomalies.foreign_releases += u64::from(released.foreign);
        if let Some(holder) = released.hold {
            self.end_hold(now, &holder, counted);
        }
        if released.free {
            self.awaited_at_release = !self.account.waiters().is_empty();
        }
    }

    fn end_hold(&mut self, now: Ticks, holder: &Holder, counted: bool) {
        if counted {
            self.stats.hold.add(now.since(holder.since));
            self.charge_hold(now, holder.thread, holder.site, holder.since);
        }
    }

    fn charge_hold(&mut self, now: Ticks, thread: ThreadIndex, site: SiteId, since: Ticks) {
        self.stats.sites.entry(site).or_default().held += now.since(since);
        self.stats.threads.entry(thread).or_default().held += now.since(since);
    }

    /// Charges a wait that has ended to the lock, its call site and its thread. Returns the wait's
    /// length inside the window.
    fn end_wait(&mut self, now: Ticks, waiter: &Waiter<Lost>, counted: bool) -> Ticks {
        let length = now.since(waiter.since);
        if counted {
            self.charge_wait(now, waiter);
            self.stats.wait.add(length);
        }
        length
    }

    fn charge_wait(&mut self, now: Ticks, waiter: &Waiter<Lost>) {
        let blocked = now.since(waiter.since);
        let overhead = self.account.overhead(now, waiter);
        let Lost { sections, own, passed } = waiter.noted;
        let stats = &mut self.stats;
        stats.starved.add(now, &passed);
        stats.blocked += blocked;
        stats.sections += sections;
        stats.overhead += overhead;
        stats.own += own;
        let by_site = stats.sites.entry(waiter.site).or_default();
        by_site.blocked += blocked;
        by_site.sections += sections;
        by_site.overhead += overhead;
        let longest_wait = blocked;
        let part = ThreadLockStats { blocked, sections, overhead, longest_wait, ..Default::default() };
        stats.threads.entry(waiter.thread).or_default().merge(&part);
    }

    /// Opens the window: holds and waits in progress count as if they had begun at `now`.
    pub(super) fn open_window(&mut self, now: Ticks) {
        self.settle(now, false);
        self.account.restart(now);
        if self.account.holders().is_empty() {
            // Does not count a hand-off that began before the window opened, because its part
            // inside the window would be too short.
            self.awaited_at_release = false;
        }
    }

    /// Closes the window: holds and waits in progress are charged up to `now`, but not counted as
    /// ended ones.
    pub(super) fn close_window(&mut self, now: Ticks) {
        self.settle(now, true);
        for waiter in self.account.waiters().to_vec() {
            self.charge_wait(now, &waiter);
        }
        for Holder { thread, site, since, .. } in self.account.holders().to_vec() {
            self.charge_hold(now, thread, site, since);
        }
    }

    /// Whether the lock is free and a thread waits for it. If other processes may hold the lock, it
    /// never counts as free.
    pub(super) fn is_free_while_wanted(&self) -> bool {
        !self.is_shared && self.account.holders().is_empty() && !self.account.waiters().is_empty()
    }

    /// Number of waits in progress.
    pub(super) fn waiting(&self) -> usize {
        self.account.waiters().len()
    }
}
