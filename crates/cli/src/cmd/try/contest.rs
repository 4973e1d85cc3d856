//! The contest: the recorded lock and the candidates run alternately until one is certainly faster,
//! none can be, or the time is over.

use super::significance::{Faster, RISK, faster, looks};
use std::time::Duration;

/// A difference below this share does not matter.
pub(super) const MARGIN: f64 = 0.01;
/// A candidate is dropped if one of its runs takes longer than this many times the first run of the
/// recorded lock, plus one second.
const TOO_SLOW: u32 = 5;

/// The standing of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Standing {
    /// Certainly faster.
    Faster,
    /// Certainly slower.
    Slower,
    /// Certainly no difference that matters.
    Same,
    /// Dropped: a run took too long (see [`TOO_SLOW`]), or a server passed no progress point in a
    /// turn.
    TooSlow,
    /// Not decided yet.
    Open,
}

/// A measured lock.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Entrant {
    /// The durations of its runs, in the order of rounds.
    pub(super) times_ns: Vec<u64>,
    /// The comparison with the first entrant, as of the latest look.
    pub(super) faster: Option<Faster>,
    /// The standing as of the latest look.
    pub(super) standing: Standing,
}

/// The entrants. The first is what the others are compared with.
#[derive(Clone, Debug)]
pub(super) struct Contest {
    pub(super) entrants: Vec<Entrant>,
    /// The number of looks so far.
    looks: i32,
}

impl Contest {
    /// A contest of `candidates` candidates against the first entrant.
    pub(super) fn new(candidates: usize) -> Contest {
        let entrant = Entrant { times_ns: Vec::new(), faster: None, standing: Standing::Open };
        Contest { entrants: vec![entrant; candidates + 1], looks: 0 }
    }

    /// Runs rounds until the contest is decided, or `over` says that the time is up. `run` returns
    /// an entrant's time, or `None` if the limit came first.
    ///
    /// # Errors
    /// The first error of `run`.
    pub(super) fn hold<E>(
        &mut self,
        mut run: impl FnMut(usize, Option<Duration>) -> Result<Option<u64>, E>,
        mut over: impl FnMut() -> bool,
    ) -> Result<(), E> {
        // The first run loads files into memory. Its time does not count, but bounds that of the
        // others.
        let first = run(0, None)?.unwrap_or(0);
        let limit = Duration::from_nanos(first) * TOO_SLOW + Duration::from_secs(1);
        for pairs in looks() {
            while self.entrants[0].times_ns.len() < pairs {
                if over() {
                    self.look();
                    return Ok(());
                }
                self.round(&mut run, limit)?;
            }
            self.look();
            if self.is_decided() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn round<E>(
        &mut self,
        run: &mut impl FnMut(usize, Option<Duration>) -> Result<Option<u64>, E>,
        limit: Duration,
    ) -> Result<(), E> {
        // Every second round runs backwards, so that no lock always comes first.
        let backwards = self.entrants[0].times_ns.len() % 2 == 1;
        let mut order: Vec<usize> = (0..self.entrants.len()).collect();
        if backwards {
            order.reverse();
        }
        for entrant in order {
            if entrant > 0 && self.entrants[entrant].standing != Standing::Open {
                continue;
            }
            match run(entrant, (entrant > 0).then_some(limit))? {
                Some(time) => self.entrants[entrant].times_ns.push(time),
                None => self.entrants[entrant].standing = Standing::TooSlow,
            }
        }
        Ok(())
    }

    /// Compares all undecided candidates with the first entrant.
    fn look(&mut self) {
        self.looks += 1;
        let candidates = self.entrants.len().saturating_sub(1).max(1);
        let risk = RISK / candidates as f64 * 0.5f64.powi(self.looks);
        let (first, others) = self.entrants.split_at_mut(1);
        for entrant in others.iter_mut().filter(|entrant| entrant.standing == Standing::Open) {
            entrant.faster = faster(&first[0].times_ns, &entrant.times_ns, risk);
            entrant.standing = entrant.faster.as_ref().map_or(Standing::Open, standing);
        }
    }

    fn is_decided(&self) -> bool {
        self.winner().is_some() || self.entrants[1..].iter().all(|entrant| entrant.standing != Standing::Open)
    }

    /// The best candidate that is faster than the first entrant.
    pub(super) fn winner(&self) -> Option<(usize, Faster)> {
        let faster = |(n, entrant): (usize, &Entrant)| {
            entrant.faster.filter(|_| entrant.standing == Standing::Faster).map(|faster| (n, faster))
        };
        self.entrants.iter().enumerate().filter_map(faster).max_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate))
    }
}

fn standing(faster: &Faster) -> Standing {
    match faster {
        Faster { low, .. } if *low > 0.0 => Standing::Faster,
        Faster { high, .. } if *high < 0.0 => Standing::Slower,
        Faster { low, high, .. } if *low > -MARGIN && *high < MARGIN => Standing::Same,
        _ => Standing::Open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// A contest with invented times: a base with a little noise, times each entrant's factor; an
    /// entrant without a factor is killed.
    fn contest(factors: &[Option<f64>], rounds: usize) -> Contest {
        let mut contest = Contest::new(factors.len() - 1);
        let (mut runs, mut over) = (0u64, 0);
        let run = |entrant: usize, _: Option<Duration>| {
            runs += 1;
            // The noise is within 2%, and out of step with the entrants.
            let noise = 1.0 + (runs * 7919 % 41) as f64 * 0.0005;
            Ok::<_, Infallible>(factors[entrant].map(|factor| (1e8 * factor * noise) as u64))
        };
        let Ok(()) = contest.hold(run, || {
            over += 1;
            over > rounds
        });
        contest
    }

    fn standings(contest: &Contest) -> Vec<Standing> {
        contest.entrants[1..].iter().map(|entrant| entrant.standing).collect()
    }

    #[test]
    fn the_faster_wins_at_the_first_look() {
        let held = contest(&[Some(1.0), Some(0.9), Some(1.3)], 1000);
        let (winner, faster) = held.winner().unwrap();
        assert_eq!((winner, held.entrants[0].times_ns.len()), (1, 8));
        assert!(faster.low > 0.07 && faster.high < 0.13, "{faster:?}");
        assert_eq!(standings(&held), [Standing::Faster, Standing::Slower]);
    }

    #[test]
    fn what_makes_no_difference_is_found_out() {
        let held = contest(&[Some(1.0), Some(1.0)], 10_000);
        assert_eq!((held.winner(), standings(&held)), (None, vec![Standing::Same]));
    }

    #[test]
    fn a_candidate_that_hangs_costs_one_run() {
        let held = contest(&[Some(1.0), None, Some(0.8)], 1000);
        assert_eq!(standings(&held), [Standing::TooSlow, Standing::Faster]);
        assert!(held.entrants[1].times_ns.is_empty());
    }

    #[test]
    fn too_few_runs_decide_nothing() {
        let held = contest(&[Some(1.0), Some(0.5)], 3);
        assert_eq!((held.winner(), standings(&held)), (None, vec![Standing::Open]));
    }
}
