//! Checks times against one another, so that one damaged byte does not turn a run of milliseconds
//! into one of years.

use super::scan::records;
use crate::clock::{Moment, Source};
use crate::event::What;
use crate::record::definition;

/// The frequencies that a clock can plausibly have: a kilohertz to a hundred gigahertz.
pub(crate) const FREQUENCIES: std::ops::RangeInclusive<u64> = 1_000..=100_000_000_000;

/// Whether two moments are about as far apart in ticks as `frequency` makes of their distance in
/// nanoseconds. The frequency was measured over half a millisecond, perhaps on a busy machine, so a
/// difference of a quarter plus a millisecond is accepted.
pub(crate) fn agree(source: Source, frequency: u64, start: Moment, later: Moment) -> bool {
    let (Some(ticks), Some(ns)) =
        (later.ticks.checked_sub(start.ticks), later.monotonic_ns.checked_sub(start.monotonic_ns))
    else {
        return false;
    };
    let frequency = if source == Source::Monotonic { 1_000_000_000 } else { frequency };
    let expected = u128::from(ns) * u128::from(frequency) / 1_000_000_000;
    expected.abs_diff(u128::from(ticks)) <= expected / 4 + u128::from(frequency) / 1000
}

/// What is known about the times in segments that no checksum covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubt {
    /// Raw ticks by which the run had ended; `u64::MAX` if unknown.
    pub(crate) end: u64,
    /// By how many ticks a record's time may lie before an earlier record's, as when a signal
    /// handler wrote it.
    pub(crate) slack: u64,
}

impl Doubt {
    /// Returns the indices of records with an impossible time, ascending. The time of a record is
    /// impossible if it lies more than `slack` after those of both following records (of the only
    /// one, if one follows); the last record's, if it lies so far after both the previous record's
    /// time and the end. Times within a segment hardly go back, and one of the two following
    /// records may itself be damaged. Events that the kernel reported are not judged.
    pub(crate) fn impossible(&self, bytes: &[u8], base: u64) -> Vec<usize> {
        let times: Vec<(usize, u64)> = records(bytes, base)
            .enumerate()
            .filter_map(|(place, (ticks, raw, _))| {
                let what = What::decode(raw.filter(|raw| raw.code != definition::BYTES)?)?;
                (!what.is_reported()).then_some((place, ticks))
            })
            .collect();
        let beyond = |ticks: u64, limit: u64| ticks > limit.saturating_add(self.slack);
        let is_impossible = |at: usize| match (&times[at + 1..], at.checked_sub(1)) {
            ([], None) => beyond(times[at].1, self.end),
            ([], Some(before)) => beyond(times[at].1, self.end.max(times[before].1)),
            ([next], _) => beyond(times[at].1, next.1),
            ([next, after, ..], _) => beyond(times[at].1, next.1.max(after.1)),
        };
        (0..times.len()).filter(|&at| is_impossible(at)).map(|at| times[at].0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_the_clock_cannot_have_reached_does_not_agree() {
        let moment = |ticks, monotonic_ns| Moment { ticks, monotonic_ns };
        let start = moment(1_000, 5_000);
        let agree = |later| agree(Source::Tsc, 2_000_000_000, start, later);
        assert!(agree(moment(1_000 + 20_000_000, 5_000 + 10_000_000)));
        assert!(agree(moment(1_000 + 23_000_000, 5_000 + 10_000_000)), "the frequency is a hint");
        assert!(!agree(moment(1_000 + 20_000_000, 5_000 + 10_000_000 + (1 << 40))));
        assert!(!agree(moment(1_000 + (1 << 40), 5_000 + 10_000_000)));
        assert!(!agree(moment(0, 5_000)) && !agree(moment(1_000, 0)), "before the start");
    }
}
