//! How often a point is repeated with `until`. The figures of the seeds 1 to n alone decide whether
//! seed n + 1 runs, so that the order in which repetitions end does not matter.

use super::interval::half_width;
use crate::space::Seeds;
use std::collections::HashMap;

/// A repetition's figures of the metrics in `until`; `None` after a failure.
type DecidingFigures = Option<Vec<Option<f64>>>;

/// The points with repetitions that have ended while others have not.
#[derive(Default)]
pub(super) struct Groups(HashMap<u64, Group>);

#[derive(Default)]
struct Group {
    /// Figures by seed, from 1.
    done: HashMap<u64, DecidingFigures>,
    /// The last seed that was asked for.
    asked: u64,
}

impl Groups {
    /// Notes the figures of a repetition. Returns the next seed to run, if there is one.
    pub(super) fn ended(&mut self, seeds: &Seeds, number: u64, seed: u64, figures: DecidingFigures) -> Option<u64> {
        let Seeds::Until { least, most, narrow } = seeds else { return None };
        let group = self.0.entry(number).or_default();
        group.asked = group.asked.max(u64::from(*least)).max(seed);
        group.done.insert(seed, figures);
        if (group.done.len() as u64) < group.asked {
            return None;
        }
        let limits: Vec<f64> = narrow.iter().map(|(_, limit)| *limit).collect();
        if group.asked < u64::from(*most) && group.is_wide(&limits) {
            group.asked += 1;
            return Some(group.asked);
        }
        self.0.remove(&number);
        None
    }
}

impl Group {
    /// Whether the interval of a metric is too wide, so that another repetition would help. False
    /// if a repetition failed or lacks a metric.
    fn is_wide(&self, limits: &[f64]) -> bool {
        let mut wide = false;
        for (at, limit) in limits.iter().enumerate() {
            let value = |seed: u64| self.done.get(&seed)?.as_ref()?.get(at).copied().flatten();
            let Some(values) = (1..=self.asked).map(value).collect::<Option<Vec<f64>>>() else { return false };
            wide |= half_width(&values).is_none_or(|half| half > *limit);
        }
        wide
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seeds that run if seed `n` gives `figures[n - 1]`; the first `least` results come by
    /// rising seed, or by falling seed with `reverse`.
    fn seeds(least: u32, most: u32, figures: &[Option<f64>], reverse: bool) -> Vec<u64> {
        let of = Seeds::Until { least, most, narrow: vec![("x".into(), 0.1)] };
        let mut groups = Groups::default();
        let mut waiting: Vec<u64> = (1..=u64::from(least)).collect();
        if reverse {
            waiting.reverse();
        }
        let mut run = Vec::new();
        while !waiting.is_empty() {
            let seed = waiting.remove(0);
            run.push(seed);
            let found = figures[seed as usize - 1].map(|x| vec![Some(x)]);
            waiting.extend(groups.ended(&of, 7, seed, found));
        }
        assert!(groups.0.is_empty());
        run.sort_unstable();
        run
    }

    #[test]
    fn a_point_is_repeated_until_its_interval_is_narrow() {
        let [a, b] = [Some(10.0), Some(14.0)];
        assert_eq!(seeds(3, 9, &[a; 9], false), [1, 2, 3]);
        assert_eq!(seeds(3, 5, &[a, b, a, b, a], false), [1, 2, 3, 4, 5]);
        assert_eq!(seeds(2, 9, &[Some(10.0), Some(10.2), a, a, a, a, a, a, a], false).len(), 3);
        assert_eq!(seeds(3, 9, &[a, None, b, a, a, a, a, a, a], false), [1, 2, 3]);
    }

    #[test]
    fn the_order_of_results_changes_nothing() {
        let figures = [10.0, 13.0, 9.0, 10.5, 10.0, 10.1, 10.0, 9.9, 10.0, 10.0].map(Some);
        let once = seeds(4, 10, &figures, false);
        assert!(once.len() > 4 && once.len() < 10, "{once:?}");
        assert_eq!(once, seeds(4, 10, &figures, true));
    }
}
