//! Figures that studies share: bars by program, and lines over places.

use super::experiment::Draw;
use super::samples::{Pair, Samples, over_draws};
use crate::Interval;
use baton_plot::{Bar, Bars, Point, Series};

/// A bar for our figure, with the paper's as a reference value.
pub fn bar(ours: Option<Interval>, paper: Option<f64>) -> Bar {
    Bar { value: ours.map(|ours| ours.mean), ends: ours.and_then(Interval::ends), theirs: paper }
}

/// A series of bars: its name, our figure, and the paper's figure for a program if it is printed.
pub type Column<'c, D, F> = (&'c str, fn(&Pair<'_, D, F>) -> f64, fn(&str) -> Option<f64>);

/// A row of bars for each program of the main experiment.
pub fn by_program<D: Draw, F>(samples: &Samples<'_, D, F>, title: &str, x: &str, columns: &[Column<'_, D, F>]) -> Bars {
    let row = |name: &str| {
        let pairs = samples.program(name);
        let bars = columns.iter().map(|(_, ours, printed)| bar(over_draws(&pairs, ours), printed(name)));
        (name.to_owned(), bars.collect())
    };
    Bars {
        title: title.to_owned(),
        x: x.to_owned(),
        series: columns.iter().map(|(name, ..)| (*name).to_owned()).collect(),
        theirs: "paper".to_owned(),
        rows: samples.programs().into_iter().map(row).collect(),
    }
}

/// A line of our figures over places 0, 1, 2 …; a missing value leaves a gap.
pub fn line(name: &str, values: impl IntoIterator<Item = Option<Interval>>) -> Series {
    let point =
        |(x, ours): (usize, Option<Interval>)| ours.map(|ours| Point { x: x as f64, y: ours.mean, ends: ours.ends() });
    let points = values.into_iter().enumerate().filter_map(point).collect();
    Series { name: name.to_owned(), points, theirs: false }
}

/// Returns a line of the paper's values over places 0, 1, 2 and so on.
pub fn printed(name: &str, values: &[f64]) -> Series {
    let points = values.iter().enumerate().map(|(x, y)| Point::new(x as f64, *y)).collect();
    Series { name: name.to_owned(), points, theirs: true }
}
