//! Figures 15 and 16, and the tornado of what the paper leaves open.

use super::paper::FIGURE_15;
use crate::Interval;
use crate::kit::figure::{line, printed};
use crate::kit::{over_draws, over_programs};
use crate::ocor::open;
use crate::ocor::results::{Pair, Results, coh};
use crate::page::Figure;
use baton_plot::Lines;

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

/// Effects of what is left open on the headline, the greatest first.
fn tornado(results: &Results<'_>) -> Option<Figure> {
    let of = |pair: &Pair<'_>| ["botss", "ilbdc", "imag"].contains(&pair.program.name.as_str());
    let usual: Vec<Pair<'_>> = results.main().into_iter().filter(of).collect();
    let x = "mean reduction of competition overhead of botss, ilbdc and imag, %";
    let usual = over_programs(&usual, coh).map(|usual| usual.mean);
    open::tornado(results).figure(x, usual, &[(HEADLINE, "paper, 25 programs")])
}
