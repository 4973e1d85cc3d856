//! Figures 15 and 16, and the tornado of what the paper leaves open.

use super::paper::FIGURE_15;
use crate::Interval;
use crate::kit::figure::{line, printed};
use crate::kit::{Tornado, over_draws, over_programs};
use crate::ocor::open;
use crate::ocor::results::Results;
use crate::ocor::values::{Pair, coh};
use crate::page::{Drawing, Figure};
use baton_plot::Lines;

const Y: &str = "reduction of competition overhead, %";

/// The paper's mean reduction of overhead.
const HEADLINE: f64 = 39.9;

/// The figures for which there are runs.
pub(super) fn all(results: &Results<'_>) -> Vec<Figure> {
    [scaling(results), levels(results), tornado(results), differences(results)].into_iter().flatten().collect()
}

fn mean(pairs: &[Pair<'_>], name: &str) -> Option<Interval> {
    let of: Vec<Pair<'_>> = pairs.iter().filter(|pair| pair.program.name == name).copied().collect();
    over_draws(&of, coh)
}

fn scaling(results: &Results<'_>) -> Option<Figure> {
    let counts = [4, 16, 32, 64];
    let at = |threads: u32| if threads == 64 { results.main() } else { results.of("threads", &threads.to_string()) };
    if at(4).is_empty() {
        return None;
    }
    let both = FIGURE_15.iter().flat_map(|(name, values)| {
        let ours = line(name, counts.map(|threads| mean(&at(threads), name)));
        [ours, printed(&format!("{name}, paper"), values)]
    });
    let lines = Lines {
        title: "Figure 15: reduction of competition overhead by threads".to_owned(),
        x: "threads, and cores".to_owned(),
        y: Y.to_owned(),
        names: Some(counts.map(|n| n.to_string()).into()),
        series: both.collect(),
    };
    Some(Figure::from(lines).named("figure-15"))
}

fn levels(results: &Results<'_>) -> Option<Figure> {
    let counts = [1, 2, 4, 8, 16, 32, 64, 128];
    let at = |levels: u32| if levels == 8 { results.main() } else { results.of("levels", &levels.to_string()) };
    if at(1).is_empty() {
        return None;
    }
    let lines = ["botss", "imag"].map(|name| line(name, counts.map(|levels| mean(&at(levels), name))));
    let figure = Figure::from(Lines {
        title: "Figure 16: reduction of competition overhead by levels".to_owned(),
        x: "levels of priority for lock requests".to_owned(),
        y: Y.to_owned(),
        names: Some(counts.map(|n| n.to_string()).into()),
        series: lines.into(),
    });
    Some(
        figure
            .named("figure-16")
            .noted("The paper's curves are not in its text: they grow, then saturate, and 8 levels were chosen."),
    )
}

/// Returns the figure with another title, if it is drawn as spans.
fn titled(mut figure: Figure, title: &str) -> Figure {
    if let Drawing::Spans(spans) = &mut figure.drawing {
        title.clone_into(&mut spans.title);
    }
    figure
}

/// Figures of crowds with meetings, where an order can change something: the reduction of overhead
/// by threads and by levels, and the tornado of what the paper leaves open.
pub(super) fn on_crowds(crowd: &Results<'_>) -> Vec<Figure> {
    let at = |group: &str, place: &str| {
        let pairs = if place.is_empty() { crowd.main() } else { crowd.of(group, place) };
        over_programs(&pairs, coh)
    };
    let lines = |group: &str, title: &str, x: &str, file, places: &[(&str, &str)]| {
        at(group, places[0].1)?;
        let series = line("order at the home", places.iter().map(|(_, place)| at(group, place)).collect::<Vec<_>>());
        let names = Some(places.iter().map(|(name, _)| (*name).to_owned()).collect());
        let (title, x, y) = (title.to_owned(), x.to_owned(), Y.to_owned());
        Some(Figure::from(Lines { title, x, y, names, series: vec![series] }).named(file))
    };
    let threads = [("4", "4"), ("16", "16"), ("32", "32"), ("64", "")];
    let levels =
        [("1", "1"), ("2", "2"), ("4", "4"), ("8", ""), ("16", "16"), ("32", "32"), ("64", "64"), ("128", "128")];
    let x = "mean reduction of competition overhead of crowds with meetings, order at the home, %";
    let usual = over_programs(&crowd.main(), coh).map(|usual| usual.mean);
    let items = open::crowd_items();
    let tornado = Tornado { items: &items, samples: crowd, value: coh };
    [
        lines(
            "threads",
            "Crowds with meetings: less overhead by threads",
            "threads, and cores",
            "crowd-threads",
            &threads,
        ),
        lines("levels", "Crowds with meetings: less overhead by levels", "levels of priority", "crowd-levels", &levels),
        tornado.figure(x, usual, &[(HEADLINE, "paper, 25 programs")]).map(|figure| Figure {
            file: Some("crowd-tornado"),
            ..titled(figure, "Crowds with meetings: what the reduction hangs on")
        }),
        tornado
            .differences("Reduction of competition overhead, %; the order at the home.")
            .map(|table| titled(table, "Crowds with meetings: each choice against the one that was made")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Each open choice against the one that was made, on the same draws under the same seeds.
fn differences(results: &Results<'_>) -> Option<Figure> {
    open::tornado(results).differences("Reduction of competition overhead, %; botss, ilbdc and imag, four draws each.")
}

/// The tornado: effects of what the paper leaves open on the headline, the greatest first.
fn tornado(results: &Results<'_>) -> Option<Figure> {
    let of = |pair: &Pair<'_>| ["botss", "ilbdc", "imag"].contains(&pair.program.name.as_str());
    let usual: Vec<Pair<'_>> = results.main().into_iter().filter(of).collect();
    let x = "mean reduction of competition overhead of botss, ilbdc and imag, %";
    let usual = over_programs(&usual, coh).map(|usual| usual.mean);
    open::tornado(results).figure(x, usual, &[(HEADLINE, "paper, 25 programs")])
}
