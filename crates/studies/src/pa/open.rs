//! Falsifiers, and what the paper leaves open.

use super::gains::{ALONE, mean_gain};
use super::jobs::{self, DEFAULT, KEYS, NOTIFY, UNCOUNTED, WAITS};
use super::machine::Machine;
use super::mixes::{SET_1, WITH_PHASES, beside};
use super::results::{Results, mean};
use super::run::{Case, Had};
use crate::kit::judge::NO_GAIN;
use crate::kit::samples::said;
use crate::{Falsifier, Interval, Unspecified};

/// What a quick study lacks.
const FULL: &str = "needs the full run";
/// What is left of a gain where it is lost: this part of it at most.
const LOST: f64 = 0.5;

pub(super) fn falsifiers(results: &Results<'_>) -> Vec<Falsifier> {
    vec![
        parallel(results),
        spinning(results),
        notice(results),
        as_many(results),
        as_many_alone(results),
        equal(results),
        swaps(results),
        demotions(results),
    ]
}

fn parallel(results: &Results<'_>) -> Falsifier {
    let (id, what) = ("a highly parallel program", "EP alone: PA gains nothing over BusyFCs, less than 1% either way");
    let [pa, busy] = ["pa", "busy-fcs"].map(|policy| jobs::main(Machine::One, "EP", policy));
    let gain = results.gain(&pa, &busy).map(|gain| gain.mean);
    let seen = gain.map(|gain| (gain.abs() < NO_GAIN, [("gain, %", gain)]));
    Falsifier::shown(id, what, "not run", seen, || {
        "EP has a sequential part of half a percent, which PA moves to the fast core".to_owned()
    })
}

/// PA's gain of the program with sequential parts, where waits sleep and where they spin for ever.
pub(super) fn with_phases(results: &Results<'_>, spins: Option<bool>) -> Option<Interval> {
    mean(WITH_PHASES.into_iter().map(|mix| {
        let [of, over] = match spins {
            None => ["pa", DEFAULT].map(|policy| jobs::main(Machine::One, mix, policy)),
            Some(notify) => [jobs::spins(mix, "pa", notify, false), jobs::spins(mix, DEFAULT, false, false)],
        };
        results.gain_of(Some(1), &of, &over)
    }))
}

fn spinning(results: &Results<'_>) -> Falsifier {
    let id = "spinning without a notice";
    let what =
        "threads that never sleep and say nothing take the program with sequential parts at least half of its gain";
    let both = with_phases(results, None).zip(with_phases(results, Some(false)));
    let seen = both.map(|(sleeps, spins)| {
        let figures = [("gain with sleep, %", sleeps.mean), ("gain with spin, %", spins.mean)];
        (spins.mean < LOST * sleeps.mean, figures)
    });
    Falsifier::shown(id, what, FULL, seen, || {
        "`spinning without a notice`: the policy sees the sequential part all the same".to_owned()
    })
}

/// A notice can act only where marked threads do not count: otherwise the program stays in the class
/// of high parallelism.
fn notice(results: &Results<'_>) -> Falsifier {
    let id = "a notice without the rule of counting";
    let what = "where marked threads count as runnable, a notice changes nothing of the program with sequential parts: less than 1% either way";
    let over_plain = |case: fn(&'static str) -> Case| {
        let one = |mix| results.gain_of(Some(1), &case(mix), &jobs::spins(mix, "pa", false, false));
        mean(WITH_PHASES.into_iter().map(one)).map(|gain| gain.mean)
    };
    let other = over_plain(|mix| jobs::uncounted(mix, "pa", true, false)).unwrap_or(0.0);
    let seen = over_plain(|mix| jobs::spins(mix, "pa", true, false)).map(|gain| {
        let figures = [("gain where they count, %", gain), ("gain where they do not, %", other)];
        (gain.abs() < NO_GAIN, figures)
    });
    Falsifier::shown(id, what, FULL, seen, || {
        "`a notice without the rule of counting`: marking alone moves the spinning threads off the fast core".to_owned()
    })
}

fn as_many(results: &Results<'_>) -> Falsifier {
    let (id, what) = ("as many fast cores as slow", "on 8FC-8SC at most half of the mean gain of 1FC-12SC is left");
    let few = results.mean_beside(|mix| results.over_default(Machine::One, mix, "pa"));
    let seen = few
        .zip(mean_gain(results, Machine::Half))
        .map(|(few, many)| (many.mean < LOST * few.mean, [("1FC-12SC, %", few.mean), ("8FC-8SC, %", many.mean)]));
    Falsifier::shown(id, what, FULL, seen, || {
        "`as many fast cores as slow`: with eight fast cores Default still leaves half of the sequential parts on slow ones".to_owned()
    })
}

fn as_many_alone(results: &Results<'_>) -> Falsifier {
    let id = "more fast cores where nothing competes for the first";
    let what = "the gain of gobmk + EP shrinks from one fast core to eight";
    let of = |machine| results.over_default(machine, ALONE, "pa").map(|gain| gain.mean);
    let seen = of(Machine::One)
        .zip(of(Machine::Half))
        .map(|(few, many)| (many < few, [("1FC-12SC, %", few), ("8FC-8SC, %", many)]));
    Falsifier::shown(id, what, FULL, seen, || format!("`{id}`: it does not shrink"))
}

fn equal(results: &Results<'_>) -> Falsifier {
    let (id, what) = (
        "equal clocks",
        "at a ratio of 1 PA gains nothing: less than 1% on the mean; what it loses is the cost of swaps",
    );
    let gain = results.mean_beside(|mix| {
        results.gain(&jobs::equal(Machine::One, mix, "pa"), &jobs::equal(Machine::One, mix, DEFAULT))
    });
    let seen = gain.map(|gain| (gain.mean < NO_GAIN, [("gain, %", gain.mean)]));
    Falsifier::shown(id, what, FULL, seen, || "`equal clocks`: moves alone gain".to_owned())
}

/// A run of PA without a swap shows nothing of swaps.
fn swaps(results: &Results<'_>) -> Falsifier {
    let (id, what) = ("swaps", "every mix of set 1 has swaps under PA on 1FC-12SC");
    let swaps = |mix| both(results, &jobs::main(Machine::One, mix, "pa"), |had| had.swaps as f64);
    let all: Option<Vec<f64>> = SET_1.iter().map(|mix| swaps(mix.name)).collect();
    let Some(all) = all else { return Falsifier::not_run(id, what, "needs the full run") };
    let least = all.iter().copied().fold(f64::MAX, f64::min);
    let without: Vec<&str> = SET_1.iter().zip(&all).filter(|(_, n)| **n == 0.0).map(|(mix, _)| mix.name).collect();
    Falsifier::seen(id, what, least > 0.0, vec![("swaps of the mix with the fewest".to_owned(), least)], || {
        format!(
            "no swap in {}: its threads get the fast core as it idles, and these mixes show nothing of swaps",
            without.join(", ")
        )
    })
}

/// Of a mix of two applications, of both together.
fn both(results: &Results<'_>, case: &Case, what: fn(&Had) -> f64) -> Option<f64> {
    Some(results.had(case, 0, what)? + results.had(case, 1, what)?)
}

/// A run of PA without a demotion shows nothing of them. Those of the main experiment have none.
fn demotions(results: &Results<'_>) -> Falsifier {
    let (id, what) =
        ("demotions", "where a program has one sequential part a run, every mix has demotions under PA on 1FC-12SC");
    let of = |mix| both(results, &jobs::long_parts(mix, "pa", 1), |had| had.demotions as f64);
    let all: Option<Vec<f64>> = WITH_PHASES.into_iter().map(of).collect();
    let Some(all) = all else { return Falsifier::not_run(id, what, "needs the full run") };
    let least = all.iter().copied().fold(f64::MAX, f64::min);
    Falsifier::seen(id, what, least > 0.0, vec![("demotions of the mix with the fewest".to_owned(), least)], || {
        "`demotions`: even the one sequential part of a run ends within a boost".to_owned()
    })
}

/// Makes another choice, which has this name, in a case.
type Change = fn(&'static str, Case) -> Case;

/// Other choices of an item that the paper leaves open: each with its name, and the cases that differ
/// from those as chosen.
struct Item {
    what: &'static str,
    chosen: &'static str,
    range: &'static str,
    /// The mixes, and the application whose gain counts; `None` for all applications.
    on: (Vec<&'static str>, Option<usize>),
    /// The case as chosen, by mix.
    base: fn(&'static str) -> Case,
    others: Vec<(&'static str, Change)>,
}

/// The effect of another choice on the speed, in percent, seed by seed against the choice that was
/// made. An error is the reason why there is none.
pub(super) struct Effect {
    pub(super) what: &'static str,
    pub(super) choice: &'static str,
    pub(super) gain: Result<Interval, &'static str>,
}

/// Says of a treatment that it changed no figure of any run.
pub(super) const NOT_EXERCISED: &str = "not exercised: every run equals the one as chosen";

fn usual(mix: &'static str) -> Case {
    jobs::main(Machine::One, mix, "pa")
}

fn item(what: &'static str, chosen: &'static str, range: &'static str, name: &str) -> Item {
    let keys = KEYS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, keys)| *keys);
    let of = |&key: &&'static str| (key, (|key, case| Case { key, ..case }) as Change);
    Item {
        what,
        chosen,
        range,
        on: (beside().map(|mix| mix.name).collect(), None),
        base: usual,
        others: keys.iter().map(of).collect(),
    }
}

fn items() -> Vec<Item> {
    let wait: Change = |wait, case| Case { wait, ..case };
    let waits = WAITS.into_iter().map(|of| (of, wait)).collect();
    let master: Change = |_, case| Case { wait: NOTIFY, master: true, ..case };
    let key: Change = |key, case| Case { key, ..case };
    vec![
        Item {
            on: (WITH_PHASES.into(), Some(1)),
            base: |mix| jobs::spins(mix, "pa", true, false),
            others: vec![(UNCOUNTED, key)],
            ..item(
                "whether marked threads count as runnable, where threads spin and say so",
                "they do",
                "they do not",
                "",
            )
        },
        Item { others: waits, ..item("how long threads spin before they sleep", "1 ms", "not at all to 10 ms", "") },
        Item {
            others: vec![(NOTIFY, wait), ("the same, with the master's hint", master)],
            ..item(
                "the spin threshold of a notice",
                "no notices in the main experiment",
                "after a tenth of a millisecond",
                "",
            )
        },
        item("period of swaps", "10 time slices, a tenth of the boost", "1 to 100", "swap period"),
        item("amp_boost_ticks", "100, as printed", "10 to 1000", "boost"),
        item(
            "how much boost a program has when it enters SP again",
            "all of it",
            "what it has not used up",
            "renewal of a boost",
        ),
        item("hp_threshold", "fast cores + 1, as printed", "1 to 6", "hp_threshold"),
        item("the rule for entering SP", "the count falls to one", "only from HP", "entering SP"),
        item("topology", "none", "the nearest of equal threads; turns under one cache only", "topology"),
        item("what a move costs the kernel", "1,500 cycles", "0 to 20,000", "a move's price"),
    ]
}

impl Item {
    /// The cases of another choice, each with that as chosen.
    fn cases(&self, (choice, change): (&'static str, Change)) -> Vec<(Case, Case)> {
        let bases = self.on.0.iter().map(|&mix| (self.base)(mix));
        bases.map(|base| (change(choice, base.clone()), base)).collect()
    }
}

/// Every case of another choice, with that as chosen.
#[cfg(test)]
pub(super) fn all_pairs() -> Vec<(Case, Case)> {
    items()
        .iter()
        .flat_map(|item| item.others.iter().flat_map(|&other| item.cases(other)).collect::<Vec<_>>())
        .collect()
}

/// The effects of all other choices of an item.
fn effects(results: &Results<'_>, item: &Item) -> Vec<Effect> {
    let effect = |&other: &(&'static str, Change)| {
        let cases = item.cases(other);
        let acted = cases.iter().any(|(of, base)| results.acted(of, base) != Some(false));
        let gain = mean(cases.iter().map(|(of, base)| results.gain_of(item.on.1, of, base)));
        let gain = if acted { gain.ok_or("needs the full run") } else { Err(NOT_EXERCISED) };
        Effect { what: item.what, choice: other.0, gain }
    };
    item.others.iter().map(effect).collect()
}

/// The effects of all other choices of all items.
pub(super) fn all_effects(results: &Results<'_>) -> Vec<Effect> {
    items().iter().flat_map(|item| effects(results, item)).collect()
}

pub(super) fn unspecified(results: &Results<'_>) -> Vec<Unspecified> {
    let of = |item: &Item| {
        let effects = effects(results, item);
        let gains: Vec<f64> = effects.iter().filter_map(|effect| Some(effect.gain.as_ref().ok()?.mean)).collect();
        let ends = |first: f64| {
            // The choice that was made is 0.
            gains.iter().fold([first.min(0.0), first.max(0.0)], |[low, high], &gain| [low.min(gain), high.max(gain)])
        };
        let say = |effect: &Effect| match &effect.gain {
            Ok(gain) => format!("{} {}", effect.choice, said(Some(*gain))),
            Err(why) => format!("{} {why}", effect.choice),
        };
        let what = match item.on.1 {
            Some(_) => "percent more speed of the program with sequential parts",
            None => "percent more speed than as chosen, mean over the mixes of set 1 without wupwise on 1FC-12SC",
        };
        let each: Vec<String> = effects.iter().map(say).collect();
        Unspecified {
            what: item.what.to_owned(),
            chosen: item.chosen.to_owned(),
            range: item.range.to_owned(),
            effect: gains.first().map(|&first| ends(first)),
            note: format!("{what}, seed by seed: {}", each.join("; ")),
        }
    };
    items().iter().map(of).collect()
}
