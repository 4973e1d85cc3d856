//! The paper's figures 1 to 6. Its curves are printed without numbers, so the notes give the values
//! of its text.

use super::jobs::{BARRIERS, CORES, DELAY, LOCK, LOCKS, LONG, OPENMP, SECTIONS, SHORT, TASKS, WORKS};
use super::open;
use super::results::{Of, Results, energy, power, time, without_base};
use super::run::{Arm, Figures, Load};
use super::why::said;
use crate::kit;
use crate::page::Figure;
use baton_plot::{Lines, Point, Series, Span, number};

/// Cycles of a second.
const CLOCK: f64 = 2.1e9;

pub(super) fn all(results: &Results<'_>) -> Vec<Figure> {
    let openmp = &OPENMP;
    let micros: fn(&Figures) -> f64 = |figures| 1e6 * time(figures) / CLOCK;
    let millijoules: fn(&Figures) -> f64 = |figures| 1e3 * energy(figures);
    let all = [
        lines(
            results,
            ("Figure 1a: equal work inside and outside of a lock", "figure-1a"),
            SECTIONS,
            &LOCKS,
            micros,
            "µs a section of each thread",
        ),
        lines(
            results,
            ("Figure 1b: energy of figure 1a", "figure-1b"),
            SECTIONS,
            &LOCKS,
            millijoules,
            "mJ a section of each thread",
        ),
        lines(results, ("Figure 2: LOCK/UNLOCK", "figure-2"), LOCK, openmp, micros, "µs an acquisition of each thread"),
        lines(results, ("Figure 3: PARALLEL TASK", "figure-3"), TASKS, openmp, micros, "µs a task of each thread"),
        lines(
            results,
            ("Figure 4a: energy of figure 3", "figure-4a"),
            TASKS,
            openmp,
            millijoules,
            "mJ a task of each thread",
        ),
        figure_4b(results),
        lines(
            results,
            ("Figure 5: barriers after 1 µs of work", "figure-5"),
            SHORT,
            &BARRIERS,
            micros,
            "µs an episode",
        ),
        lines(
            results,
            ("Figure 6: barriers after 250 µs of work", "figure-6"),
            LONG,
            &BARRIERS,
            micros,
            "µs an episode",
        ),
        table(results),
        tornado(results),
    ];
    all.into_iter().flatten().collect()
}

/// What the paper's text says of a figure.
fn printed(load: Load) -> &'static str {
    match load {
        SECTIONS => {
            "In the paper the new locks have as much as 4 times less overhead, and take up to 3.5 times less energy."
        }
        LOCK => "In the paper the original is faster at few cores, and 1spinner is 22 times faster at 64.",
        TASKS => {
            "In the paper 1spinner is comparable at 2 to 8 cores, and up to 23 times faster with 6 times less energy at 64."
        }
        SHORT => "In the paper a barrier of two levels with MWAIT has almost half of the overhead.",
        _ => "In the paper a barrier of two levels with MWAIT is still better; the work obscures the difference.",
    }
}

fn lines(
    results: &Results<'_>,
    (title, file): (&str, &'static str),
    load: Load,
    arms: &[Arm],
    value: fn(&Figures) -> f64,
    y: &str,
) -> Option<Figure> {
    let series = |&arm: &Arm| {
        let point = |cores: u32| {
            let of = results.mean(Of::at(load, cores), arm, value)?;
            Some(Point { x: f64::from(cores), y: of.mean, ends: of.ends() })
        };
        let name = if matches!(load, Load::Barriers { .. }) { arm.barrier_name() } else { arm.name() };
        Series { name: name.to_owned(), points: CORES.into_iter().filter_map(point).collect(), theirs: false }
    };
    let series: Vec<Series> = arms.iter().map(series).filter(|series| !series.points.is_empty()).collect();
    let lines = Lines { title: title.to_owned(), x: "cores".to_owned(), y: y.to_owned(), names: None, series };
    (!lines.series.is_empty()).then(|| Figure::from(lines).noted(printed(load)).named(file))
}

fn figure_4b(results: &Results<'_>) -> Option<Figure> {
    let cells = |tenths: u64| {
        let of = Of::most(Load::Tasks { work: tenths * DELAY });
        let gain = |arm| results.ratio(of, [Arm::Original, arm], time);
        let unequal = results.faster(Of::most(Load::UnequalTasks { work: tenths * DELAY }));
        let row = [Some(gain(Arm::New)?), gain(Arm::Mcs), results.saved(of), unequal].map(said);
        Some(core::iter::once(number(tenths as f64 / 10.0)).chain(row).collect())
    };
    let rows: Vec<Vec<String>> = WORKS.into_iter().filter_map(cells).collect();
    let header = [
        "work, µs",
        "1spinner, times faster",
        "MCS/MWAIT, times faster",
        "1spinner, times less energy",
        "1spinner, tasks of unequal length, times faster",
    ];
    let note = "The paper: the gain drops with the work, and stays above 1. Tasks of unequal length have half to one and a half times the work.";
    let several = rows.len() > 1;
    kit::figure::table("Figure 4b: PARALLEL TASK by work, 64 cores", &header, rows, note).filter(|_| several)
}

/// Time, energy with and without base, mean power of each arm at 64 cores.
fn table(results: &Results<'_>) -> Option<Figure> {
    let loads: [(&str, Load, &[Arm]); 5] = [
        ("figure 1", SECTIONS, &LOCKS),
        ("figure 2", LOCK, &OPENMP),
        ("figure 3", TASKS, &OPENMP),
        ("figure 5", SHORT, &BARRIERS),
        ("figure 6", LONG, &BARRIERS),
    ];
    let cells = |(figure, load, arm): (&str, Load, Arm)| {
        let of = Of::most(load);
        let name = if matches!(load, Load::Barriers { .. }) { arm.barrier_name() } else { arm.name() };
        let cycles = results.mean(of, arm, time)?;
        let half = cycles.half.map_or_else(String::new, |half| format!(" ± {half:.0}"));
        let row = [
            figure.to_owned(),
            name.to_owned(),
            format!("{:.0}{half}", cycles.mean),
            said(results.mean(of, arm, |figures| 1e3 * energy(figures))),
            said(results.mean(of, arm, |figures| 1e3 * without_base(figures))),
            said(results.mean(of, arm, |figures| CLOCK * power(figures))),
            said(results.mean(of, arm, |figures| CLOCK * without_base(figures) / figures.cycles)),
        ];
        Some(row.into())
    };
    let all = loads.into_iter().flat_map(|(figure, load, arms)| arms.iter().map(move |&arm| (figure, load, arm)));
    let rows: Vec<Vec<String>> = all.filter_map(cells).collect();
    let header = ["figure", "with", "cycles an iteration", "mJ", "mJ without base", "W", "W without base"];
    kit::figure::table("64 cores: time, energy, mean power", &header, rows, "")
}

fn tornado(results: &Results<'_>) -> Option<Figure> {
    let row = |name: &str| {
        let values = open::choices(results, name);
        let (least, greatest) = (values.first()?.clone(), values.last()?.clone());
        (values.len() > 1).then(|| Span { name: name.to_owned(), least, greatest })
    };
    let shown = |name: &&str| !name.contains("watts") && !name.contains("lengths");
    let rows = open::names().filter(shown).filter_map(row).collect();
    let usual = results.faster(Of::most(TASKS)).map(|of| of.mean);
    kit::open::tornado(rows, "time of tasks at 64 cores, original over 1spinner", usual, &[(23.0, "paper")])
}
