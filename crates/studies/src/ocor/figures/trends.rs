//! Figures 15 and 16, and the tornado of what the paper leaves open.

use super::paper::FIGURE_15;
use crate::Interval;
use crate::ocor::open::groups;
use crate::ocor::results::{Pair, Results, coh, over_draws, over_programs};
use crate::page::Figure;
use baton_plot::{Lines, Point, Series, Span, Spans};

const Y: &str = "reduction of competition overhead, %";

/// The paper's mean reduction of overhead.
const HEADLINE: f64 = 39.9;

/// Those that there are runs for.
pub(super) fn all(results: &Results<'_>) -> Vec<Figure> {
    [scaling(results), levels(results), tornado(results)].into_iter().flatten().collect()
}

fn mean(pairs: &[Pair<'_>], name: &str) -> Option<Interval> {
    let of: Vec<Pair<'_>> = pairs.iter().filter(|pair| pair.program.name == name).copied().collect();
    over_draws(&of, coh)
}

fn line(name: &str, values: &[Option<Interval>]) -> Series {
    let point = |(x, ours): (usize, &Option<Interval>)| {
        let ours = (*ours)?;
        Some(Point { x: x as f64, y: ours.mean, ends: ours.ends() })
    };
    Series { name: name.to_owned(), points: values.iter().enumerate().filter_map(point).collect(), theirs: false }
}

fn scaling(results: &Results<'_>) -> Option<Figure> {
    let counts = [4, 16, 32, 64];
    let at = |threads: u32| if threads == 64 { results.main() } else { results.of("threads", &threads.to_string()) };
    if at(4).is_empty() {
        return None;
    }
    let both = FIGURE_15.iter().flat_map(|(name, printed)| {
        let ours = line(name, &counts.map(|threads| mean(&at(threads), name)));
        let points = printed.iter().enumerate().map(|(x, y)| Point::new(x as f64, *y)).collect();
        [ours, Series { name: format!("{name}, paper"), points, theirs: true }]
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
    let lines = ["botss", "imag"].map(|name| line(name, &counts.map(|levels| mean(&at(levels), name))));
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

/// Effects of what is left open on the headline, the greatest first.
fn tornado(results: &Results<'_>) -> Option<Figure> {
    let groups = results.groups().into_iter().filter(|(group, _)| groups().any(|open| open == *group));
    let row = |(group, places): (&str, Vec<String>)| {
        let of = |place: &String| {
            let ours = over_programs(&results.of(group, place), coh)?;
            let half = ours.half.map_or_else(String::new, |half| format!(", ± {half:.1}"));
            Some((ours.mean, format!("{place}{half}")))
        };
        let mut values: Vec<(f64, String)> = places.iter().filter_map(of).collect();
        let usual = over_programs(&results.beside(group, places.first()?), coh);
        values.extend(usual.map(|usual| (usual.mean, "as chosen".to_owned())));
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some(Span { name: group.to_owned(), least: values.first()?.clone(), greatest: values.last()?.clone() })
    };
    let mut rows: Vec<Span> = groups.filter_map(row).collect();
    let width = |row: &Span| row.greatest.0 - row.least.0;
    rows.sort_by(|a, b| width(b).total_cmp(&width(a)));
    if rows.is_empty() {
        return None;
    }
    let of = |pair: &Pair<'_>| ["botss", "ilbdc", "imag"].contains(&pair.program.name.as_str());
    let usual: Vec<Pair<'_>> = results.main().into_iter().filter(of).collect();
    let figure = Figure::from(Spans {
        title: "What the headline hangs on".to_owned(),
        x: "mean reduction of competition overhead of botss, ilbdc and imag, %".to_owned(),
        usual: over_programs(&usual, coh).map(|usual| usual.mean),
        others: vec![(HEADLINE, "paper, 25 programs".to_owned())],
        rows,
    });
    Some(
        figure
            .named("tornado")
            .noted("One thing at a time, from its least to its greatest effect, each with the choice that gives it."),
    )
}
