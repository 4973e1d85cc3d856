//! Falsifiers, and what the paper leaves open.

use super::jobs::{
    CHANGES, DELAY, FREE, LENGTHS, LOCK, LONG, MORE_TASKS, SECTIONS, SHORT, SLOW, SPIN, SPINS, TASK_SEEDS_BESIDE, TASKS,
};
use super::results::{Of, Results, Value, energy, greatest, power, time};
use super::run::{Arm, Load, TASKS as TASKS_A_THREAD};
use super::why;
use crate::{Falsifier, Interval, Unspecified, Verdict};
use baton_plot::number;

/// What a quick study lacks.
const FULL: &str = "needs the full run";
/// Times that differ by less than this share are the same.
const SAME: f64 = 0.05;
/// A time gain of less than this share is none, where wake-ups are free.
const NEAR: f64 = 0.10;
/// The work of tasks at which the advantage is about 1.
const LONG_WORK: Load = Load::Tasks { work: 40_000 * DELAY };

pub(super) fn falsifiers(results: &Results<'_>) -> Vec<Falsifier> {
    let ablations = [
        (
            "two levels that poll",
            Arm::NewPolls,
            "two levels that poll gain nothing over the stock barrier: less than 5%",
        ),
        (
            "the stock barrier with MWAIT",
            Arm::OriginalMwait,
            "MWAIT on the stock barrier gains less than two levels with MWAIT do",
        ),
    ];
    let mut all = vec![few_cores(results), long_work(results), slow_exit(results), free_wakes(results)];
    all.extend(ablations.map(|(id, arm, what)| ablation(results, id, arm, what)));
    all.extend([LOCK, TASKS, SHORT].map(|load| twice(results, load)));
    all
}

fn few_cores(results: &Results<'_>) -> Falsifier {
    let what = "1spinner does not win figure 2 at 2, 4 and 8 cores: its time is no less than the original's";
    let gain = |cores| results.faster(Of::at(LOCK, cores));
    let seen = || {
        let [two, four, eight] = [gain(2)?, gain(4)?, gain(8)?];
        let figures = [("gain at 2 cores, times", two.mean), ("at 4", four.mean), ("at 8", eight.mean)];
        Some((Verdict::all([two, four, eight].map(|gain| gain.is_at_most(1.0))), figures))
    };
    Falsifier::weighed("few cores", what, FULL, seen(), || {
        format!("{}; {}", why::crossover(results), why::locks(results))
    })
}

fn long_work(results: &Results<'_>) -> Falsifier {
    let what = "the advantage of tasks is about 1: the times differ by less than 5%";
    let gain = results.faster(Of::most(LONG_WORK));
    let seen = gain.map(|gain| (gain.is_within([1.0 - SAME, 1.0 + SAME]), [("gain, times", gain.mean), half(gain)]));
    Falsifier::weighed("4000 µs of work", what, FULL, seen, || why::tasks(results))
}

fn slow_exit(results: &Results<'_>) -> Falsifier {
    let what = "an exit of 20,000 cycles takes the gain of figure 2 away: it is below 1.05 at 64 cores";
    let gain = results.faster(Of { change: SLOW, ..Of::most(LOCK) });
    let seen = gain.map(|gain| (gain.is_below(1.0 + SAME), [("gain, times", gain.mean)]));
    Falsifier::weighed("a slow exit", what, FULL, seen, || why::locks(results))
}

/// Half of an interval's width, as a figure of a falsifier.
fn half(of: Interval) -> (&'static str, f64) {
    ("half its 95% interval", of.half.unwrap_or(0.0))
}

fn free_wakes(results: &Results<'_>) -> Falsifier {
    let what = "the energy gain of tasks is the power's alone: their times differ by less than 10%";
    let of = Of { change: FREE, ..Of::most(TASKS) };
    let ratio = |value: Value| results.ratio(of, [Arm::Original, Arm::New], value);
    let seen = || {
        let [time, energy, power] = [ratio(time)?, ratio(energy)?, ratio(power)?];
        let figures =
            [("time, times", time.mean), half(time), ("energy, times", energy.mean), ("mean power, times", power.mean)];
        Some((time.is_within([1.0 - NEAR, 1.0 + NEAR]), figures))
    };
    Falsifier::weighed("free wake-ups of futexes", what, FULL, seen(), || why::tasks(results))
}

fn ablation(results: &Results<'_>, id: &'static str, arm: Arm, what: &str) -> Falsifier {
    let over = |load, arm| results.ratio(Of::most(load), [Arm::Original, arm], time);
    let seen = || {
        let [short, of_new] = [over(SHORT, arm)?, over(SHORT, Arm::New)?];
        let figures = [
            ("its gain at 1 µs, times", short.mean),
            ("two levels with MWAIT, 1 µs", of_new.mean),
            ("its gain at 250 µs", over(LONG, arm)?.mean),
            ("two levels with MWAIT, 250 µs", over(LONG, Arm::New)?.mean),
        ];
        let polls = arm == Arm::NewPolls;
        Some((if polls { short.is_below(1.0 + SAME) } else { short.less(of_new).is_below(0.0) }, figures))
    };
    Falsifier::weighed(id, what, FULL, seen(), || why::barriers(results))
}

/// Twice the iterations.
fn twice(results: &Results<'_>, load: Load) -> Falsifier {
    let id = match load {
        LOCK => "twice the acquisitions",
        TASKS => "twice the tasks",
        _ => "twice the barriers",
    };
    let what = "no time moves by more than its interval, or 5%";
    let of = Of::most(load);
    let moved = |arm| {
        let (once, double) = (results.mean(of, arm, time)?, results.mean(Of { times: 2, ..of }, arm, time)?);
        let half = |of: Interval| of.half.unwrap_or(0.0);
        let bound = (half(once) + half(double)).max(SAME * once.mean);
        Some([double.mean / once.mean, (double.mean - once.mean).abs() / bound])
    };
    let seen = moved(Arm::Original).zip(moved(Arm::New)).map(|(original, new)| {
        let figures = [("the original's time, times", original[0]), ("the new one's", new[0])];
        (original[1] <= 1.0 && new[1] <= 1.0, figures)
    });
    Falsifier::shown(id, what, FULL, seen, || {
        "an iteration's cost changes with their number: what is measured is not yet steady".to_owned()
    })
}

/// Things that are left open: what, what was chosen and why, what real systems span.
const OPEN: [[&str; 3]; 11] = [
    ["spin budget", "300,000 tries: libgomp's own, one thread a core", "100 to 300,000"],
    [
        "which lock the paper replaced",
        "libgomp's mutex: it reads, then sleeps",
        "that, one that sleeps at once, a ticket spinlock, one that tries at each turn",
    ],
    ["tasks a thread", "12: the paper gives \"100000 to 3\", without a unit", "12 to 120"],
    ["futex prices", "those of the chip file", "free wake-ups to three times"],
    [
        "kernel",
        "a program calls only if a thread sleeps, and an idle core polls for 50,000 cycles",
        "that, each wake-up a call, or the kernel of 3.5",
    ],
    ["MWAIT's exit", "1000 cycles, some 0.5 µs", "50 to 20,000 cycles"],
    ["homes of lines", "first touch: monitors at the node of their thread", "that, or all lines round all dies"],
    [
        "directory",
        "full: names each core with a copy. The paper's processor (HT Assist) names the owner alone, and asks all cores where a line is shared",
        "that, or the owner alone",
    ],
    ["base watts", "252 W: twice a server of two sockets", "126 to 400 W"],
    ["watts in MWAIT", "1.46 W a core: a fifth of the active ones", "0 to 3.64 W"],
    ["lengths of figure 1", "1 µs inside and outside", "0.1 to 20 µs"],
];

/// Under each choice of what is left open: the gain of tasks at 64 cores, in time or, of watts, in energy; of figure 1, the most.
pub(super) fn choices(results: &Results<'_>, what: &str) -> Vec<(f64, String)> {
    // The seeds that every choice has.
    let results = &results.first(TASK_SEEDS_BESIDE);
    let most = Of::most(TASKS);
    let usual = match what {
        "base watts" | "watts in MWAIT" => results.saved(most),
        "lengths of figure 1" => most_of_sections(results, SECTIONS),
        _ => results.faster(most),
    };
    let mut all: Vec<(f64, String)> = usual.map(|of| (of.mean, "as chosen".to_owned())).into_iter().collect();
    let mut add = |value: Option<Interval>, name: &str| all.extend(value.map(|of| (of.mean, name.to_owned())));
    for (group, change, _) in CHANGES.iter().filter(|(group, ..)| *group == what) {
        let of = Of { change, ..most };
        add(if group.contains("watts") { results.saved(of) } else { results.faster(of) }, change);
    }
    match what {
        "spin budget" => {
            for spin in SPINS {
                add(
                    results.across([(Of { spin, ..most }, Arm::Original), (most, Arm::New)], time),
                    &format!("{spin} tries"),
                );
            }
        }
        "which lock the paper replaced" => {
            [Arm::Pthread, Arm::Ticket, Arm::SpinPark]
                .iter()
                .for_each(|&arm| add(results.ratio(most, [arm, Arm::New], time), arm.name()));
        }
        "tasks a thread" => MORE_TASKS
            .iter()
            .for_each(|&times| add(results.faster(Of { times, ..most }), &format!("{} tasks", times * TASKS_A_THREAD))),
        "lengths of figure 1" => {
            for tenths in LENGTHS {
                let name = format!("{} µs", number(tenths as f64 / 10.0));
                add(most_of_sections(results, Load::Sections { work: tenths * DELAY }), &name);
            }
        }
        _ => (),
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// What the slowest standard lock of figure 1 takes over 1spinner at 64 cores.
fn most_of_sections(results: &Results<'_>, load: Load) -> Option<Interval> {
    let standard = [Arm::Pthread, Arm::Original, Arm::Ticket];
    let all: Option<Vec<Interval>> =
        standard.into_iter().map(|arm| results.ratio(Of::most(load), [arm, Arm::New], time)).collect();
    all.and_then(greatest)
}

/// Names of what is left open.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OPEN.iter().map(|[what, ..]| *what)
}

pub(super) fn unspecified(results: &Results<'_>) -> Vec<Unspecified> {
    let of = |[what, chosen, range]: [&str; 3]| {
        let values = choices(results, what);
        let effect = values.first().zip(values.last()).map(|(least, greatest)| [least.0, greatest.0]);
        let effect = effect.filter(|_| values.len() > 1);
        let of = match what {
            "base watts" | "watts in MWAIT" => "A8: energy of tasks, times",
            "lengths of figure 1" => "A3: the most over 1spinner at 64 cores, times",
            _ => "A7: time of tasks at 64 cores, times",
        };
        Unspecified {
            what: what.to_owned(),
            chosen: chosen.to_owned(),
            range: range.to_owned(),
            effect,
            note: if effect.is_some() { of } else { "needs the full run" }.to_owned(),
        }
    };
    let said = format!("{SPIN} tries are the original's in every other row");
    let mut all: Vec<Unspecified> = OPEN.into_iter().map(of).collect();
    if let Some(first) = all.first_mut() {
        first.chosen = format!("{}; {said}", first.chosen);
    }
    all
}
