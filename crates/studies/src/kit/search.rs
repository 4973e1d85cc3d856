//! Varies several open choices together: does any set of them reach what the paper prints?
//!
//! A set gives each choice a place: 0 is the chosen value, and `n` its `n`th alternative. A set is
//! **plausible** if runs of the baseline under it still show what is printed.
//!
//! | round | sets |
//! | --- | --- |
//! | 1 | a seeded sample: half of it over everything, half over what only the arm under test has |
//! | 2 | each choice's best single place; the same among the places that are plausible by themselves |
//! | 3, 4 | the best (plausible) set so far, changed in one of the choices with the greatest effect |
//! | 5 | the best set and the best plausible one again, in each way of [`Search::again`] |
//!
//! The last round is run because the greatest of many figures is partly chance.

use baton_workloads::xorshift;

/// An open choice, as the search sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub name: &'static str,
    /// The number of alternatives to the chosen value.
    pub places: usize,
    /// Whether only the arm under test uses the choice, so that it does not affect the baseline.
    pub only_tested: bool,
}

/// The place of each choice: 0 is the chosen value, and `n` its `n`th alternative.
pub type Set = Vec<usize>;

/// A set of values that is tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    pub name: String,
    pub set: Set,
    /// The index in [`Search::again`] of the way in which the set is repeated; `None` for a first
    /// trial, with one draw of each program.
    pub again: Option<usize>,
}

impl Trial {
    fn first(name: String, set: Set) -> Trial {
        Trial { name, set, again: None }
    }
}

/// The result of a trial.
pub trait Score: Copy {
    /// The headline figure.
    fn score(&self) -> f64;
    /// Returns whether the baseline still shows the printed figures.
    fn plausible(&self) -> bool;
}

/// The number of sets in the sample.
const SAMPLE: usize = 24;
/// The number of choices that rounds 3 and 4 vary: those with the greatest effect.
const WIDEST: usize = 4;

/// The greatest number of first trials, and that of repeated trials in `ways` ways.
pub const fn most(ways: usize) -> [usize; 2] {
    [SAMPLE + 2 + 4 * WIDEST, 2 * ways]
}

pub struct Search<'a, T> {
    pub choices: &'a [Choice],
    /// For each choice, the results of its chosen value and of each alternative, in this order, while
    /// all other choices have their chosen values.
    pub singles: &'a [Vec<T>],
    /// The names of the ways in which the last round repeats the best sets.
    pub again: &'a [&'a str],
    /// The names of the two halves of the sample: over everything, and over the arm under test.
    pub halves: [&'a str; 2],
    /// Whether the values of a set are possible together.
    pub valid: &'a dyn Fn(&Set) -> bool,
}

/// A round: from all trials and results so far to the next trials.
type Round<'a, T> = &'a dyn Fn(&[Trial], &[T]) -> Vec<Trial>;

impl<T: Score> Search<'_, T> {
    /// Goes through the rounds as far as `look` knows the results of trials. Returns the known
    /// trials with their results, and the trials that must be run next, none at the end.
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

    /// The trials that follow from the results so far. The list is complete when `seen` has a
    /// result for each.
    fn trials(&self, seen: &[T]) -> Vec<Trial> {
        let mut trials = self.sample();
        let rounds: [Round<'_, T>; 4] = [
            &|_, _| {
                let name = ["each item's best place", "each item's best plausible place"];
                let sets = [false, true].map(|plausible| self.repaired(self.best(plausible)));
                let first = |(name, set): (&str, Option<Set>)| Some(Trial::first(name.to_owned(), set?));
                name.into_iter().zip(sets).filter_map(first).collect()
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
        // Impossible sets and duplicates are drawn again, up to 50 draws for each set of the
        // sample. With many choices, nearly all sets are new.
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

    /// The set of the best single place of each choice. With `plausible`, a place must be plausible
    /// by itself, unless it is the chosen value.
    fn best(&self, plausible: bool) -> Set {
        let best = |of: &Vec<T>| {
            let places = of.iter().enumerate().filter(|(place, seen)| *place == 0 || !plausible || seen.plausible());
            places.max_by(|a, b| a.1.score().total_cmp(&b.1.score())).map_or(0, |(place, _)| place)
        };
        self.singles.iter().map(best).collect()
    }

    /// The choices by the size of their effect, the greatest first.
    fn widest(&self) -> Vec<usize> {
        let width = |choice: &usize| {
            let of = self.singles[*choice].iter().map(Score::score);
            of.clone().fold(f64::MIN, f64::max) - of.fold(f64::MAX, f64::min)
        };
        let mut all: Vec<usize> = (0..self.choices.len()).collect();
        all.sort_by(|a, b| width(b).total_cmp(&width(a)));
        all
    }

    /// Returns `set` if it is possible. Otherwise choices return to the chosen value: one choice, if
    /// a single return makes the set possible, and else one after the other. The choice with the
    /// least effect goes first. Returns `None` if not even the chosen values are possible together.
    fn repaired(&self, mut set: Set) -> Option<Set> {
        let mut order = self.widest();
        order.reverse();
        loop {
            if (self.valid)(&set) {
                return Some(set);
            }
            let without = |choice: usize| {
                Set::from_iter(set.iter().enumerate().map(|(n, &place)| if n == choice { 0 } else { place }))
            };
            let single = order.iter().map(|&choice| without(choice)).find(|set| (self.valid)(set));
            if single.is_some() {
                return single;
            }
            let least = order.iter().copied().find(|&choice| set[choice] != 0)?;
            set[least] = 0;
        }
    }

    /// Sets that differ from the best set so far, or from the best plausible set, in one of the
    /// choices with the greatest effect. The choice takes its best place if it has the chosen
    /// value, and the chosen value otherwise.
    fn neighbours(&self, trials: &[Trial], seen: &[T]) -> Vec<Trial> {
        let mut all: Vec<Trial> = Vec::new();
        for (plausible, name) in [(false, "best"), (true, "best plausible")] {
            let ends = self.best(false);
            let Some(centre) = greatest(seen, plausible).map(|at| &trials[at]) else { continue };
            for choice in self.widest().into_iter().take(WIDEST) {
                let mut set = centre.set.clone();
                set[choice] = if set[choice] == 0 { ends[choice] } else { 0 };
                let Some(set) = self.repaired(set) else { continue };
                if all.iter().all(|other| other.set != set) {
                    let otherwise = self.choices[choice].name;
                    all.push(Trial::first(format!("near the {name} ({}), otherwise in {otherwise}", centre.name), set));
                }
            }
        }
        all
    }

    /// The best set and the best plausible set again, in each way of [`Search::again`].
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

/// The index of the greatest score, among plausible ones only if `plausible` is set.
fn greatest<T: Score>(seen: &[T], plausible: bool) -> Option<usize> {
    let all = seen.iter().enumerate().filter(|(_, seen)| !plausible || seen.plausible());
    all.max_by(|a, b| a.1.score().total_cmp(&b.1.score())).map(|(at, _)| at)
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
