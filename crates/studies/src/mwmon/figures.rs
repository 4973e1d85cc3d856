//! The paper's tables 1 and 2 with its values beside ours, and its figures 4 and 5 with our values
//! alone.

use super::helper::{Assisted, Name};
use super::jobs::{FREE_CHANGE, IDEAL, LIGHT, STORES_ALONE, WORK};
use super::results::{Of, Results, Value, call, memory, misses, wake_up, work};
use super::run::Work;
use super::waits::By;
use super::why;
use crate::kit::Ratio;
use crate::kit::figure::{self, lines, strings, table};
use crate::page::Figure;
use baton_plot::number;

pub(super) fn all(results: &Results<'_>) -> Vec<Figure> {
    let of = |reading| {
        [
            paper_table(results, reading, false),
            paper_table(results, reading, true),
            figure_4(results, reading),
            figure_5(results, reading),
        ]
    };
    [1, 2].into_iter().flat_map(of).chain([changes(results)]).flatten().collect()
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

fn paper_table(results: &Results<'_>, reading: u32, barrier: bool) -> Option<Figure> {
    let cells = |by: By| {
        let of = |by, what: Value| results.spread(Of::chosen(reading, Work::row(by, barrier)), what);
        let said = |of: [f64; 2]| format!("{:.0} ± {:.0}", of[0], of[1]);
        let paper = printed(by, barrier);
        let ours = [said(of(by, wake_up)?), said(of(by, call)?)];
        let work = format!("{:.3}", of(by, work)?[0] / of(By::Mwmon, work)?[0]);
        Some(strings(&[by.name(), paper[0], &work, paper[1], &ours[0], paper[2], &ours[1]]))
    };
    let rows: Vec<_> = By::ALL.into_iter().filter_map(cells).collect();
    let header = ["by", "work, paper, s", "ours, over mwmon's", "wake-up, paper", "ours", "call, paper", "ours"];
    let title = format!("Table {}, {}", if barrier { 2 } else { 1 }, why::reading(reading));
    let note = "Cycles, mean ± standard deviation over repetitions. The paper's row `pthreads` is compared with our `futex`; in table 1 \
        also with our condition variable.";
    table(title, &header, rows, note)
}

fn figure_4(results: &Results<'_>, reading: u32) -> Option<Figure> {
    let by = [By::Pause, By::Futex, By::Condvar, By::Mwmon];
    let of = |by: By| {
        let rate = move |light| {
            let of = Of::chosen(reading, Work::Pseudo { by, light, work: WORK });
            results.mean(of, |f| 1e6 / f.work.max(1) as f64)
        };
        figure::line(by.name(), LIGHT.map(rate))
    };
    let names = LIGHT.map(|light| light.to_string()).collect();
    let title = format!("Figure 4: throughput by asymmetry, {}", why::reading(reading));
    let file = if reading == 1 { "figure-4-table-1" } else { "figure-4-table-2" };
    let axes = [&title, "light work, units", "iterations a million cycles"];
    lines(axes, names, by.map(of).into()).map(|figure| figure.named(file))
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
        let of = |by, prefetches, what: Value| {
            let work = Work::Assisted(Assisted { kernel, by, prefetches });
            results.mean(Of::chosen(reading, work), what).map(|of| of.mean)
        };
        let serial = [of(None, false, work)?, of(None, false, memory)?];
        let took = of(by, prefetches, work)?;
        let share = |at: Value| Some(format!("{:.1}", 100.0 * of(by, prefetches, at)? / took));
        let name = match (by, prefetches) {
            (None, _) => "serial".to_owned(),
            (Some(by), true) => by.name().to_owned(),
            (Some(by), false) => format!("{}, no prefetches", by.name()),
        };
        let memory = of(by, prefetches, memory)? / serial[1].max(1.0);
        let misses = of(by, prefetches, misses)? / of(None, false, misses)?.max(1.0);
        let figures = [format!("{:.3}", serial[0] / took), number(misses), number(memory)];
        let waits = [share(|f| f.waits[0] as f64)?, share(|f| f.waits[1] as f64)?];
        Some(strings(&[kernel.title(), &name, &figures[0], &figures[1], &figures[2], &waits[0], &waits[1]]))
    };
    let sizes = (0..2).flat_map(|size| Name::SIZES.map(|sizes| sizes[size]));
    let all = sizes.flat_map(|kernel| arms.map(|arm| (kernel, arm)));
    let rows: Vec<_> = all.filter_map(cells).collect();
    let header = [
        "kernel",
        "barrier",
        "speed over serial",
        "worker's misses over serial",
        "worker's memory time over serial",
        "worker in barriers, %",
        "helper in barriers, %",
    ];
    let title = format!("Figure 5: one helper that prefetches, {}", why::reading(reading));
    let note = "Misses are the worker's own loads and stores whose line came from memory. `half`: the smaller size. Memory time is the time \
        that the worker waited for the memory behind the second level.";
    table(title, &header, rows, note)
}

/// The table of the changes that show why: one key of the chip each, and the oracle arm.
fn changes(results: &Results<'_>) -> Option<Figure> {
    let row = |(reading, name): (u32, &'static str)| {
        let percent = |of: Option<Ratio>| of.map(|of| format!("{:.1}", of.percent().mean));
        let ideal = name == IDEAL;
        let figure_4 = |(over, light): (By, u32)| {
            percent(if ideal {
                results.gain(reading, Of::ideal, over, (light, WORK))
            } else {
                why::changed(results, reading, name, over, light)
            })
        };
        let figure_5 = |[kernel, _]: [Name; 2]| {
            percent(if ideal {
                results.speedup(reading, Of::ideal, kernel, By::Mwmon)
            } else {
                why::against(results, reading, name, kernel, true)
            })
        };
        let shown = if name.is_empty() { "as it is" } else { name };
        let first = [Some(why::reading(reading).to_owned()), Some(shown.to_owned())];
        let ends = [(By::Pause, 0), (By::Pause, 10), (By::Futex, 0), (By::Futex, 10)].map(figure_4);
        first.into_iter().chain(ends).chain(Name::SIZES.map(figure_5)).collect::<Option<Vec<String>>>()
    };
    let all = [1, 2].into_iter().flat_map(|reading| ["", FREE_CHANGE, STORES_ALONE, IDEAL].map(|name| (reading, name)));
    let rows: Vec<_> = all.filter_map(row).collect();
    let header = [
        "prices",
        "the chip",
        "figure 4, idle, over spin-loops",
        "alike",
        "idle, over pthreads",
        "alike",
        "LU",
        "TC",
        "BT's stencil",
        "sparse product",
    ];
    let note = "What mwmon gains, in percent, with one change: in figure 4 over the other mechanism, in figure 5 over the kernel alone. A free mwmon is the \
        oracle arm: the other mechanisms and the kernels alone are as they are.";
    table("Changes that show why", &header, rows, note)
}
