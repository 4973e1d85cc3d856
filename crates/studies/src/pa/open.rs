//! Falsifiers, and what the paper leaves open.

use super::claims::mean_gain;
use super::jobs::{self, DEFAULT, KEYS, NOTIFY, WAITS};
use super::machine::Machine;
use super::mixes::{SET_1, WITH_PHASES};
use super::results::{Results, mean};
use super::run::{Case, Had};
use crate::kit::judge::NO_GAIN;
use crate::{Falsifier, Interval, Unspecified};

/// What is left of a gain where it is lost: this part of it at most.
const LOST: f64 = 0.5;

pub(super) fn falsifiers(results: &Results<'_>) -> Vec<Falsifier> {
    vec![parallel(results), spinning(results), as_many(results), equal(results), swaps(results), demotions(results)]
}

fn parallel(results: &Results<'_>) -> Falsifier {
    let (id, what) = ("a highly parallel program", "EP alone: PA gains nothing over BusyFCs, less than 1% either way");
    let [pa, busy] = ["pa", "busy-fcs"].map(|policy| jobs::main(Machine::One, "EP", policy));
    let Some(gain) = results.gain(&pa, &busy) else { return Falsifier::not_run(id, what, "not run") };
    let figures = vec![("gain, %".to_owned(), gain.mean)];
    Falsifier::seen(id, what, gain.mean.abs() < NO_GAIN, figures, || {
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
    let Some((sleeps, spins)) = both else { return Falsifier::not_run(id, what, "needs the full run") };
    let figures = vec![("gain with sleep, %".to_owned(), sleeps.mean), ("gain with spin, %".to_owned(), spins.mean)];
    Falsifier::seen(id, what, spins.mean < LOST * sleeps.mean, figures, || {
        "`spinning without a notice`: the policy sees the sequential part all the same".to_owned()
    })
}

fn as_many(results: &Results<'_>) -> Falsifier {
    let (id, what) = ("as many fast cores as slow", "on 8FC-8SC at most half of the mean gain of 1FC-12SC is left");
    let few = results.mean_beside(|mix| results.over_default(Machine::One, mix, "pa"));
    let both = few.zip(mean_gain(results, Machine::Half));
    let Some((few, many)) = both else { return Falsifier::not_run(id, what, "needs the full run") };
    let figures = vec![("1FC-12SC, %".to_owned(), few.mean), ("8FC-8SC, %".to_owned(), many.mean)];
    Falsifier::seen(id, what, many.mean < LOST * few.mean, figures, || {
        "`as many fast cores as slow`: with eight fast cores Default still leaves half of the sequential parts on slow ones".to_owned()
    })
}

fn equal(results: &Results<'_>) -> Falsifier {
    let (id, what) = (
        "equal clocks",
        "at a ratio of 1 PA gains nothing: less than 1% on the mean; what it loses is the cost of swaps",
    );
    let gain = results.mean_beside(|mix| {
        results.gain(&jobs::equal(Machine::One, mix, "pa"), &jobs::equal(Machine::One, mix, DEFAULT))
    });
    let Some(gain) = gain else { return Falsifier::not_run(id, what, "needs the full run") };
    let figures = vec![("gain, %".to_owned(), gain.mean)];
    Falsifier::seen(id, what, gain.mean < NO_GAIN, figures, || "`equal clocks`: moves alone gain".to_owned())
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

pub(super) fn unspecified(results: &Results<'_>) -> Vec<Unspecified> {
    let usual = |mix| jobs::main(Machine::One, mix, "pa");
    let gain = |change: &dyn Fn(Case) -> Case| {
        results
            .mean_beside(|mix| results.gain(&change(usual(mix)), &jobs::main(Machine::One, mix, DEFAULT)))
            .map(|gain| gain.mean)
    };
    let item = |what: &str, chosen: &str, range: &str, others: Vec<Option<f64>>| {
        let all: Option<Vec<f64>> = others.into_iter().chain([gain(&|case| case)]).collect();
        let effect =
            all.map(|all| [all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(f64::MIN, f64::max)]);
        Unspecified {
            what: what.to_owned(),
            chosen: chosen.to_owned(),
            range: range.to_owned(),
            effect,
            note: if effect.is_some() {
                "PA's mean gain over the mixes of set 1 without wupwise on 1FC-12SC, %"
            } else {
                "needs the full run"
            }
            .to_owned(),
        }
    };
    let keys = |name: &str| -> Vec<Option<f64>> {
        let of = KEYS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, keys)| *keys);
        of.iter().map(|&key| gain(&move |case| Case { key, ..case })).collect()
    };
    let waits = WAITS.iter().map(|&wait| gain(&move |case| Case { wait, ..case })).collect();
    vec![
        item("how long threads spin before they sleep", "1 ms", "not at all to 10 ms", waits),
        item(
            "the spin threshold of a notice",
            "no notices in the main experiment",
            "after a tenth of a millisecond",
            vec![
                gain(&|case| Case { wait: NOTIFY, ..case }),
                gain(&|case| Case { wait: NOTIFY, master: true, ..case }),
            ],
        ),
        item("period of swaps", "10 time slices, a tenth of the boost", "1 to 100", keys("swap period")),
        item("amp_boost_ticks", "100, as printed", "10 to 1000", keys("boost")),
        item("hp_threshold", "fast cores + 1, as printed", "1 to 6", keys("hp_threshold")),
        item("the rule for entering SP", "the count falls to one", "only from HP", keys("entering SP")),
        item("whether marked threads count as runnable", "they do", "they do not", keys("marked threads count")),
        item("topology", "none", "the nearest of equal threads", keys("topology")),
        item("what a move costs the kernel", "1,500 cycles", "0 to 20,000", keys("a move's price")),
    ]
}
