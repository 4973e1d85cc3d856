//! Several open choices at once: does any set of them reach what the paper prints?
//!
//! A set says of each thing that the paper leaves open what it is: as chosen, or one of its other places. The programs' shape stays
//! as it was drawn: crowds show a third of the printed overhead by themselves. A set is **plausible** if the runs without marks
//! under it still show all that is printed, wherever they do so as chosen.
//!
//! | round | sets |
//! | --- | --- |
//! | 1 | a seeded sample: half of it over everything, half over what only the arm with marks has |
//! | 2 | each item's best single place; the same among the places that are plausible by themselves |
//! | 3, 4 | what differs from the best (plausible) set so far in one of the items that do most |
//! | 5 | the best set and the best plausible one again: other draws, as the greatest of many is chance; and with the registers paid for in both arms |

use super::experiments::{self, Experiment, Other};
use super::results::{Pair, Results, coh, over_programs, roi};

/// One thing that the paper leaves open, and what it may be beside what was chosen.
pub(super) struct Item {
    pub(super) group: &'static str,
    places: Vec<Experiment>,
}

/// By item: 0 is as chosen, `n` its `n`th place.
pub(super) type Set = Vec<usize>;

/// A set that is tried.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial {
    pub(super) name: String,
    pub(super) set: Set,
    /// The registers are paid for in both arms.
    pub(super) priced: bool,
    /// So many draws of each program.
    pub(super) draws: usize,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    /// Mean reductions over the programs, in percent.
    pub(super) coh: f64,
    pub(super) roi: f64,
    pub(super) plausible: bool,
}

/// The group of these runs.
pub(super) const GROUP: &str = "joint";
/// Sets of the sample.
const SAMPLE: usize = 24;
/// Items that the improvement looks at.
const WIDEST: usize = 4;
/// Runs of a trial with one draw.
const RUNS: usize = 6;

/// About how many runs there are at most, of one draw each.
pub(super) fn most_runs(draws: usize) -> usize {
    (SAMPLE + 2 + 4 * WIDEST) * RUNS + 2 * 2 * draws * RUNS
}

/// The items, in the order of the report.
pub(super) fn items() -> Vec<Item> {
    let all = experiments::all();
    let item = |group: &'static str| {
        let places = all.iter().filter(|of| of.id.0 == group && of.crowd.is_none()).cloned().collect();
        Item { group, places }
    };
    super::open::groups().map(item).filter(|item| !item.places.is_empty()).collect()
}

/// A trial's experiment: all that its places set.
pub(super) fn experiment(items: &[Item], trial: &Trial) -> Experiment {
    let mut all = Experiment { id: (GROUP, trial.name.clone()), ..experiments::extremes() };
    let usual = all.clone();
    for place in chosen(items, &trial.set) {
        all.both.extend(place.both.iter().cloned());
        all.marked.extend(place.marked.iter().cloned());
        all.lock = if place.lock == usual.lock { all.lock } else { place.lock };
        all.tries = if place.tries == usual.tries { all.tries } else { place.tries };
    }
    all.other = if trial.priced { Other::Unheeded } else { Other::Nothing };
    all
}

fn chosen<'a>(items: &'a [Item], set: &'a Set) -> impl Iterator<Item = &'a Experiment> {
    items.iter().zip(set).filter_map(|(item, &place)| item.places.get(place.checked_sub(1)?))
}

/// What a set has otherwise than chosen.
pub(super) fn text(items: &[Item], set: &Set) -> String {
    let of = |place: &Experiment| format!("{}: {}", place.id.0, place.id.1);
    let all: Vec<String> = chosen(items, set).map(of).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join("; ") }
}

/// Whether runs without marks show all that is printed, wherever the main experiment's do.
pub(super) fn plausible(results: &Results<'_>, pairs: &[Pair<'_>]) -> bool {
    let main = results.main();
    let usual = |pair: &Pair<'_>| {
        let same = |other: &&Pair<'_>| other.program == pair.program && other.seed == pair.seed;
        main.iter().find(same).is_none_or(|main| main.off.meets(results.profile(&pair.program.name)))
    };
    pairs.iter().all(|pair| pair.off.meets(results.profile(&pair.program.name)) || !usual(pair))
}

/// What came of these pairs.
pub(super) fn seen(results: &Results<'_>, pairs: &[Pair<'_>]) -> Seen {
    let mean = |of: fn(&Pair<'_>) -> f64| over_programs(pairs, of).map_or(0.0, |ours| ours.mean);
    Seen { coh: mean(coh), roi: mean(roi), plausible: plausible(results, pairs) }
}

/// What each place does by itself: by item, as chosen first.
pub(super) fn singles(results: &Results<'_>, items: &[Item]) -> Vec<Vec<Seen>> {
    let of = |item: &Item| {
        let of = |place: &Experiment| seen(results, &results.of(place.id.0, &place.id.1));
        let usual = item.places.first().map(|place| results.beside(place.id.0, &place.id.1)).unwrap_or_default();
        std::iter::once(seen(results, &usual)).chain(item.places.iter().map(of)).collect()
    };
    items.iter().map(of).collect()
}

/// A round: from all that was tried and seen to what is tried next.
type Round<'a> = &'a dyn Fn(&[Trial], &[Seen]) -> Vec<Trial>;

/// The trials, as far as what was seen of the first ones tells: all of them once `seen` has one for each.
pub(super) struct Search<'a> {
    pub(super) items: &'a [Item],
    pub(super) singles: &'a [Vec<Seen>],
    /// Draws of the last round.
    pub(super) draws: usize,
    /// Whether a set is a chip at all.
    pub(super) valid: &'a dyn Fn(&Set) -> bool,
}

impl Search<'_> {
    pub(super) fn trials(&self, seen: &[Seen]) -> Vec<Trial> {
        let mut trials = self.sample();
        let rounds: [Round<'_>; 4] = [
            &|_, _| {
                let name = ["each item's best place", "each item's best plausible place"];
                let sets = [false, true].map(|plausible| self.repaired(self.best(plausible)));
                name.into_iter().zip(sets).map(|(name, set)| trial(name.to_owned(), set)).collect()
            },
            &|trials, seen| self.neighbours(trials, seen),
            &|trials, seen| self.neighbours(trials, seen),
            &|trials, seen| self.again(trials, seen),
        ];
        for round in rounds {
            if seen.len() < trials.len() {
                break;
            }
            let mut more = round(&trials, &seen[..trials.len()]);
            more.retain(|new| new.draws != 1 || trials.iter().all(|old| old.set != new.set));
            trials.extend(more);
        }
        trials
    }

    fn sample(&self) -> Vec<Trial> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut below = |n: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % n
        };
        let mut trials: Vec<Trial> = Vec::new();
        // Sets that are no chip, or that there are, are drawn anew; of so many items nearly all sets are new.
        for _ in 0..50 * SAMPLE {
            let number = trials.len();
            if number == SAMPLE {
                break;
            }
            let own = number >= SAMPLE / 2;
            let place = |item: &Item| {
                let n = below(item.places.len() + 1);
                if own && item.places.iter().any(|place| !only_marked(place)) { 0 } else { n }
            };
            let set: Set = self.items.iter().map(place).collect();
            if (self.valid)(&set) && trials.iter().all(|old| old.set != set) {
                let what = if own { "of the arm with marks" } else { "of everything" };
                trials.push(trial(format!("sample {}, {what}", number + 1), set));
            }
        }
        trials
    }

    /// Each item's best single place.
    fn best(&self, plausible: bool) -> Set {
        let best = |of: &Vec<Seen>| {
            let places = of.iter().enumerate().filter(|(place, seen)| *place == 0 || !plausible || seen.plausible);
            places.max_by(|a, b| a.1.coh.total_cmp(&b.1.coh)).map_or(0, |(place, _)| place)
        };
        self.singles.iter().map(best).collect()
    }

    /// Items by how much they do, the widest first.
    fn widest(&self) -> Vec<usize> {
        let width = |item: &usize| {
            let of = self.singles[*item].iter().map(|seen| seen.coh);
            of.clone().fold(f64::MIN, f64::max) - of.fold(f64::MAX, f64::min)
        };
        let mut all: Vec<usize> = (0..self.items.len()).collect();
        all.sort_by(|a, b| width(b).total_cmp(&width(a)));
        all
    }

    /// A set that is a chip: where it is none, one item is as chosen, the one that does least.
    fn repaired(&self, set: Set) -> Set {
        let without = |item: usize| {
            let mut set = set.clone();
            set[item] = 0;
            Some(set).filter(|set| (self.valid)(set))
        };
        if (self.valid)(&set) { set } else { self.widest().into_iter().rev().find_map(without).unwrap_or(set) }
    }

    /// What differs in one of the widest items from the best set so far, and from the best plausible one: there the item's best
    /// place, or as chosen.
    fn neighbours(&self, trials: &[Trial], seen: &[Seen]) -> Vec<Trial> {
        let mut all: Vec<Trial> = Vec::new();
        for (plausible, name) in [(false, "best"), (true, "best plausible")] {
            let ends = self.best(false);
            let Some(centre) = greatest(seen, plausible).map(|at| &trials[at]) else { continue };
            for item in self.widest().into_iter().take(WIDEST) {
                let mut set = centre.set.clone();
                set[item] = if set[item] == 0 { ends[item] } else { 0 };
                let set = self.repaired(set);
                if all.iter().all(|other| other.set != set) {
                    let group = self.items[item].group;
                    all.push(trial(format!("near the {name} ({}), otherwise in {group}", centre.name), set));
                }
            }
        }
        all
    }

    /// The best ones with other draws, and with the price of the registers in both arms.
    fn again(&self, trials: &[Trial], seen: &[Seen]) -> Vec<Trial> {
        let mut all: Vec<Trial> = Vec::new();
        for (plausible, name) in [(false, "the best"), (true, "the best plausible")] {
            let Some(set) = greatest(seen, plausible).map(|at| trials[at].set.clone()) else { continue };
            for (priced, how) in [(false, "every draw"), (true, "every draw, registers paid for in both arms")] {
                all.push(Trial { name: format!("{name}, {how}"), set: set.clone(), priced, draws: self.draws });
            }
        }
        all
    }
}

fn trial(name: String, set: Set) -> Trial {
    Trial { name, set, priced: false, draws: 1 }
}

/// Whether an experiment differs from the main one in the arm with marks alone.
fn only_marked(of: &Experiment) -> bool {
    let usual = experiments::extremes();
    of.both.is_empty() && of.lock == usual.lock && of.tries == usual.tries
}

/// Which has the greatest reduction of overhead, among the plausible ones if it must be one.
pub(super) fn greatest(seen: &[Seen], plausible: bool) -> Option<usize> {
    let all = seen.iter().enumerate().filter(|(_, seen)| !plausible || seen.plausible);
    all.max_by(|a, b| a.1.coh.total_cmp(&b.1.coh)).map(|(at, _)| at)
}

#[cfg(test)]
#[path = "joint_tests.rs"]
mod tests;
