//! Lets the thread that ran a team's last single with copyprivate run the next one, too, where copies
//! take long.
//!
//! The others copy what that thread hands out. If another thread runs the next single, each of the
//! two must fetch the lines of its own array that the other one has, and copies take many times as
//! long. Without a preference the threads take turns: a thread that copies arrives last at the barrier
//! behind the copies, and leaves that barrier before the threads that wait there.
//!
//! The thread that ran the last single is the last copier. Each other thread gives the last copier a
//! moment to come first, and goes on without it. If the last copier comes too late several times, the
//! others give it more time each time, since it may have slept; then they give up, and try anew many
//! singles later. Where copies are short, such moments take longer than the copies: at every eighth single a
//! clock says whether they are.
//!
//! Clang's code does not say before the block whether copies follow, but both of its calls pass the
//! address of the same description of the source line: the site.
//!
//! All words are hints: they hand nothing over, and every access is relaxed.

use baton_machine::Ordering::Relaxed;
use baton_machine::{Atomic, Clock, Machine, Wait};

/// How often a thread looks at first whether the last copier has come: some 900 ns. A waiting thread
/// sees within some 400 ns that a barrier is over.
const LOOKS: u32 = 32;
/// The number of singles that the last copier loses one after another until it gets no time any more.
/// It gets 0.9, 3.5, 14 and 56 us: the last is enough to wake a thread that sleeps.
const PATIENCE: u32 = 4;
/// The number of lost singles after which it is tried anew.
const ANEW: u32 = 64;
/// The time from when an address is handed out to the next single, in nanoseconds, from which on the
/// last copier gets time.
const LONG_NS: u64 = 4000;
/// The time below which it gets no time any more: copies in one direction take a fraction of copies by
/// turns.
const SHORT_NS: u64 = 1000;
/// The time is measured at each single whose number is a multiple of this.
const EVERY: u32 = 8;

/// The thread that ran a team's last single with copyprivate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Last {
    /// The thread's number and 1; 0: copies are short, or no thread has run a single since they were.
    thread: u32,
    /// The number of singles that the last copiers have lost to other threads in spite of their time.
    lost: u32,
    /// Whether copies take long.
    long: bool,
}

impl Last {
    fn from(word: u64) -> Self {
        Last { thread: word as u32, lost: (word >> 32) as u32 & 0xff, long: word >> 63 != 0 }
    }

    fn word(self) -> u64 {
        u64::from(self.thread) | u64::from(self.lost) << 32 | u64::from(self.long) << 63
    }

    /// How often thread `id` looks for the copier.
    fn looks(self, id: u32) -> u32 {
        let waits = self.thread != 0 && self.thread != id + 1 && self.lost < PATIENCE;
        if waits { LOOKS << (2 * self.lost) } else { 0 }
    }

    /// What is known when thread `id` runs a single.
    fn after(self, id: u32) -> Self {
        if !self.long {
            return self;
        }
        let in_time = self.lost < PATIENCE && (self.thread == id + 1 || self.thread == 0);
        let lost = if in_time { 0 } else { (self.lost + 1) % ANEW };
        Last { thread: id + 1, lost, long: true }
    }

    /// What is known when copies took `time` nanoseconds.
    fn timed(self, time: u64) -> Self {
        if self.long && time >= SHORT_NS { self } else { Last { long: time >= LONG_NS, ..Last::default() } }
    }
}

/// What a team's threads know of its singles with copyprivate.
pub(crate) struct Copier<M: Machine> {
    last: M::Atomic<u64>,
    /// When an address was handed out, in nanoseconds; 0: the time is not measured.
    since: M::Atomic<u64>,
    /// The site of the last single with copyprivate; 0: there was none, or none with a site.
    site: M::Atomic<usize>,
}

impl<M: Machine> Copier<M> {
    pub(crate) fn new() -> Self {
        Copier { last: M::Atomic::new(0), since: M::Atomic::new(0), site: M::Atomic::new(0) }
    }

    /// Called by thread `id` when it comes to a single. Waits a moment for the last copier while
    /// `is_free` says that no thread has come to the single, if `wait`, the team's policy at
    /// barriers, makes threads spin.
    #[inline]
    pub(crate) fn let_first(&self, id: u32, wait: Wait, is_free: impl Fn() -> bool) {
        let since = self.since.load(Relaxed);
        if since != 0 {
            self.ends(since);
        }
        // Where a thread offers its CPU or sleeps at once, the last copier may need that CPU.
        if matches!(wait, Wait::YieldPark(_) | Wait::Futex) {
            return;
        }
        for _ in 0..Last::from(self.last.load(Relaxed)).looks(id) {
            if !is_free() {
                return;
            }
            M::relax();
        }
    }

    /// Called by thread `id` when it runs a single.
    #[inline]
    pub(crate) fn runs(&self, id: u32) {
        self.change(|last| last.after(id));
    }

    /// Does what [`runs`](Copier::runs) does, for a single at `site`.
    #[inline]
    pub(crate) fn runs_at(&self, id: u32, site: usize) {
        if !self.was_at(site) {
            self.site.store(site, Relaxed);
        }
        self.runs(id);
    }

    /// Whether the last single with copyprivate was at `site`.
    #[inline]
    pub(crate) fn was_at(&self, site: usize) -> bool {
        self.site.load(Relaxed) == site
    }

    /// Called by a thread that has an address handed out in work-share `number`.
    #[inline]
    pub(crate) fn handed_out(&self, number: u32) {
        if number.is_multiple_of(EVERY) {
            self.begins();
        }
    }

    #[cold]
    #[inline(never)]
    fn begins(&self) {
        self.since.store(M::now(Clock::Monotonic).0, Relaxed);
    }

    #[cold]
    #[inline(never)]
    fn ends(&self, since: u64) {
        let time = M::now(Clock::Monotonic).0.saturating_sub(since);
        self.since.store(0, Relaxed);
        self.change(|last| last.timed(time));
    }

    /// A store takes the line from the threads that look, so there is none without a change. A change
    /// that another thread makes meanwhile may be lost.
    #[inline]
    fn change(&self, change: impl FnOnce(Last) -> Last) {
        let last = Last::from(self.last.load(Relaxed));
        let now = change(last);
        if now != last {
            self.last.store(now.word(), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Native;
    use core::cell::Cell;

    const LONG: Last = Last { thread: 1, lost: 0, long: true };

    #[test]
    fn a_word_holds_what_is_known() {
        for last in [Last::default(), LONG, Last { thread: u32::MAX, lost: ANEW - 1, long: false }] {
            assert_eq!(Last::from(last.word()), last);
        }
    }

    #[test]
    fn a_copier_that_loses_gets_more_time_and_then_none() {
        let mut last = LONG;
        let mut looks = Vec::new();
        // Two threads run singles by turns.
        for single in 0..=ANEW {
            looks.push(last.looks(1 + single % 2));
            assert_eq!(last.looks(last.thread - 1), 0, "a thread does not wait for itself");
            last = last.after(1 + single % 2);
        }
        assert_eq!(looks[..6], [32, 128, 512, 2048, 0, 0]);
        assert_eq!(looks[ANEW as usize - 1..], [0, 32], "it is tried anew");
        // A copier that comes in time gets as little time as at first.
        let late = LONG.after(1).after(0);
        assert_eq!((late.lost, late.after(0).lost), (2, 0));
    }

    #[test]
    fn a_copier_gets_time_where_copies_are_long() {
        let short = Last::default().timed(LONG_NS - 1);
        assert_eq!((short, short.after(3)), (Last::default(), short), "nothing is written");
        let long = short.timed(LONG_NS);
        assert_eq!(long.looks(4), 0, "there is no copier yet");
        let long = long.after(3);
        assert_eq!((long.looks(3), long.looks(4)), (0, LOOKS));
        assert_eq!(long.timed(SHORT_NS), long);
        assert_eq!(long.timed(SHORT_NS - 1), short);
    }

    /// How often thread 1 looks for a copier that does not come.
    fn looks(copier: &Copier<Native>, wait: Wait) -> u32 {
        let looks = Cell::new(0);
        copier.let_first(1, wait, || looks.replace(looks.get() + 1) < 100);
        looks.get()
    }

    #[test]
    fn a_thread_goes_on_without_the_copier() {
        let copier = Copier::<Native>::new();
        assert_eq!(looks(&copier, Wait::Pause), 0, "there is none");
        copier.last.store(LONG.word(), Relaxed);
        assert_eq!(looks(&copier, Wait::Pause), LOOKS);
        assert_eq!(looks(&copier, Wait::Futex), 0);
        assert_eq!(looks(&copier, Wait::YieldPark(20)), 0);
        copier.last.store(Last { lost: 3, ..LONG }.word(), Relaxed);
        assert_eq!(looks(&copier, Wait::Pause), 101, "another thread came to the single");
    }

    #[test]
    fn copies_are_timed_at_each_eighth_single() {
        let copier = Copier::<Native>::new();
        copier.handed_out(7);
        assert_eq!(copier.since.load(Relaxed), 0);
        copier.handed_out(8);
        assert_ne!(copier.since.load(Relaxed), 0);
        // A time long ago.
        copier.since.store(1, Relaxed);
        assert_eq!(looks(&copier, Wait::Pause), 0);
        assert_eq!(copier.since.load(Relaxed), 0);
        copier.runs(0);
        assert_eq!(looks(&copier, Wait::Pause), LOOKS);
    }
}
