//! Figures with a row a program: 2, 11, 12, 13 and 14, what overhead consists of, and whether the stand-ins show what the paper
//! prints of its programs.

use super::paper;
use crate::kit::figure::{Column, bar, by_program};
use crate::kit::over_draws;
use crate::ocor::account::CAUSES;
use crate::ocor::program::Program;
use crate::ocor::results::Results;
use crate::ocor::run::Figures;
use crate::ocor::values::{Pair, Value, coh, roi};
use crate::page::{Figure, cell};
use baton_plot::{Bar, Bars, Table};
use baton_programs::synthetic::Profile;

const SHARE: &str = "share of the region's thread-time, %";

/// Returns the paper's value of a program, if it is printed.
type Printed = fn(&str) -> Option<f64>;

/// A series of bars.
type Series<'a> = Column<'a, Program, Figures>;

fn none(_: &str) -> Option<f64> {
    None
}

/// For each program, what the paper prints of it without marks, beside what its stand-in shows, and
/// how many runs of the stand-in show everything that is printed.
pub(super) fn baseline(results: &Results<'_>) -> Figure {
    let row = |name: &str| {
        let pairs = results.program(name);
        let mean = |ours: Value| cell(over_draws(&pairs, ours).map(|ours| ours.mean));
        let profile = results.profile(name);
        let printed = &profile.printed;
        let percent = |share: Option<f64>| share.map(|share| 100.0 * share);
        let figures: [(Value, Option<f64>); 3] = [
            (|pair| pair.off.cs_share(), percent(printed.cs_share)),
            (|pair| pair.off.coh_share(), percent(printed.coh_share)),
            (|pair| pair.off.entered_spinning(), percent(printed.entered_spinning)),
        ];
        let mut cells = vec![name.to_owned()];
        for (ours, paper) in figures {
            cells.extend([cell(paper), mean(ours)]);
        }
        let rates: [(Value, &str); 2] = [
            (|pair| pair.off.acquisition_rate(), printed.cs_rate.name()),
            (|pair| pair.off.packet_rate(), printed.network.name()),
        ];
        for (ours, class) in rates {
            cells.extend([class.to_owned(), mean(ours)]);
        }
        let met = pairs.iter().filter(|pair| pair.off.meets(profile)).count();
        cells.push(format!("{met} of {}", pairs.len()));
        cells
    };
    let header = [
        "program",
        "sections %: printed",
        "ours",
        "overhead %: printed",
        "ours",
        "spinning %: printed",
        "ours",
        "rate: printed",
        "ours",
        "network: printed",
        "ours",
        "runs that meet all",
    ];
    let table = Table {
        title: "What the paper prints of its programs without OCOR, and what the stand-ins show".to_owned(),
        note: String::new(),
        header: header.map(str::to_owned).into(),
        rows: results.programs().into_iter().map(row).collect(),
    };
    Figure::from(table).noted(
        "Shares of the region's thread-time, share of acquisitions entered while spinning; acquisitions and packets a \
         thousand cycles and thread, of which the paper prints low and high only. A run meets what is printed if every \
         share is within 5% of it (spinning: 4 points), or within the profile's bounds where none is printed, and both \
         rates are within the profile's bounds.",
    )
}

/// Returns a sentence that counts programs: for how many the paper's printed figures are shown by
/// every run without marks of their stand-in, and for how many by none of its runs.
pub(crate) fn shown(results: &Results<'_>) -> String {
    let all = results.programs();
    let runs = |name: &str| {
        let pairs = results.program(name);
        (pairs.iter().filter(|pair| pair.off.meets(results.profile(name))).count(), pairs.len())
    };
    let by_program: Vec<(usize, usize)> = all.iter().map(|name| runs(name)).collect();
    let whole = by_program.iter().filter(|(met, runs)| met == runs).count();
    let none = by_program.iter().filter(|(met, _)| *met == 0).count();
    format!(
        "Of the {} that were run, {whole} show all that is printed in every run, {none} in none (first table of the figures).",
        all.len()
    )
}

/// Figure 2.
pub(super) fn figure_2(results: &Results<'_>) -> Option<Figure> {
    let series: [Series<'_>; 2] = [
        ("critical sections", |pair| pair.off.cs_share(), paper::cs_share),
        ("competition overhead", |pair| pair.off.coh_share(), paper::coh_share),
    ];
    (!results.programs().is_empty()).then(|| {
        let title = "Figure 2: where the time goes without marks";
        Figure::from(by_program(results, title, SHARE, &series))
            .named("figure-2")
            .noted("The paper's text prints these shares for four programs, and overhead for two more (section 5.2.3).")
    })
}

/// Figures 11 to 14, and what overhead consists of.
pub(super) fn rest(results: &Results<'_>) -> Vec<Figure> {
    let arms = |off: Value, on: Value, printed: [Printed; 2]| {
        [("original", off, printed[0]), ("with marks", on, printed[1])] as [Series<'_>; 2]
    };
    let spinning: [Printed; 2] = [|name| Some(paper::spinning(name)?[0]), |name| Some(paper::spinning(name)?[1])];
    vec![
        Figure::from(by_program(
            results,
            "Figure 11a and table 3: how much of the competition overhead goes",
            "reduction of competition overhead, %",
            &[("ours", coh, |name| Some(paper::table_3(name)?.coh))],
        ))
        .named("figure-11a"),
        Figure::from(by_program(
            results,
            "Figure 11b: critical sections that were entered while spinning",
            "share of all acquisitions, %",
            &arms(|pair| pair.off.entered_spinning(), |pair| pair.on.entered_spinning(), spinning),
        ))
        .named("figure-11b"),
        Figure::from(normalised(
            results,
            "Figure 12a: rate of critical sections",
            "lock requests a cycle, % of the greatest program's",
            |pair| pair.off.cs_rate(),
            |name| (name == "ilbdc").then_some(100.0),
            |profile| profile.printed.cs_rate.name(),
        ))
        .named("figure-12a")
        .noted("In brackets: whether table 3 of the paper calls the program low or high. In the paper ilbdc has the greatest value and imag \
            the least."),
        Figure::from(normalised(
            results,
            "Figure 12b: use of the network",
            "packets a cycle, % of the greatest program's",
            |pair| pair.off.packet_rate(),
            |name| (name == "botss").then_some(100.0),
            |profile| profile.printed.network.name(),
        ))
        .named("figure-12b")
        .noted("In brackets: whether table 3 of the paper calls the program low or high. In the paper botss has the greatest value and \
            kdtree the least."),
        Figure::from(by_program(
            results,
            "Figure 13: critical sections' share of the region",
            SHARE,
            &arms(|pair| pair.off.cs_share(), |pair| pair.on.cs_share(), [paper::cs_share, none]),
        ))
        .named("figure-13")
        .noted(
            "With the same time in sections, their share rises when the region gets shorter. The paper speaks of a negligible \
             change; the change of the time itself is claim O15.",
        ),
        Figure::from(by_program(
            results,
            "Figure 14a: competition overhead's share of the region",
            SHARE,
            &arms(|pair| pair.off.coh_share(), |pair| pair.on.coh_share(), [paper::coh_share, none]),
        ))
        .named("figure-14a"),
        Figure::from(by_program(
            results,
            "Figure 14b and table 3: how much shorter the region gets",
            "reduction of the region's time, %",
            &[("ours", roi, |name| Some(paper::table_3(name)?.roi))],
        ))
        .named("figure-14b"),
        causes(results),
    ]
}

fn normalised(
    results: &Results<'_>,
    title: &str,
    x: &str,
    value: Value,
    printed: Printed,
    class: fn(&Profile) -> &'static str,
) -> Bars {
    let of = |name: &str| over_draws(&results.program(name), value);
    let most = results.programs().into_iter().filter_map(of).fold(0.0, |most: f64, ours| most.max(ours.mean));
    let scale = if most > 0.0 { 100.0 / most } else { 0.0 };
    let row = |name: &str| {
        let ours = over_draws(&results.program(name), |pair| scale * value(pair));
        let class = class(results.profile(name));
        (format!("{name} ({class})"), vec![bar(ours, printed(name))])
    };
    Bars {
        title: title.to_owned(),
        x: x.to_owned(),
        series: vec!["ours".to_owned()],
        theirs: "paper".to_owned(),
        rows: results.programs().into_iter().map(row).collect(),
    }
}

/// A figure that the paper does not have: what overhead consists of, without and with marks.
fn causes(results: &Results<'_>) -> Figure {
    let mut rows = Vec::new();
    for name in results.programs() {
        let pairs = results.program(name);
        for (arm, marked) in [("original", false), ("with marks", true)] {
            let share = |cause: usize| {
                let of = |pair: &Pair<'_>| {
                    let figures = if marked { pair.on } else { pair.off };
                    let time = figures.cycles as f64 * f64::from(figures.threads);
                    100.0 * figures.account.by_cause[cause] as f64 / time.max(1.0)
                };
                Bar { value: over_draws(&pairs, of).map(|ours| ours.mean), ..Bar::default() }
            };
            rows.push((format!("{name}, {arm}"), (0..CAUSES.len()).map(share).collect()));
        }
    }
    let bars = Bars {
        title: "What competition overhead consists of".to_owned(),
        x: SHARE.to_owned(),
        series: CAUSES.map(|cause| cause.name().to_owned()).into(),
        theirs: String::new(),
        rows,
    };
    Figure::from(bars).noted("The paper has no such figure.")
}
