//! Several open choices at once: does any set of them reach what the paper prints?
//! [`crate::kit::search`] says which sets are tried.
//!
//! The programs' shape stays as it was drawn. If a set changes the runs without marks, its draws
//! are fitted again under the set ([`super::refit`]): a draw that was found under the defaults
//! would fail by construction. A set is plausible if its runs without marks show all that the paper
//! prints, except for draws whose run under the chosen values does not either. The last round
//! repeats the best sets on more draws, and with the registers paid for in both arms.

use super::experiments::{self, DRAWS_BESIDE, Experiment, Other, Setting};
use super::program::Shape;
use super::results::Results;
use super::values::{Pair, Value, coh, roi};
use crate::kit::experiment::Draw;
use crate::kit::over_programs;
use crate::kit::search::{self, Choice, Score, Search, Set, Trial};

/// A detail that the paper leaves open, with the experiments that make its other choices.
pub(super) struct Choices {
    group: &'static str,
    places: Vec<Experiment>,
}

/// The result of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    /// Mean reductions over the programs, in percent.
    pub(super) coh: f64,
    pub(super) roi: f64,
    pub(super) plausible: bool,
}

impl Score for Seen {
    fn score(&self) -> f64 {
        self.coh
    }
    fn plausible(&self) -> bool {
        self.plausible
    }
}

/// The group of experiments to which the samples of trials are added.
pub(super) const GROUP: &str = "joint";
/// The runs of a trial with one draw: four programs in two arms.
const RUNS: usize = 8;
/// The program and shape that trials add to the three programs of other experiments: draws in which
/// an order can change something.
pub(super) const CROWD: (&str, Shape) = ("vips", Shape::Crowd);
/// The ways in which the last round repeats the best sets.
const AGAIN: [&str; 2] = ["every draw", "every draw, registers paid for in both arms"];

/// The greatest number of runs that the search asks for, each of one draw; a run that fits a draw
/// counts as one.
#[cfg(test)]
pub(super) fn most_runs() -> usize {
    let [first, again] = search::most(AGAIN.len());
    (first + again * DRAWS_BESIDE) * (RUNS + RUNS / 2)
}

/// About how many runs the search asks for. Half of the sets change the runs without marks, and a
/// fit takes about three runs.
pub(super) fn about_runs() -> usize {
    let [first, again] = search::most(AGAIN.len());
    let draws = first + again * DRAWS_BESIDE;
    draws * RUNS + draws / 2 * (RUNS / 2) * 3
}

/// Whether this setting changes the runs without marks, so that draws must be fitted again.
pub(super) fn other_baseline(setting: &Setting) -> bool {
    let usual = Setting::default();
    !setting.both.is_empty() || (setting.lock, setting.tries) != (usual.lock, usual.tries)
}

/// Whether both arms of a trial pay for the registers.
pub(super) fn priced(trial: &Trial) -> bool {
    trial.again == Some(1)
}

/// The number of draws of each program in a trial.
pub(super) fn draws(trial: &Trial) -> usize {
    if trial.again.is_some() { DRAWS_BESIDE } else { 1 }
}

/// The choices, in the order of the report.
pub(super) fn items() -> Vec<Choices> {
    let all = experiments::all();
    let item = |item: &crate::kit::Item| {
        let places = all.iter().filter(|of| of.id.0 == item.group && of.setting.crowd.is_none()).cloned().collect();
        Choices { group: item.group, places }
    };
    super::open::ITEMS.iter().map(item).filter(|item| !item.places.is_empty()).collect()
}

/// The choices in the form that the search takes.
pub(super) fn choices(items: &[Choices]) -> Vec<Choice> {
    let only_marked = |of: &Experiment| !other_baseline(&of.setting);
    let choice = |item: &Choices| Choice {
        name: item.group,
        places: item.places.len(),
        only_tested: item.places.iter().all(only_marked),
    };
    items.iter().map(choice).collect()
}

/// The search without the results of each place by itself, which the caller adds.
pub(super) fn search<'a>(choices: &'a [Choice], valid: &'a dyn Fn(&Set) -> bool) -> Search<'a, Seen> {
    Search { choices, singles: &[], again: &AGAIN, halves: ["of everything", "of the arm with marks"], valid }
}

/// The setting that joins the settings of all places of a set.
pub(super) fn setting(items: &[Choices], set: &Set, priced: bool) -> Setting {
    let usual = Setting::default();
    let mut all = Setting { other: if priced { Other::Unheeded } else { Other::Nothing }, ..usual.clone() };
    for place in chosen(items, set) {
        let Setting { both, marked, lock, tries, .. } = &place.setting;
        all.both.extend(both.iter().cloned());
        all.marked.extend(marked.iter().cloned());
        all.lock = if *lock == usual.lock { all.lock } else { lock };
        all.tries = if *tries == usual.tries { all.tries } else { *tries };
    }
    all
}

fn chosen<'a>(items: &'a [Choices], set: &'a Set) -> impl Iterator<Item = &'a Experiment> {
    items.iter().zip(set).filter_map(|(item, &place)| item.places.get(place.checked_sub(1)?))
}

/// Lists the choices of a set that differ from the chosen values.
pub(super) fn text(items: &[Choices], set: &Set) -> String {
    let of = |place: &Experiment| format!("{}: {}", place.id.0, place.id.1);
    let all: Vec<String> = chosen(items, set).map(of).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join("; ") }
}

/// Whether the runs without marks show all that the paper prints, except for draws whose run in the
/// main experiment does not either.
fn plausible(results: &Results<'_>, pairs: &[Pair<'_>]) -> bool {
    let main = results.main();
    let meets = |pair: &Pair<'_>| pair.off.meets(results.profile(&pair.program.name));
    let usual = |pair: &Pair<'_>| main.iter().find(|other| other.same_sample(pair)).is_none_or(meets);
    pairs.iter().all(|pair| meets(pair) || !usual(pair))
}

/// The result of a trial from its pairs: mean reductions, and whether the set is plausible.
pub(super) fn seen(results: &Results<'_>, pairs: &[Pair<'_>]) -> Seen {
    let mean = |of: Value| over_programs(pairs, of).map_or(0.0, |ours| ours.mean);
    Seen { coh: mean(coh), roi: mean(roi), plausible: plausible(results, pairs) }
}

/// For each item, the result of each place by itself, the chosen value first.
pub(super) fn singles(results: &Results<'_>, items: &[Choices]) -> Vec<Vec<Seen>> {
    // A first trial has one draw of each program, so that places are compared on the first draws too.
    let first = |pairs: Vec<Pair<'_>>| {
        let first: Vec<Pair<'_>> = pairs.into_iter().filter(|pair| pair.program.place() == 0).collect();
        seen(results, &first)
    };
    let of = |item: &Choices| {
        let of = |place: &Experiment| first(results.of(place.id.0, &place.id.1));
        let usual = item.places.first().map(|place| results.beside(place.id.0, &place.id.1)).unwrap_or_default();
        std::iter::once(first(usual)).chain(item.places.iter().map(of)).collect()
    };
    items.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_the_arm_with_marks_leaves_the_other_one_alone() {
        let items = items();
        assert!(items.len() >= 18, "{}", items.len());
        let (choices, usual) = (choices(&items), Setting::default());
        let (_, sample) = search(&choices, &|_| true).go(|_| None);
        assert!(sample.len() > 20);
        for trial in &sample {
            let of = setting(&items, &trial.set, false);
            let same = of.both.is_empty() && of.lock == usual.lock && of.tries == usual.tries;
            assert!(same || trial.name.ends_with("of everything"), "{}: {}", trial.name, text(&items, &trial.set));
        }
    }
}
