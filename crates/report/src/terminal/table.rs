//! A table of the summary. The first column holds names, and takes at most what the others leave of
//! the line; these are as wide as they need to be. A name that is longer than its column is cut in
//! its middle, or stands on lines of its own above the row's figures.

use super::text::{Style, WIDTH, clip_middle};

/// The side of its column at which a cell is aligned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

pub(super) struct Table {
    title: String,
    name_width: usize,
    /// Whether long names stand on lines of their own.
    whole: bool,
    columns: Vec<(String, Side)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table whose first column is headed by `title` and is as wide as the longest name, if there
    /// is room. If the table has whole names, a name of more than `name_width` characters does not
    /// widen it.
    pub(super) fn new(title: &str, name_width: usize, columns: &[(&str, Side)]) -> Table {
        let columns = columns.iter().map(|(name, side)| ((*name).to_owned(), *side)).collect();
        Table { title: title.to_owned(), name_width, whole: false, columns, rows: Vec::new() }
    }

    /// The table with long names whole, on lines of their own. A line feed in a name begins a line.
    pub(super) fn with_whole_names(self) -> Table {
        Table { whole: true, ..self }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The table with an empty line before it. `more` is the number of rows that were left out.
    pub(super) fn render(&self, style: Style, more: usize) -> String {
        let width = |i: usize| {
            let cells = self.rows.iter().map(|r| r.get(i + 1).map_or(0, |c| c.chars().count()));
            cells.chain([self.columns[i].0.chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let rest: usize = widths.iter().map(|w| w + 2).sum();
        let names = self.rows.iter().filter_map(|row| row.first()).map(|name| name.chars().count());
        let longest = names.filter(|&name| !self.whole || name <= self.name_width).max().unwrap_or(0);
        let wanted = longest.max(self.title.chars().count()).min(self.name_width.max(WIDTH.saturating_sub(rest)));
        let names = wanted.min(WIDTH.saturating_sub(rest)).max(8);
        let line = |cells: &[&str]| {
            let mut text = pad(&clip_middle(cells[0], names), names, Side::Left);
            for ((cell, width), (_, side)) in cells[1..].iter().zip(&widths).zip(&self.columns) {
                text += "  ";
                text += &pad(cell, *width, *side);
            }
            text.trim_end().to_owned()
        };
        let head: Vec<&str> =
            [self.title.as_str()].into_iter().chain(self.columns.iter().map(|(n, _)| n.as_str())).collect();
        let mut out = format!("\n{}\n", style.bold(&line(&head)));
        for row in &self.rows {
            let mut cells: Vec<&str> = row.iter().map(String::as_str).collect();
            if self.whole && (cells[0].contains('\n') || cells[0].chars().count() > names) {
                cells[0].lines().for_each(|part| out += &format!("{}\n", clip_middle(part, WIDTH)));
                cells[0] = "";
            }
            out += &line(&cells);
            out.push('\n');
        }
        if more > 0 {
            out += &format!("… and {more} more\n");
        }
        out
    }
}

fn pad(text: &str, width: usize, side: Side) -> String {
    let blanks = " ".repeat(width.saturating_sub(text.chars().count()));
    if side == Side::Left { format!("{text}{blanks}") } else { format!("{blanks}{text}") }
}
