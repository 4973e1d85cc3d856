//! Figures that studies share: bars by program, lines over places, tables.

use super::experiment::Draw;
use super::samples::{Pair, Samples, over_draws};
use crate::Interval;
use crate::figure::Figure;
use baton_plot::{Bar, Bars, Lines, Point, Series, Table};

/// A bar for our figure, with the paper's as a reference value.
pub fn bar(ours: Option<Interval>, paper: Option<f64>) -> Bar {
    Bar { value: ours.map(|ours| ours.mean), ends: ours.and_then(Interval::ends), theirs: paper }
}

/// A series of bars: its name, our figure, and the paper's figure for a program if it is printed.
pub type Column<'c, D, F> = (&'c str, fn(&Pair<'_, D, F>) -> f64, fn(&str) -> Option<f64>);

/// A chart with a row for each program of the main experiment, and in it a bar for each column.
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

/// A figure of lines over named places; `None` if no line has a point.
pub fn lines([title, x, y]: [&str; 3], names: Vec<String>, mut series: Vec<Series>) -> Option<Figure> {
    series.retain(|series| !series.points.is_empty());
    let [title, x, y] = [title, x, y].map(str::to_owned);
    (!series.is_empty()).then(|| Lines { title, x, y, names: Some(names), series }.into())
}

/// A table; `None` if it has no rows.
pub fn table(title: impl Into<String>, header: &[&str], rows: Vec<Vec<String>>, note: &str) -> Option<Figure> {
    let (title, header) = (title.into(), strings(header));
    (!rows.is_empty()).then(|| Figure::from(Table { title, header, rows, ..Table::default() }).noted(note))
}

/// Texts as cells of a table.
pub fn strings(of: &[&str]) -> Vec<String> {
    of.iter().map(|&text| text.to_owned()).collect()
}
