//! The paper's tables 1 and 2 with its values beside ours, and its figures 4 and 5 with our values
//! alone.

use super::helper::{Assisted, Name};
use super::jobs::{LIGHT, WORK};
use super::results::{Results, row};
use super::run::{Figures, Work};
use super::waits::By;
use super::why;
use crate::kit::figure;
use crate::page::Figure;
use baton_plot::{Lines, Table, number};

pub(super) fn all(results: &Results<'_>) -> Vec<Figure> {
    let of = |reading| {
        [
            table(results, reading, false),
            table(results, reading, true),
            figure_4(results, reading),
            figure_5(results, reading),
        ]
    };
    [1, 2].into_iter().flat_map(of).flatten().collect()
}

/// The values that the paper prints for a mechanism: work in seconds, wake-up and call in cycles.
fn printed(by: By, barrier: bool) -> [&'static str; 3] {
    match (by, barrier) {
        (By::Pause, false) => ["4.2446", "584 ± 191", "785 ± 223"],
        (By::Halt, false) => ["3.6243", "37470 ± 3975", "27813 ± 3768"],
        (By::Futex | By::Condvar, false) => ["3.5919", "116989 ± 5795", "70042 ± 3569"],
        (By::Mwmon, false) => ["3.4821", "25381 ± 2426", "5470 ± 545"],
        (By::Pause, true) => ["4.3897", "1236 ± 340", "1173 ± 338"],
        (By::Halt, true) => ["3.5720", "49953 ± 11502", "51329 ± 11879"],
        (By::Futex, true) => ["3.5917", "45035 ± 3608", "18968 ± 1343"],
        (By::Condvar, true) => ["-", "-", "-"],
        (By::Mwmon, true) => ["3.5266", "11319 ± 1770", "5470 ± 644"],
    }
}

fn strings<const N: usize>(of: [&str; N]) -> Vec<String> {
    of.map(str::to_owned).into()
}

fn table(results: &Results<'_>, reading: u32, barrier: bool) -> Option<Figure> {
    let cells = |by: By| {
        let of = |what: fn(&Figures) -> f64| results.spread(reading, row(by, barrier), what);
        let said = |of: [f64; 2]| format!("{:.0} ± {:.0}", of[0], of[1]);
        let paper = printed(by, barrier);
        let work = of(|f| f.work as f64)?;
        let base = results.spread(reading, row(By::Mwmon, barrier), |f| f.work as f64)?[0];
        let ours = [said(of(|f| f.wake_up as f64)?), said(of(|f| f.call as f64)?)];
        let work = format!("{:.3}", work[0] / base);
        Some(strings([by.name(), paper[0], &work, paper[1], &ours[0], paper[2], &ours[1]]))
    };
    let rows: Vec<_> = By::ALL.into_iter().filter_map(cells).collect();
    let header =
        strings(["by", "work, paper, s", "ours, over mwmon's", "wake-up, paper", "ours", "call, paper", "ours"]);
    let title = format!("Table {}, {}", if barrier { 2 } else { 1 }, why::reading(reading));
    let note = "Cycles, mean ± standard deviation over repetitions. The paper's row `pthreads` is compared with our `futex`; in table 1 \
        also with our condition variable.";
    (!rows.is_empty()).then(|| Figure::from(Table { title, header, rows, ..Table::default() }).noted(note))
}

fn figure_4(results: &Results<'_>, reading: u32) -> Option<Figure> {
    let by = [By::Pause, By::Futex, By::Condvar, By::Mwmon];
    let of = |by: By| {
        let rate = move |light| {
            results.mean(reading, "", Work::Pseudo { by, light, work: WORK }, |f| 1e6 / f.work.max(1) as f64)
        };
        figure::line(by.name(), LIGHT.map(rate))
    };
    let series: Vec<_> = by.into_iter().map(of).filter(|series| !series.points.is_empty()).collect();
    let names = LIGHT.map(|light| light.to_string()).collect();
    let (x, y) = ("light work, units".to_owned(), "iterations a million cycles".to_owned());
    let title = format!("Figure 4: throughput by asymmetry, {}", why::reading(reading));
    let file = if reading == 1 { "figure-4-table-1" } else { "figure-4-table-2" };
    (!series.is_empty()).then(|| Figure::from(Lines { title, x, y, names: Some(names), series }).named(file))
}

fn figure_5(results: &Results<'_>, reading: u32) -> Option<Figure> {
    let arms = [
        (None, false),
        (Some(By::Pause), true),
        (Some(By::Futex), true),
        (Some(By::Mwmon), true),
        (Some(By::Mwmon), false),
    ];
    let cells = |(kernel, (by, prefetches)): (Name, (Option<By>, bool))| {
        let of = |by, prefetches, what: fn(&Figures) -> f64| {
            results.mean(reading, "", Work::Assisted(Assisted { kernel, by, prefetches }), what).map(|of| of.mean)
        };
        let serial = [of(None, false, |f| f.work as f64)?, of(None, false, |f| f.memory as f64)?];
        let work = of(by, prefetches, |f| f.work as f64)?;
        let share = |at: fn(&Figures) -> f64| Some(format!("{:.1}", 100.0 * of(by, prefetches, at)? / work));
        let name = match (by, prefetches) {
            (None, _) => "serial".to_owned(),
            (Some(by), true) => by.name().to_owned(),
            (Some(by), false) => format!("{}, no prefetches", by.name()),
        };
        let memory = of(by, prefetches, |f| f.memory as f64)? / serial[1].max(1.0);
        let misses = of(by, prefetches, |f| f.misses as f64)? / of(None, false, |f| f.misses as f64)?.max(1.0);
        let figures = [format!("{:.3}", serial[0] / work), number(misses), number(memory)];
        let waits = [share(|f| f.waits[0] as f64)?, share(|f| f.waits[1] as f64)?];
        Some(strings([kernel.title(), &name, &figures[0], &figures[1], &figures[2], &waits[0], &waits[1]]))
    };
    let sizes = (0..2).flat_map(|size| Name::SIZES.map(|sizes| sizes[size]));
    let all = sizes.flat_map(|kernel| arms.map(|arm| (kernel, arm)));
    let rows: Vec<_> = all.filter_map(cells).collect();
    let header = strings([
        "kernel",
        "barrier",
        "speed over serial",
        "worker's misses over serial",
        "worker's memory time over serial",
        "worker in barriers, %",
        "helper in barriers, %",
    ]);
    let title = format!("Figure 5: one helper that prefetches, {}", why::reading(reading));
    let note = "Misses are the worker's own loads and stores whose line came from memory. `half`: the smaller size. Memory time is the time \
        that the worker waited for the memory behind the second level.";
    (!rows.is_empty()).then(|| Figure::from(Table { title, header, rows, ..Table::default() }).noted(note))
}
