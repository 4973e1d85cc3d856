//! One lock's book: who holds it, who waits for it, and what the waiters' time went to.
//!
//! The book is settled at every change: for the stretch since the last one, during which holders and waiters stayed the same. What a
//! waiter lost to sections is added up stretch by stretch; what it lost to overhead is read off the lock's total of free
//! time, which only changes when the lock is taken. The two must add up to the wait (see the module above).

use super::stats::{LockStats, ThreadLockStats};
use crate::clock::Ticks;
use crate::event::{Mode, SiteId, ThreadIndex};

/// A lock's state and figures.
pub(super) struct Ledger {
    holders: Vec<Holder>,
    waiters: Vec<Waiter>,
    /// Since when nobody holds it.
    free_since: Option<Ticks>,
    /// Free time before that.
    free_total: Ticks,
    /// Someone waited when it became free.
    awaited_at_release: bool,
    settled: Ticks,
    pub(super) stats: LockStats,
}

struct Holder {
    thread: ThreadIndex,
    mode: Mode,
    site: SiteId,
    /// Start of the hold, or of the window.
    since: Ticks,
    depth: u32,
}

struct Waiter {
    thread: ThreadIndex,
    site: SiteId,
    /// Start of the wait, or of the window.
    since: Ticks,
    /// The lock's free time at `since`.
    free_before: Ticks,
    sections: Ticks,
    own: Ticks,
}

impl Ledger {
    pub(super) fn new(now: Ticks) -> Ledger {
        Ledger {
            holders: Vec::new(),
            waiters: Vec::new(),
            free_since: Some(now),
            free_total: Ticks(0),
            awaited_at_release: false,
            settled: now,
            stats: LockStats::default(),
        }
    }

    fn free_time(&self, now: Ticks) -> Ticks {
        self.free_total + self.free_since.map_or(Ticks(0), |since| now.since(since))
    }

    /// Accounts for the time since the last change. `counted`: it lies inside the window.
    fn settle(&mut self, now: Ticks, counted: bool) {
        let length = now.since(self.settled);
        self.settled = now;
        if !counted || length == Ticks(0) {
            return;
        }
        if !self.holders.is_empty() {
            self.stats.busy += length;
        } else if !self.waiters.is_empty() {
            self.stats.idle_contended += length;
        }
        if self.waiters.is_empty() {
            return;
        }
        *self.stats.queue.entry(self.waiters.len() as u32).or_default() += length;
        let (holders, stats) = (&self.holders, &mut self.stats);
        for waiter in &mut self.waiters {
            let others = holders.iter().filter(|h| h.thread != waiter.thread).count() as u64;
            if others == 0 {
                if !holders.is_empty() {
                    waiter.own += length;
                }
                continue;
            }
            waiter.sections += length;
            // Readers share the blame evenly; the first ones take the ticks that do not divide.
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

    /// A wait begins.
    pub(super) fn request(&mut self, now: Ticks, thread: ThreadIndex, site: SiteId, counted: bool) {
        self.settle(now, counted);
        if self.waiters.iter().any(|w| w.thread == thread) {
            // Its end was lost.
            self.stats.anomalies.unfinished_waits += 1;
            self.leave(now, thread, counted);
        }
        let free_before = self.free_time(now);
        self.waiters.push(Waiter { thread, site, since: now, free_before, sections: Ticks(0), own: Ticks(0) });
    }

    /// The lock is taken, after a wait or without one. Gives the length of the wait.
    pub(super) fn acquire(
        &mut self,
        now: Ticks,
        thread: ThreadIndex,
        mode: Mode,
        site: Option<SiteId>,
        counted: bool,
    ) -> Option<Ticks> {
        self.settle(now, counted);
        let waited = self.leave(now, thread, counted);
        let site = site.or(waited.map(|w| w.1)).unwrap_or(SiteId::UNKNOWN);
        if let Some(holder) = self.holders.iter_mut().find(|h| h.thread == thread) {
            holder.depth += 1;
            self.stats.recursive += u64::from(counted);
            return waited.map(|w| w.0);
        }
        let excludes = |h: &Holder| mode == Mode::Exclusive || h.mode == Mode::Exclusive;
        if self.holders.iter().any(excludes) {
            self.stats.anomalies.overlaps += 1;
            for holder in std::mem::take(&mut self.holders) {
                self.end_hold(now, &holder, counted);
            }
        }
        if let Some(since) = self.free_since.take() {
            self.free_total += now.since(since);
            if self.awaited_at_release && counted {
                self.stats.handoff.add(now.since(since));
            }
        }
        self.holders.push(Holder { thread, mode, site, since: now, depth: 1 });
        if counted {
            let contended = u64::from(waited.is_some());
            self.stats.acquisitions += 1;
            self.stats.contended += contended;
            self.stats.shared += u64::from(mode == Mode::Shared);
            self.stats.barged += u64::from(waited.is_none() && !self.waiters.is_empty());
            let by_site = self.stats.sites.entry(site).or_default();
            by_site.acquisitions += 1;
            by_site.contended += contended;
            let by_thread = self.stats.threads.entry(thread).or_default();
            by_thread.acquisitions += 1;
            by_thread.contended += contended;
        }
        waited.map(|w| w.0)
    }

    /// A wait ended without the lock, or was never seen to end.
    pub(super) fn give_up(&mut self, now: Ticks, thread: ThreadIndex, counted: bool) -> bool {
        self.settle(now, counted);
        self.leave(now, thread, counted).is_some()
    }

    /// The lock is given up.
    pub(super) fn release(&mut self, now: Ticks, thread: ThreadIndex, counted: bool) {
        self.settle(now, counted);
        let at = match self.holders.iter().position(|h| h.thread == thread) {
            Some(at) => at,
            None => {
                let anomalies = &mut self.stats.anomalies;
                match self.holders.as_slice() {
                    [only] if only.mode == Mode::Exclusive => anomalies.foreign_releases += 1,
                    _ => {
                        anomalies.unmatched_releases += 1;
                        return;
                    }
                }
                0
            }
        };
        self.holders[at].depth -= 1;
        if self.holders[at].depth > 0 {
            return;
        }
        // In order, so that the rest of a shared blame falls to the eldest.
        let holder = self.holders.remove(at);
        self.end_hold(now, &holder, counted);
        if self.holders.is_empty() {
            self.free_since = Some(now);
            self.awaited_at_release = !self.waiters.is_empty();
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

    /// Takes a waiter out and charges its wait. Gives its length (inside the window) and its call site.
    fn leave(&mut self, now: Ticks, thread: ThreadIndex, counted: bool) -> Option<(Ticks, SiteId)> {
        let at = self.waiters.iter().position(|w| w.thread == thread)?;
        let waiter = self.waiters.remove(at);
        let length = now.since(waiter.since);
        if counted {
            self.charge_wait(now, &waiter);
            self.stats.wait.add(length);
        }
        Some((length, waiter.site))
    }

    fn charge_wait(&mut self, now: Ticks, waiter: &Waiter) {
        let blocked = now.since(waiter.since);
        let overhead = self.free_time(now).since(waiter.free_before);
        let stats = &mut self.stats;
        stats.blocked += blocked;
        stats.sections += waiter.sections;
        stats.overhead += overhead;
        stats.own += waiter.own;
        let by_site = stats.sites.entry(waiter.site).or_default();
        by_site.blocked += blocked;
        by_site.sections += waiter.sections;
        by_site.overhead += overhead;
        let longest_wait = blocked;
        let part = ThreadLockStats { blocked, sections: waiter.sections, overhead, longest_wait, ..Default::default() };
        stats.threads.entry(waiter.thread).or_default().merge(&part);
    }

    /// The window opens: what goes on counts from here.
    pub(super) fn open_window(&mut self, now: Ticks) {
        self.settle(now, false);
        let free_before = self.free_time(now);
        for waiter in &mut self.waiters {
            *waiter = Waiter { since: now, free_before, sections: Ticks(0), own: Ticks(0), ..*waiter };
        }
        for holder in &mut self.holders {
            holder.since = now;
        }
        if self.free_since.is_some() {
            // A hand-off that began outside is not counted: its length inside would be too short.
            self.awaited_at_release = false;
        }
    }

    /// The window closes: what goes on counts up to here, and not as a wait or hold that ended.
    pub(super) fn close_window(&mut self, now: Ticks) {
        self.settle(now, true);
        for waiter in std::mem::take(&mut self.waiters) {
            self.charge_wait(now, &waiter);
            self.waiters.push(waiter);
        }
        for at in 0..self.holders.len() {
            let Holder { thread, site, since, .. } = self.holders[at];
            self.charge_hold(now, thread, site, since);
        }
    }

    /// Waits that have not ended.
    pub(super) fn waiting(&self) -> usize {
        self.waiters.len()
    }
}
