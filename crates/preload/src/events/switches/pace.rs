//! What the kernel does for the recording each time that a thread leaves its CPU and comes back, and how
//! a thread that does so often is spared it.
//!
//! Measured with two threads that take turns on one CPU of a virtual machine (Linux 6.18): a turn takes
//! 2.4 us; the record of the switch adds 1.2 us, the two breakpoints at glibc's locks 1.2 us, a timer that
//! samples the thread each millisecond 9 us, one that samples it each 10 ms 1.7 us. So a thread that
//! leaves its CPU often
//!
//! - is sampled less often (`samples`);
//! - has breakpoints only in one of [`WITHOUT`] + 1 turns, as long as it does not wait for a lock of
//!   glibc's in that turn. A turn goes from one emptying of the rings to the next. If such waits begin in
//!   a turn without breakpoints, the trace shows the thread blocked there, without a reason.

use super::super::libc_locks;
use super::super::perf;
use super::{WAIT_PAGES, WAKE_PAGES};
use crate::base::errno;
use crate::thread::Ring;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A thread that leaves its CPU more than once in this many nanoseconds leaves it often.
const OFTEN_NS: u64 = 2_000_000;
/// A thread is judged once it has left its CPU this many times, or after this many nanoseconds.
const ENOUGH: u64 = 16;
const LONG_NS: u64 = ENOUGH * OFTEN_NS;

/// The number of turns that a thread spends without breakpoints before it has them again.
const WITHOUT: u32 = 8;
/// The number of turns for which a thread keeps its breakpoints after a wait for a lock of glibc's.
const AFTER_WAIT: u32 = 64;

/// Threads are short-lived if those that have ended, at least [`ENDED_ENOUGH`], lived for less than this many
/// nanoseconds in the mean.
const SHORT_NS: u64 = 10_000_000;
const ENDED_ENOUGH: u64 = 32;

/// How many threads with rings have ended, and how long they lived together, in nanoseconds.
static ENDED: AtomicU64 = AtomicU64::new(0);
static LIVED: AtomicU64 = AtomicU64::new(0);

/// Whether the program's threads are short-lived. Breakpoints and samples take 95 us of a thread's beginning and end
/// (measured as above; a thread without a recording takes 32 us in all), so a new thread of such a program gets them
/// the first time that its rings are emptied.
pub(super) fn threads_are_short_lived() -> bool {
    are_short_lived(ENDED.load(Relaxed), LIVED.load(Relaxed))
}

fn are_short_lived(ended: u64, lived: u64) -> bool {
    ended >= ENDED_ENOUGH && lived < ended * SHORT_NS
}

impl Ring {
    /// Begins to judge the thread. `entitled`: whether it may have breakpoints.
    pub(super) fn begin_pace(&self, now_ns: u64, entitled: bool) {
        self.pace.opened.store(now_ns, Relaxed);
        self.pace.left.store(0, Relaxed);
        self.pace.since.store(now_ns, Relaxed);
        self.pace.often.store(false, Relaxed);
        self.pace.entitled.store(entitled, Relaxed);
        self.pace.turn.store(1, Relaxed);
    }

    /// Counts the thread's life.
    pub(super) fn end_pace(&self) {
        LIVED.fetch_add(super::moment().1.saturating_sub(self.pace.opened.load(Relaxed)), Relaxed);
        ENDED.fetch_add(1, Relaxed);
    }

    /// Ends a turn, in which the thread left its CPU `left` times. `waited`: whether it waited for a lock of
    /// glibc's.
    pub(super) fn keep_pace(&self, left: u64, now_ns: u64, waited: bool) {
        let pace = &self.pace;
        let left = pace.left.load(Relaxed) + left;
        let elapsed = now_ns.saturating_sub(pace.since.load(Relaxed));
        pace.left.store(left, Relaxed);
        if let Some(often) = is_often(left, elapsed) {
            pace.left.store(0, Relaxed);
            pace.since.store(now_ns, Relaxed);
            if pace.often.swap(often, Relaxed) != often && self.samples.load(Relaxed) != 0 {
                self.end_samples();
                self.sample();
            }
        }
        if !pace.entitled.load(Relaxed) {
            return;
        }
        if !self.has_asked_for_samples() {
            self.sample();
        }
        let has = self.waits.load(Relaxed) != 0;
        let (wants, turns) = next(has, pace.turn.load(Relaxed), pace.often.load(Relaxed), waited);
        pace.turn.store(turns, Relaxed);
        match (has, wants) {
            (false, true) => self.give_breakpoints(),
            (true, false) => self.take_breakpoints(),
            _ => {}
        }
    }

    /// Asks the kernel for breakpoints at glibc's locks, and maps the rings of waits and of wakes there.
    #[cold]
    pub(super) fn give_breakpoints(&self) {
        if !libc_locks::is_on() {
            return;
        }
        errno::kept(|| match perf::map(&libc_locks::waits(), WAIT_PAGES) {
            Ok(at) => {
                self.waits.store(at, Relaxed);
                self.wakes.store(perf::map(&libc_locks::wakes(), WAKE_PAGES).unwrap_or(0), Relaxed);
            }
            // 0: there is no locked memory left for a ring. ENOSPC and EBUSY: a debugger has the debug
            // registers, perhaps of this thread alone. EMFILE: too many files are open.
            Err(0 | libc::ENOSPC | libc::EBUSY | libc::EMFILE) => {}
            Err(_) => libc_locks::refuse(),
        });
    }

    /// Gives the breakpoints back to the kernel. The records of their rings have been read, or are lost.
    pub(super) fn take_breakpoints(&self) {
        for (ring, pages) in [(&self.waits, WAIT_PAGES), (&self.wakes, WAKE_PAGES)] {
            let at = ring.swap(0, Relaxed);
            if at != 0 {
                // SAFETY: `give_breakpoints` mapped the ring; its only reader is this thread.
                unsafe { perf::unmap(at, pages) };
            }
        }
    }
}

/// Whether a thread that left its CPU `left` times in `elapsed` nanoseconds leaves it often; `None` if it is
/// too early to say.
fn is_often(left: u64, elapsed: u64) -> Option<bool> {
    (left >= ENOUGH || elapsed >= LONG_NS).then(|| left * OFTEN_NS > elapsed)
}

/// Whether a thread has breakpoints in its next turn, and for how many turns it stays as it is then. `has`:
/// whether the thread has breakpoints now; `turns`: for how many turns, this one included, it was to
/// stay so.
fn next(has: bool, turns: u32, often: bool, waited: bool) -> (bool, u32) {
    let left = turns.saturating_sub(1);
    match has {
        true if waited => (true, AFTER_WAIT),
        true if !often => (true, left.max(1)),
        true if left == 0 => (false, WITHOUT),
        false if !often || left == 0 => (true, 1),
        has => (has, left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_leaves_its_cpu_often_above_a_rate() {
        assert_eq!(is_often(ENOUGH - 1, LONG_NS - 1), None);
        assert_eq!(is_often(ENOUGH, LONG_NS - 1), Some(true));
        assert_eq!(is_often(ENOUGH, LONG_NS), Some(false));
        assert_eq!(is_often(0, LONG_NS), Some(false));
    }

    #[test]
    fn threads_are_short_lived_by_their_mean() {
        assert!(!are_short_lived(ENDED_ENOUGH - 1, 0));
        assert!(are_short_lived(ENDED_ENOUGH, ENDED_ENOUGH * SHORT_NS - 1));
        assert!(!are_short_lived(ENDED_ENOUGH, ENDED_ENOUGH * SHORT_NS));
    }

    /// Returns in which of `turns` turns a thread has breakpoints. It waits for a lock of glibc's in the turns
    /// that `waits` names, if it has breakpoints to see it, and leaves its CPU often in those that `often`
    /// names.
    fn with_breakpoints(turns: u32, often: impl Fn(u32) -> bool, waits: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut now = (true, 1);
        let mut had = Vec::new();
        for turn in 0..turns {
            if now.0 {
                had.push(turn);
            }
            now = next(now.0, now.1, often(turn), now.0 && waits(turn));
        }
        had
    }

    #[test]
    fn breakpoints_are_taken_away_and_come_back() {
        let never = |_| false;
        // A thread that seldom leaves its CPU keeps its breakpoints.
        assert_eq!(with_breakpoints(20, never, never).len(), 20);
        // A thread that leaves its CPU often has them in one turn of nine.
        assert_eq!(with_breakpoints(20, |_| true, never), [0, 9, 18]);
        // It has them back at once when it leaves its CPU seldom again.
        assert_eq!(with_breakpoints(6, |turn| turn < 3, never), [0, 4, 5]);
    }

    #[test]
    fn a_thread_that_waits_for_locks_of_glibc_keeps_its_breakpoints() {
        let had = with_breakpoints(200, |_| true, |turn| (9..100).contains(&turn));
        let kept: Vec<u32> = (9..=99 + AFTER_WAIT).collect();
        assert_eq!(had[0], 0);
        assert_eq!(had[1..=kept.len()], kept);
        assert_eq!(had[1 + kept.len()], 99 + AFTER_WAIT + WITHOUT + 1);
    }
}
