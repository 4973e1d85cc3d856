//! Real programs with the same lock on the same chip, by threads.

use crate::Interval;
use crate::kit::figure::{bar, line};
use crate::kit::{reduction, said};
use crate::ocor::real::{Arms, RealPair, THREADS};
use crate::page::{Figure, cell};
use baton_plot::{Bars, Lines, Table, number};
use baton_programs::real::Program;

type Value = fn(&RealPair<'_>) -> f64;

fn coh(pair: &RealPair<'_>) -> f64 {
    reduction(pair.off.account.overhead as f64, pair.on.account.overhead as f64)
}

fn roi(pair: &RealPair<'_>) -> f64 {
    reduction(pair.off.cycles as f64, pair.on.cycles as f64)
}

/// A program's pairs at one number of threads, with marks in routers.
fn at<'a, 'b>(real: &'a [RealPair<'b>], program: Program, threads: u32) -> impl Iterator<Item = &'a RealPair<'b>> {
    of(real, Arms::Marked, program, threads)
}

fn of<'a, 'b>(
    real: &'a [RealPair<'b>],
    arms: Arms,
    program: Program,
    threads: u32,
) -> impl Iterator<Item = &'a RealPair<'b>> {
    real.iter()
        .filter(move |pair| (pair.case.arms, pair.case.what.program, pair.case.threads) == (arms, program, threads))
}

fn over_seeds(real: &[RealPair<'_>], program: Program, threads: u32, value: Value) -> Option<Interval> {
    Interval::of(&at(real, program, threads).map(value).collect::<Vec<_>>())
}

/// Programs and thread counts that were run with these arms.
fn places_of(real: &[RealPair<'_>], arms: Arms) -> Vec<(Program, u32)> {
    let those = real.iter().filter(|pair| pair.case.arms == arms);
    let mut places: Vec<(Program, u32)> = those.map(|pair| (pair.case.what.program, pair.case.threads)).collect();
    places.dedup();
    places
}

fn places(real: &[RealPair<'_>]) -> Vec<(Program, u32)> {
    places_of(real, Arms::Marked)
}

/// The table that shows whether the registers' price makes a program slower, or the network:
/// registers that the arm with marks pays for, free ones, and registers that both arms pay for.
fn prices(real: &[RealPair<'_>]) -> Option<Table> {
    let row = |(program, threads): (Program, u32)| {
        let mut cells = vec![program.info().name.to_owned(), threads.to_string()];
        for value in [roi as Value, coh] {
            for arms in Arms::PRICED {
                let values: Vec<f64> = of(real, arms, program, threads).map(value).collect();
                cells.push(said(Interval::of(&values)));
            }
        }
        cells
    };
    let rows: Vec<Vec<String>> = places_of(real, Arms::Both).into_iter().map(row).collect();
    let mut header = vec!["program".to_owned(), "threads".to_owned()];
    for what in ["less time", "less overhead"] {
        header.extend(Arms::PRICED.map(|arms| format!("{what}, {}, %", arms.name())));
    }
    let beyond = |arms: Arms, slower: bool| {
        let out = |(program, threads): &(Program, u32)| {
            let values: Vec<f64> = of(real, arms, *program, *threads).map(roi).collect();
            Interval::of(&values)
                .and_then(Interval::ends)
                .is_some_and(|[low, high]| if slower { high < 0.0 } else { low > 0.0 })
        };
        places_of(real, Arms::Both).iter().filter(|place| out(place)).count()
    };
    let counts =
        Arms::PRICED.map(|arms| format!("{}: {} and {}", arms.name(), beyond(arms, true), beyond(arms, false)));
    let note =
        format!("Of {} places, slower and faster beyond their 95% intervals, {}.", rows.len(), counts.join("; "));
    let title = "Real programs: is it the registers' price?".to_owned();
    (!rows.is_empty()).then_some(Table { title, note, header, rows })
}

/// The table that compares marks in routers, marks at the home, and a queue lock in software
/// without marks.
fn at_home(real: &[RealPair<'_>]) -> Option<Table> {
    let row = |(program, threads): (Program, u32)| {
        let less =
            |arms, value: Value| said(Interval::of(&of(real, arms, program, threads).map(value).collect::<Vec<_>>()));
        let mut cells = vec![program.info().name.to_owned(), threads.to_string()];
        cells.extend([Arms::Marked, Arms::Home, Arms::Software].map(|arms| less(arms, roi)));
        cells.extend([Arms::Marked, Arms::Home].map(|arms| less(arms, coh)));
        cells
    };
    let rows: Vec<Vec<String>> = places_of(real, Arms::Home).into_iter().map(row).collect();
    let header = [
        "program",
        "threads",
        "less time, routers, %",
        "less time, home, %",
        "less time, mcs in software, %",
        "less overhead, routers, %",
        "less overhead, home, %",
    ];
    let title = "Real programs: routers, the home, or a lock in software".to_owned();
    (!rows.is_empty()).then(|| Table { title, note: String::new(), header: header.map(str::to_owned).into(), rows })
}

pub(super) fn all(real: &[RealPair<'_>]) -> Vec<Figure> {
    if real.is_empty() {
        return Vec::new();
    }
    let note = "Programs of this project with their own accesses and a checked result, on the study's chip with as many cores \
                as threads. They are no stand-ins: nothing of them was fitted, and the paper has no figure of them.";
    let mut figures = vec![Figure::from(table(real)).noted(note), shares(real).into()];
    figures.extend(at_home(real).map(Figure::from));
    figures.extend(prices(real).map(Figure::from));
    let counts = |program| THREADS.iter().filter(|&&threads| at(real, program, threads).next().is_some()).count();
    if Program::ALL.into_iter().any(|program| counts(program) > 1) {
        let titles = [("less competition overhead", "reduction of competition overhead, %", coh as Value)];
        let all = titles.into_iter().chain([("a shorter run", "reduction of the run's time, %", roi as Value)]);
        figures.extend(all.map(|(title, y, value)| Figure::from(trend(real, title, y, value))));
    }
    figures
}

fn shares(real: &[RealPair<'_>]) -> Bars {
    let row = |(program, threads): (Program, u32)| {
        let values: [Value; 3] = [|pair| pair.off.cs_share(), |pair| pair.off.coh_share(), |pair| pair.on.coh_share()];
        let bars = values.map(|value| bar(over_seeds(real, program, threads, value), None));
        (format!("{}, {threads} threads", program.info().name), bars.into())
    };
    Bars {
        title: "Real programs: where the time goes".to_owned(),
        x: "share of the run's thread-time, %".to_owned(),
        series: ["critical sections", "competition overhead, original", "with marks"].map(str::to_owned).into(),
        theirs: String::new(),
        rows: places(real).into_iter().map(row).collect(),
    }
}

fn trend(real: &[RealPair<'_>], title: &str, y: &str, value: Value) -> Lines {
    let line =
        |program: Program| line(program.info().name, THREADS.map(|threads| over_seeds(real, program, threads, value)));
    Lines {
        title: format!("Real programs: {title}, by threads"),
        x: "threads, and cores".to_owned(),
        y: y.to_owned(),
        names: Some(THREADS.map(|n| n.to_string()).into()),
        series: Program::ALL.map(line).into(),
    }
}

fn table(real: &[RealPair<'_>]) -> Table {
    let row = |(program, threads): (Program, u32)| {
        let of = |value: Value| over_seeds(real, program, threads, value);
        let cell = |value: Value| cell(of(value).map(|ours| ours.mean));
        let ends = |value: Value| {
            of(value)
                .and_then(Interval::ends)
                .map_or_else(|| "-".to_owned(), |e| format!("{} – {}", number(e[0]), number(e[1])))
        };
        vec![
            program.info().name.to_owned(),
            threads.to_string(),
            cell(|pair| pair.off.cycles as f64),
            cell(|pair| pair.off.account.acquisitions as f64),
            cell(|pair| pair.off.cs_share()),
            cell(|pair| pair.off.coh_share()),
            cell(|pair| pair.off.entered_spinning()),
            cell(|pair| pair.on.entered_spinning()),
            cell(coh),
            ends(coh),
            cell(roi),
            ends(roi),
        ]
    };
    let header = [
        "program",
        "threads",
        "cycles, original",
        "critical sections",
        "sections %",
        "overhead %",
        "spinning %: original",
        "with marks",
        "less overhead %",
        "95%",
        "less time %",
        "95%",
    ];
    Table {
        title: "Real programs, without marks and with them".to_owned(),
        note: String::new(),
        header: header.map(str::to_owned).into(),
        rows: places(real).into_iter().map(row).collect(),
    }
}
