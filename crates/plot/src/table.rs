//! A table of text and numbers.

use crate::escape;
use std::fmt::Write;

/// The table. Columns of numbers are aligned to the right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub title: String,
    /// What a reader must know to read the table; empty if nothing.
    pub note: String,
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn html(&self) -> String {
        let numeric: Vec<bool> = (0..self.header.len()).map(|column| self.numeric(column)).collect();
        let class = |column: usize| if numeric.get(column) == Some(&true) { " class=n" } else { "" };
        let mut out = String::from("<div class=scroll><table><tr>");
        for (column, name) in self.header.iter().enumerate() {
            let _ = write!(out, "<th{}>{}", class(column), escape(name));
        }
        for row in &self.rows {
            out += "<tr>";
            for (column, cell) in row.iter().enumerate() {
                let _ = write!(out, "<td{}>{}", class(column), escape(cell));
            }
        }
        out += "</table></div>";
        if !self.note.is_empty() {
            let _ = write!(out, "<p>{}</p>", escape(&self.note));
        }
        out
    }

    /// The table as Markdown, without the title.
    pub fn markdown(&self) -> String {
        let cell = |text: &String| text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ");
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rule = |column: usize| if self.numeric(column) { "--:" } else { "---" }.to_owned();
        let mut out = line(self.header.iter().map(cell).collect());
        out += &line((0..self.header.len()).map(rule).collect());
        for row in &self.rows {
            out += &line(row.iter().map(cell).collect());
        }
        if !self.note.is_empty() {
            let _ = write!(out, "\n{}\n", self.note);
        }
        out
    }

    /// Whether a column has a number, and all its other cells are numbers or stand for a missing
    /// value. A cell is a number if it begins with a digit, perhaps behind signs.
    fn numeric(&self, column: usize) -> bool {
        let cells =
            || self.rows.iter().filter_map(|row| row.get(column)).filter(|cell| !matches!(cell.as_str(), "" | "-"));
        let number =
            |cell: &String| cell.trim_start_matches(['-', '+', '≥', ' ']).starts_with(|c: char| c.is_ascii_digit());
        cells().next().is_some() && cells().all(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_on_the_right() {
        let rows = vec![vec!["a<b".into(), "1.5".into()], vec!["2 threads".into(), "-".into()]];
        let table = Table { header: vec!["what".into(), "%".into()], rows, ..Table::default() };
        let html = table.html();
        assert_eq!(html.matches("class=n").count(), 3);
        assert!(html.contains("a&lt;b"));
        let lines = "| what | % |\n| --- | --: |\n| a&lt;b | 1.5 |\n| 2 threads | - |\n";
        assert_eq!(table.markdown(), lines);
    }
}
