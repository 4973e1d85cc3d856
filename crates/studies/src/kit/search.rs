//! Several open choices at once: does any set of them reach what the paper prints?
//!
//! A set says of each choice which of its places it has: 0 as chosen, `n` its `n`th other one. A set is **plausible** if runs of the
//! baseline under it still show what is printed.
//!
//! | round | sets |
//! | --- | --- |
//! | 1 | a seeded sample: half of it over everything, half over what only the arm under test has |
//! | 2 | each choice's best single place; the same among the places that are plausible by themselves |
//! | 3, 4 | what differs from the best (plausible) set so far in one of the choices that do most |
//! | 5 | the best set and the best plausible one again, in each way of [`Search::again`]: the greatest of many is chance |

use baton_workloads::xorshift;

/// A choice, as the search sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its name.
    pub name: &'static str,
    /// So many places beside what was chosen.
    pub places: usize,
    /// Only the arm under test has it, so that it leaves the baseline as it was.
    pub only_tested: bool,
}

/// By choice: its place.
pub type Set = Vec<usize>;

/// A set that is tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Its name.
    pub name: String,
    /// The set.
    pub set: Set,
    /// Which way of [`Search::again`]; `None`: a first time, with one draw of each program.
    pub again: Option<usize>,
}

impl Trial {
    fn first(name: String, set: Set) -> Trial {
        Trial { name, set, again: None }
    }
}

/// What came of a trial.
pub trait Score: Copy {
    /// The headline.
    fn score(&self) -> f64;
    /// Whether the baseline still shows what is printed.
    fn plausible(&self) -> bool;
}

/// Sets of the sample.
const SAMPLE: usize = 24;
/// Choices that the improvement looks at.
const WIDEST: usize = 4;

/// The most trials that are made a first time, and again in so many ways.
pub const fn most(ways: usize) -> [usize; 2] {
    [SAMPLE + 2 + 4 * WIDEST, 2 * ways]
}

/// The search.
pub struct Search<'a, T> {
    /// The choices.
    pub choices: &'a [Choice],
    /// What each place does by itself: by choice, as chosen first.
    pub singles: &'a [Vec<T>],
    /// The ways of the last round, each by its name.
    pub again: &'a [&'a str],
    /// What the two halves of the sample are called.
    pub halves: [&'a str; 2],
    /// Whether a set can be at all.
    pub valid: &'a dyn Fn(&Set) -> bool,
}

/// A round: from all that was tried and seen to what is tried next.
type Round<'a, T> = &'a dyn Fn(&[Trial], &[T]) -> Vec<Trial>;

impl<T: Score> Search<'_, T> {
    /// Goes through the rounds as far as `look` knows what came of a trial: all trials that it knows, and those that are to be run
    /// next; of these there are none in the end.
    pub fn go(&self, mut look: impl FnMut(&Trial) -> Option<T>) -> (Vec<(Trial, T)>, Vec<Trial>) {
        let (mut tried, mut seen) = (Vec::new(), Vec::new());
        loop {
            let round = self.trials(&seen).split_off(seen.len());
            let known = seen.len();
            seen.extend(round.iter().map_while(&mut look));
            let next = round[seen.len() - known..].to_vec();
            tried.extend(round.into_iter().zip(seen[known..].iter().copied()));
            if seen.len() == known || !next.is_empty() {
                return (tried, next);
            }
        }
    }

    /// The trials, as far as what was seen of the first ones tells: all of them once `seen` has one for each.
    fn trials(&self, seen: &[T]) -> Vec<Trial> {
        let mut trials = self.sample();
        let rounds: [Round<'_, T>; 4] = [
            &|_, _| {
                let name = ["each item's best place", "each item's best plausible place"];
                let sets = [false, true].map(|plausible| self.repaired(self.best(plausible)));
                name.into_iter().zip(sets).map(|(name, set)| Trial::first(name.to_owned(), set)).collect()
            },
            &|trials, seen| self.neighbours(trials, seen),
            &|trials, seen| self.neighbours(trials, seen),
            &|trials, seen| self.once_more(trials, seen),
        ];
        for round in rounds {
            if seen.len() < trials.len() {
                break;
            }
            let mut more = round(&trials, &seen[..trials.len()]);
            more.retain(|new| new.again.is_some() || trials.iter().all(|old| old.set != new.set));
            trials.extend(more);
        }
        trials
    }

    fn sample(&self) -> Vec<Trial> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut below = |n: usize| (xorshift(&mut state) >> 33) as usize % n;
        let mut trials: Vec<Trial> = Vec::new();
        // Sets that cannot be, or that there are, are drawn anew; of so many choices nearly all sets are new.
        for _ in 0..50 * SAMPLE {
            let number = trials.len();
            if number == SAMPLE {
                break;
            }
            let own = number >= SAMPLE / 2;
            let place = |choice: &Choice| {
                let n = below(choice.places + 1);
                if own && !choice.only_tested { 0 } else { n }
            };
            let set: Set = self.choices.iter().map(place).collect();
            if (self.valid)(&set) && trials.iter().all(|old| old.set != set) {
                let half = self.halves[usize::from(own)];
                trials.push(Trial::first(format!("sample {}, {half}", number + 1), set));
            }
        }
        trials
    }

    /// Each choice's best single place.
    fn best(&self, plausible: bool) -> Set {
        let best = |of: &Vec<T>| {
            let places = of.iter().enumerate().filter(|(place, seen)| *place == 0 || !plausible || seen.plausible());
            places.max_by(|a, b| a.1.score().total_cmp(&b.1.score())).map_or(0, |(place, _)| place)
        };
        self.singles.iter().map(best).collect()
    }

    /// Choices by how much they do, the widest first.
    fn widest(&self) -> Vec<usize> {
        let width = |choice: &usize| {
            let of = self.singles[*choice].iter().map(Score::score);
            of.clone().fold(f64::MIN, f64::max) - of.fold(f64::MAX, f64::min)
        };
        let mut all: Vec<usize> = (0..self.choices.len()).collect();
        all.sort_by(|a, b| width(b).total_cmp(&width(a)));
        all
    }

    /// A set that can be: where it cannot, one choice is as chosen, the one that does least.
    fn repaired(&self, set: Set) -> Set {
        let without = |choice: usize| {
            let mut set = set.clone();
            set[choice] = 0;
            Some(set).filter(|set| (self.valid)(set))
        };
        if (self.valid)(&set) { set } else { self.widest().into_iter().rev().find_map(without).unwrap_or(set) }
    }

    /// What differs in one of the widest choices from the best set so far, and from the best plausible one: there the choice's best
    /// place, or as chosen.
    fn neighbours(&self, trials: &[Trial], seen: &[T]) -> Vec<Trial> {
        let mut all: Vec<Trial> = Vec::new();
        for (plausible, name) in [(false, "best"), (true, "best plausible")] {
            let ends = self.best(false);
            let Some(centre) = greatest(seen, plausible).map(|at| &trials[at]) else { continue };
            for choice in self.widest().into_iter().take(WIDEST) {
                let mut set = centre.set.clone();
                set[choice] = if set[choice] == 0 { ends[choice] } else { 0 };
                let set = self.repaired(set);
                if all.iter().all(|other| other.set != set) {
                    let otherwise = self.choices[choice].name;
                    all.push(Trial::first(format!("near the {name} ({}), otherwise in {otherwise}", centre.name), set));
                }
            }
        }
        all
    }

    /// The best ones in each way of [`Search::again`].
    fn once_more(&self, trials: &[Trial], seen: &[T]) -> Vec<Trial> {
        let mut all: Vec<Trial> = Vec::new();
        for (plausible, name) in [(false, "the best"), (true, "the best plausible")] {
            let Some(set) = greatest(seen, plausible).map(|at| &trials[at].set) else { continue };
            let way = |(way, how): (usize, &&str)| Trial {
                name: format!("{name}, {how}"),
                set: set.clone(),
                again: Some(way),
            };
            all.extend(self.again.iter().enumerate().map(way));
        }
        all
    }
}

/// Which has the greatest score, among the plausible ones if it must be one.
fn greatest<T: Score>(seen: &[T], plausible: bool) -> Option<usize> {
    let all = seen.iter().enumerate().filter(|(_, seen)| !plausible || seen.plausible());
    all.max_by(|a, b| a.1.score().total_cmp(&b.1.score())).map(|(at, _)| at)
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
