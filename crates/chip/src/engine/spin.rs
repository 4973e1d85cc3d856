//! Waits that watch a line. A thread that spins on a line that its core holds reads the same value
//! again and again until the line is taken away, so its tries need no events. When the line is
//! lost, or when the wait is bounded, the tries that fitted in are counted, and the thread resumes
//! exactly where it would have been.

use baton_memory::Line;
use baton_units::CoreId;

/// The number of tries that are complete at `now`, counted from the last change of the clock, and
/// the end of the hit in flight, if any.
pub(crate) fn progress(spin: &Spin, now: u64) -> (u64, Option<u64>) {
    if now < spin.first {
        return if now < spin.busy { (0, Some(spin.busy)) } else { (spin.carried(), None) };
    }
    let turn = (now - spin.first) / spin.period;
    let (issued, done) = (spin.first + turn * spin.period, spin.carried() + turn);
    if now < issued + spin.hit { (done, Some(issued + spin.hit)) } else { (done + 1, None) }
}

/// A spinning wait whose tries are not simulated one by one. Try `i` is issued at `first + i *
/// period`, and hits `hit` cycles later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spin {
    pub(crate) line: Line,
    /// The core that tries. The thread may have another core when it resumes.
    pub(crate) core: CoreId,
    pub(crate) first: u64,
    pub(crate) period: u64,
    pub(crate) hit: u64,
    /// The time between two tries, in cycles of the core, for changes of its clock.
    pub(crate) between: u64,
    /// The most tries from here on, and the moment when they must end.
    pub(crate) most: u64,
    pub(crate) deadline: u64,
    /// The number of tries before the last change of the clock.
    pub(crate) before: u64,
    /// The end of a try that was under way at that change; 0 if none was.
    pub(crate) busy: u64,
    /// The number of tries when the coroutine resumes.
    pub(crate) done: u64,
    /// Whether the last of these tries is a hit whose value is to be read now. Otherwise the next
    /// try is to be issued now.
    pub(crate) hits: bool,
}

impl Spin {
    /// A pause: no try is issued before `first`.
    pub(crate) fn pause(core: CoreId, first: u64) -> Spin {
        Spin {
            line: Line(0),
            core,
            first,
            period: u64::MAX,
            hit: 0,
            between: 0,
            most: u64::MAX,
            deadline: u64::MAX,
            before: 0,
            busy: 0,
            done: 0,
            hits: false,
        }
    }

    /// One if a try was under way at the last change of the clock; it counts as the first try after
    /// that.
    #[inline(always)]
    fn carried(&self) -> u64 {
        u64::from(self.busy != 0)
    }

    /// The moment at which the next try after `done` tries is issued.
    #[inline]
    pub(crate) fn issue(&self, done: u64) -> u64 {
        self.first + (done - self.carried()) * self.period
    }

    /// The number of tries if nothing intervenes: the tries that are left, or up to the first that
    /// ends at or after the deadline. [`u64::MAX`] if there is no end.
    pub(crate) fn tries(&self) -> u64 {
        let until_deadline = match self.deadline {
            u64::MAX => u64::MAX,
            deadline if self.busy >= deadline => 1,
            deadline => deadline.saturating_sub(self.first + self.hit).div_ceil(self.period) + 1 + self.carried(),
        };
        self.most.min(until_deadline)
    }

    /// The end of the last of `tries` tries.
    pub(crate) fn last_end(&self, tries: u64) -> u64 {
        match tries - self.carried() {
            0 => self.busy,
            further => (further - 1).saturating_mul(self.period).saturating_add(self.first + self.hit),
        }
    }
}
