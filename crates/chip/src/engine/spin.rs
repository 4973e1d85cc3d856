//! Waits that watch a line. A thread that spins on a line that its core holds reads the same value
//! over and over until the line is taken away, so its tries need no events. When the line is taken
//! away, or the wait reaches its bound, the tries done since are counted, and the thread continues
//! exactly where it would be if each try had been simulated.

use baton_memory::Line;
use baton_units::CoreId;

/// The number of tries that are complete at `now`, counted from the last change of the core's
/// clock, and the end of the try under way, if there is one.
pub(crate) fn progress(spin: &Spin, now: u64) -> (u64, Option<u64>) {
    if now < spin.first {
        return if now < spin.busy { (0, Some(spin.busy)) } else { (spin.carried(), None) };
    }
    let turn = (now - spin.first) / spin.period;
    let (issued, done) = (spin.first + turn * spin.period, spin.carried() + turn);
    if now < issued + spin.hit { (done, Some(issued + spin.hit)) } else { (done + 1, None) }
}

/// A spinning wait whose tries are not simulated one by one. Try `i` is issued at `first + i * period` and hits
/// `hit` later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spin {
    pub(crate) line: Line,
    /// The core on which the thread tries. The thread may be on another core when it continues.
    pub(crate) core: CoreId,
    pub(crate) first: u64,
    pub(crate) period: u64,
    pub(crate) hit: u64,
    /// The pause between two tries in cycles of the core, from which `period` is computed anew when
    /// the core's clock changes.
    pub(crate) between: u64,
    /// The most tries that remain, and the time (`deadline`) from which on the end of a try ends
    /// the wait.
    pub(crate) most: u64,
    pub(crate) deadline: u64,
    /// The number of tries done before the core's clock changed last, or before the line was lost.
    pub(crate) before: u64,
    /// The end of the try that was under way when the clock changed last; 0 if there was none.
    pub(crate) busy: u64,
    /// The number of tries that will be done when the thread's coroutine continues.
    pub(crate) done: u64,
    /// Whether the last of the `done` tries is a hit whose value the coroutine must read when it
    /// continues. Otherwise the coroutine issues the next try.
    pub(crate) hits: bool,
}

impl Spin {
    /// A pause: the next try is issued at `first`, and no try is counted before.
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

    /// 1 if a try was under way when the core's clock changed last, since that try is counted as
    /// the first after the change; otherwise 0.
    #[inline(always)]
    fn carried(&self) -> u64 {
        u64::from(self.busy != 0)
    }

    /// The time at which the try that follows `done` tries is issued.
    #[inline]
    pub(crate) fn issue(&self, done: u64) -> u64 {
        self.first + (done - self.carried()) * self.period
    }

    /// The number of tries if nothing ends the wait early: all that remain, or those up to the
    /// first that ends at or after the deadline; [`u64::MAX`] if neither bounds the wait.
    pub(crate) fn tries(&self) -> u64 {
        let until_deadline = match self.deadline {
            u64::MAX => u64::MAX,
            deadline if self.busy >= deadline => 1,
            deadline => deadline.saturating_sub(self.first + self.hit).div_ceil(self.period) + 1 + self.carried(),
        };
        self.most.min(until_deadline)
    }

    /// The time at which the last of `tries` tries ends.
    pub(crate) fn last_end(&self, tries: u64) -> u64 {
        match tries - self.carried() {
            0 => self.busy,
            further => (further - 1).saturating_mul(self.period).saturating_add(self.first + self.hit),
        }
    }
}
