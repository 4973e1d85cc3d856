//! A map that shows, for each point of a plane, which of several named choices is best and by how
//! much.

use crate::{colour, escape, number, width};
use std::fmt::Write;

const CELL: f64 = 40.0;
const TOP: f64 = 62.0;

/// The best choice at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    /// The index of the best choice in [`Choices::names`].
    pub best: usize,
    /// The index of the second-best choice.
    pub next: usize,
    /// The distance between the second-best value and the best one, in percent of the best.
    pub behind: f64,
}

/// The map: each cell has the name and the colour of the best choice. The further behind the
/// second-best is, the stronger the colour; from 50% on it is strongest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    pub title: String,
    /// The criterion by which a choice is best.
    pub what: String,
    /// The label of the columns' axis.
    pub x: String,
    /// The label of the rows' axis.
    pub y: String,
    /// The labels of the single columns.
    pub columns: Vec<String>,
    /// The labels of the single rows.
    pub rows: Vec<String>,
    /// The names to choose from.
    pub names: Vec<String>,
    /// The choices, row by row. A cell without a choice stays empty.
    pub cells: Vec<Vec<Option<Chosen>>>,
}

impl Choices {
    /// The second-best name, and how far it is behind.
    pub fn behind(&self, chosen: &Chosen) -> String {
        format!("{} {}", self.names[chosen.next], percent(chosen.behind))
    }

    /// The map as SVG, with the legend of its colours above.
    pub fn svg(&self) -> String {
        let all = || self.cells.iter().flatten().flatten();
        let texts = all().map(|chosen| self.behind(chosen)).chain(self.names.iter().cloned());
        let wide = texts.map(|text| width(&text)).fold(48.0, f64::max) + 10.0;
        let left = self.rows.iter().map(|row| width(row)).fold(0.0, f64::max) + 44.0;
        let mut svg = self.key(left, |i| all().any(|chosen| chosen.best == i));
        for (x, column) in self.columns.iter().enumerate() {
            let middle = left + (x as f64 + 0.5) * wide;
            let _ = write!(svg, "<text x={middle:.1} y={} text-anchor=middle>{}</text>", TOP - 8.0, escape(column));
        }
        for (y, row) in self.rows.iter().enumerate() {
            let top = TOP + y as f64 * CELL;
            let _ = write!(
                svg,
                "<text x={:.1} y={:.1} text-anchor=end>{}</text>",
                left - 8.0,
                top + CELL / 2.0 + 4.0,
                escape(row)
            );
            for (x, chosen) in self.cells[y].iter().enumerate() {
                let Some(chosen) = chosen else { continue };
                self.cell(&mut svg, [left + x as f64 * wide, top], wide, chosen);
            }
        }
        let size = [left + self.columns.len() as f64 * wide + 12.0, TOP + self.rows.len() as f64 * CELL + 30.0];
        format!(
            "<svg viewBox=\"0 0 {:.0} {:.0}\" role=img aria-label=\"{}\">{svg}\
             <text x={:.1} y={:.1} text-anchor=middle>{}</text>\
             <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=middle>{}</text></svg>",
            size[0],
            size[1],
            escape(&self.title),
            f64::midpoint(left, size[0]),
            size[1] - 8.0,
            escape(&self.x),
            f64::midpoint(TOP, size[1] - 30.0),
            escape(&self.y)
        )
    }

    /// The legend: the colours of the names that are best somewhere.
    fn key(&self, left: f64, anywhere: impl Fn(usize) -> bool) -> String {
        let mut svg = format!("<text x={left:.1} y=16 class=dim>{}</text>", escape(&self.what));
        let mut at = left;
        for (i, name) in self.names.iter().enumerate().filter(|(i, _)| anywhere(*i)) {
            let _ = write!(
                svg,
                "<rect x={at:.1} y=23 width=11 height=11 fill=\"{}\" /><text x={:.1} y=33>{}</text>",
                colour(i),
                at + 15.0,
                escape(name)
            );
            at += width(name) + 34.0;
        }
        svg
    }

    fn cell(&self, svg: &mut String, [x, y]: [f64; 2], wide: f64, chosen: &Chosen) {
        let strength = 0.15 + 0.6 * (chosen.behind.abs() / 50.0).min(1.0);
        let middle = x + wide / 2.0;
        let _ = write!(
            svg,
            "<rect x={:.1} y={:.1} width={:.1} height={:.1} fill=\"{}\" fill-opacity={strength:.2} />\
             <text x={middle:.1} y={:.1} text-anchor=middle>{}</text>\
             <text x={middle:.1} y={:.1} text-anchor=middle class=dim>{}</text>",
            x + 1.0,
            y + 1.0,
            wide - 2.0,
            CELL - 2.0,
            colour(chosen.best),
            y + 17.0,
            escape(&self.names[chosen.best]),
            y + 33.0,
            escape(&self.behind(chosen))
        );
    }

    /// The same map as an HTML table.
    pub fn table(&self) -> String {
        let mut out = format!("<table><tr><th>{}, by {}", escape(&self.y), escape(&self.x));
        for column in &self.columns {
            let _ = write!(out, "<th>{}", escape(column));
        }
        for (row, cells) in self.rows.iter().zip(&self.cells) {
            let _ = write!(out, "<tr><td>{}", escape(row));
            for chosen in cells {
                let text = chosen.map(|chosen| format!("{} ({})", self.names[chosen.best], self.behind(&chosen)));
                let _ = write!(out, "<td>{}", text.map_or_else(|| "–".to_owned(), |text| escape(&text)));
            }
        }
        out + "</table>"
    }
}

/// A percentage with its sign, from 100 on as a whole number, below that with at most one decimal.
fn percent(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    let digits =
        if value.abs() >= 100.0 { format!("{:.0}", value.abs()) } else { number((value.abs() * 10.0).round() / 10.0) };
    format!("{sign}{digits}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices() -> Choices {
        Choices {
            names: ["spin", "pause", "futex"].map(str::to_owned).to_vec(),
            columns: ["10", "100"].map(str::to_owned).to_vec(),
            rows: vec!["<near>".to_owned()],
            cells: vec![vec![Some(Chosen { best: 1, next: 0, behind: 12.34 }), None]],
            ..Choices::default()
        }
    }

    #[test]
    fn a_cell_says_what_is_best_and_how_far_the_next_is_behind() {
        let svg = choices().svg();
        assert!(svg.contains(">pause<") && svg.contains(">spin +12.3%<"), "{svg}");
        assert!(svg.contains("&lt;near&gt;") && !svg.contains("NaN"));
        assert_eq!(svg.matches("fill-opacity").count(), 1, "a point without a choice stays empty");
        assert!(!svg.contains(">futex<"), "the key leaves out what is never the best");
        assert!(crate::file(&svg).is_some());
        assert!(choices().table().contains("<td>pause (spin +12.3%)<td>–"));
    }

    #[test]
    fn percents_are_short() {
        assert_eq!([0.04, -3.21, 250.4].map(percent), ["+0%", "−3.2%", "+250%"].map(str::to_owned));
    }
}
