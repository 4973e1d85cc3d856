//! The paper's figures, redrawn beside ours. Bars of the paper whose values are not in its text are left out.

use super::account::CAUSES;
use super::open;
use super::results::{Pair, Results, coh, over_draws, roi};
use crate::page::{Bars, Figure, Line, Lines};

/// Table 3: reductions of overhead and of the region's time.
const TABLE_3: [(&str, f64, f64); 25] = [
    ("ferret", 35.5, 9.3),
    ("vips", 36.7, 9.7),
    ("fluidanimate", 32.0, 10.5),
    ("bodytrack", 33.0, 11.7),
    ("freqmine", 31.6, 13.1),
    ("streamcluster", 43.1, 13.9),
    ("x264", 44.8, 14.9),
    ("swaptions", 40.3, 15.7),
    ("facesim", 46.9, 16.0),
    ("dedup", 50.3, 16.9),
    ("canneal", 50.5, 19.5),
    ("imag", 12.5, 3.4),
    ("bt331", 20.8, 8.0),
    ("applu", 26.8, 9.9),
    ("smith", 29.4, 11.5),
    ("fma3d", 36.5, 12.5),
    ("bwaves", 33.9, 13.2),
    ("kdtree", 33.4, 13.3),
    ("md", 35.6, 14.1),
    ("nab", 39.7, 14.9),
    ("swim", 43.8, 17.1),
    ("mgrid", 55.7, 21.8),
    ("botsa", 58.1, 23.2),
    ("botss", 61.8, 24.4),
    ("ilbdc", 61.5, 24.5),
];

/// All of them that there are runs for.
pub(super) fn all(results: &Results<'_>) -> Vec<Figure> {
    let mut figures = vec![
        programs(
            results,
            "Figure 2: shares of the region's time without marks",
            "%",
            &[("critical sections", |pair| pair.off.cs_share()), ("competition overhead", |pair| pair.off.coh_share())],
        ),
        table_3(results, "Figure 11a and table 3: reduction of competition overhead", coh, |row| row.1),
        programs(
            results,
            "Figure 11b: acquisitions entered while spinning",
            "%",
            &[("original", |pair| pair.off.entered_spinning()), ("with marks", |pair| pair.on.entered_spinning())],
        ),
        normalised(results, "Figure 12a: rate of critical sections, of the greatest", |pair| pair.off.cs_rate()),
        normalised(results, "Figure 12b: packets injected, of the greatest", |pair| pair.off.packet_rate()),
        programs(
            results,
            "Figure 13: share of the region's time in critical sections",
            "%",
            &[("original", |pair| pair.off.cs_share()), ("with marks", |pair| pair.on.cs_share())],
        ),
        programs(
            results,
            "Figure 14a: share of competition overhead",
            "%",
            &[("original", |pair| pair.off.coh_share()), ("with marks", |pair| pair.on.coh_share())],
        ),
        table_3(results, "Figure 14b and table 3: reduction of the region's time", roi, |row| row.2),
        causes(results),
        programs(
            results,
            "Starvation: the longest wait of a thread, in thousands of cycles",
            "",
            &[
                ("original", |pair| pair.off.account.longest_wait as f64 / 1000.0),
                ("with marks", |pair| pair.on.account.longest_wait as f64 / 1000.0),
            ],
        ),
        programs(
            results,
            "Starvation: the longest that a packet took with marks, in cycles",
            "",
            &[
                ("unmarked", |pair| pair.on.longest[1] as f64),
                ("marked", |pair| pair.on.longest[0] as f64),
                ("unmarked, original", |pair| pair.off.longest[1] as f64),
            ],
        ),
    ];
    figures.extend(scaling(results));
    figures.extend(levels(results));
    figures.extend(tornado(results));
    figures
}

type Value = fn(&Pair<'_>) -> f64;

fn programs(results: &Results<'_>, title: &str, unit: &str, series: &[(&str, Value)]) -> Figure {
    let row = |name: &str| {
        let pairs = results.program(name);
        (name.to_owned(), series.iter().map(|(_, value)| Some(over_draws(&pairs, value)?.mean)).collect())
    };
    Figure::Bars(Bars {
        title: title.to_owned(),
        unit: unit.to_owned(),
        series: series.iter().map(|(name, _)| (*name).to_owned()).collect(),
        rows: results.programs().into_iter().map(row).collect(),
    })
}

fn table_3(results: &Results<'_>, title: &str, ours: Value, paper: fn(&(&str, f64, f64)) -> f64) -> Figure {
    let row = |name: &str| {
        let printed = TABLE_3.iter().find(|row| row.0 == name).map(paper);
        (name.to_owned(), vec![printed, over_draws(&results.program(name), ours).map(|ours| ours.mean)])
    };
    Figure::Bars(Bars {
        title: title.to_owned(),
        unit: "%".to_owned(),
        series: vec!["paper".to_owned(), "ours".to_owned()],
        rows: results.programs().into_iter().map(row).collect(),
    })
}

fn normalised(results: &Results<'_>, title: &str, value: Value) -> Figure {
    let of = |name: &str| over_draws(&results.program(name), value).map(|ours| ours.mean);
    let most = results.programs().into_iter().filter_map(of).fold(0.0, f64::max);
    let row = |name: &str| (name.to_owned(), vec![of(name).map(|v| if most > 0.0 { 100.0 * v / most } else { 0.0 })]);
    Figure::Bars(Bars {
        title: title.to_owned(),
        unit: "%".to_owned(),
        series: vec!["ours".to_owned()],
        rows: results.programs().into_iter().map(row).collect(),
    })
}

/// Not in the paper: what overhead consists of, without and with marks.
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
                Some(over_draws(&pairs, of)?.mean)
            };
            rows.push((format!("{name}, {arm}"), (0..CAUSES.len()).map(share).collect()));
        }
    }
    Figure::Bars(Bars {
        title: "What competition overhead consists of, as shares of the region's time".to_owned(),
        unit: "%".to_owned(),
        series: CAUSES.map(|cause| cause.name().to_owned()).into(),
        rows,
    })
}

fn mean(pairs: &[Pair<'_>], name: &str) -> Option<f64> {
    let of: Vec<Pair<'_>> = pairs.iter().filter(|pair| pair.program.name == name).copied().collect();
    Some(over_draws(&of, coh)?.mean)
}

fn scaling(results: &Results<'_>) -> Option<Figure> {
    let counts = [4, 16, 32, 64];
    let at = |threads: u32| if threads == 64 { results.main() } else { results.of("threads", &threads.to_string()) };
    if at(4).is_empty() {
        return None;
    }
    let ours = |name: &str| Line {
        name: name.to_owned(),
        values: counts.map(|threads| mean(&at(threads), name)).into(),
        paper: false,
    };
    let paper = |name: &str, values: [f64; 4]| Line {
        name: format!("{name}, paper"),
        values: values.map(Some).into(),
        paper: true,
    };
    Some(Figure::Lines(Lines {
        title: "Figure 15: reduction of competition overhead by threads".to_owned(),
        x: "threads, and cores".to_owned(),
        y: "%".to_owned(),
        places: counts.map(|n| n.to_string()).into(),
        lines: vec![
            ours("imag"),
            paper("imag", [1.7, 4.9, 9.2, 12.5]),
            ours("ilbdc"),
            paper("ilbdc", [5.0, 18.3, 43.5, 61.5]),
        ],
    }))
}

fn levels(results: &Results<'_>) -> Option<Figure> {
    let counts = [1, 2, 4, 8, 16, 32, 64, 128];
    let at = |levels: u32| if levels == 8 { results.main() } else { results.of("levels", &levels.to_string()) };
    if at(1).is_empty() {
        return None;
    }
    let line = |name: &str| Line {
        name: name.to_owned(),
        values: counts.map(|levels| mean(&at(levels), name)).into(),
        paper: false,
    };
    Some(Figure::Lines(Lines {
        title: "Figure 16: reduction of competition overhead by levels (the paper's curves are not in its text)"
            .to_owned(),
        x: "levels".to_owned(),
        y: "%".to_owned(),
        places: counts.map(|n| n.to_string()).into(),
        lines: vec![line("botss"), line("imag")],
    }))
}

/// Effects of what is left open on the headline, the greatest first.
fn tornado(results: &Results<'_>) -> Option<Figure> {
    let mut rows: Vec<(String, Vec<Option<f64>>)> = results
        .groups()
        .into_iter()
        .filter(|(group, _)| {
            !["main", "threads", "never-sleep", "free-network", "one-thread", "cheap-sleep"].contains(group)
        })
        .filter_map(|(group, places)| {
            let [least, greatest] = open::effect(results, group, &places)?;
            Some((group.to_owned(), vec![Some(least), Some(greatest)]))
        })
        .collect();
    let width = |row: &(String, Vec<Option<f64>>)| row.1[1].unwrap_or(0.0) - row.1[0].unwrap_or(0.0);
    rows.sort_by(|a, b| width(b).total_cmp(&width(a)));
    (!rows.is_empty()).then(|| {
        Figure::Bars(Bars {
            title: "What the headline hangs on: least and greatest mean reduction of competition overhead".to_owned(),
            unit: "%".to_owned(),
            series: vec!["least".to_owned(), "greatest".to_owned()],
            rows,
        })
    })
}
