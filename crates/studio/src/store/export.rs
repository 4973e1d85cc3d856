//! Rows as CSV, JSON lines and Parquet.

use super::column::{self, Role};
use super::encode;
use super::error::StoreError;
use super::row::Row;
use super::table::Table;
use super::whole::write_whole;
use crate::hash::Key;
use crate::value::Value;
use serde_json::{Map, Value as Json};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A form of exported rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values, after a line with the columns' names; a null is an empty cell.
    Csv,
    /// A JSON object on each line.
    JsonLines,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// The form that belongs to the extension of a file's name.
    pub fn of_path(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "csv" => Some(Format::Csv),
            "jsonl" | "ndjson" => Some(Format::JsonLines),
            "parquet" => Some(Format::Parquet),
            _ => None,
        }
    }
}

impl Table {
    /// Writes the rows.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn write(&self, format: Format, out: &mut (dyn Write + Send)) -> io::Result<()> {
        match format {
            Format::Csv => self.csv(out),
            Format::JsonLines => self.json_lines(out),
            Format::Parquet => encode::table(out, self).map_err(io::Error::other),
        }
    }

    /// Writes the rows into a file, whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, format: Format, path: &Path) -> Result<(), StoreError> {
        write_whole(path, &mut |file| {
            let mut out = BufWriter::new(file);
            self.write(format, &mut out)?;
            out.flush()
        })
    }

    fn csv(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let names = self.columns.iter().map(|column| cell(&column.name));
        writeln!(out, "{}", names.collect::<Vec<_>>().join(","))?;
        for row in 0..self.rows {
            let cells = self.row(row).map(|value| value.map_or(String::new(), |value| cell(&value.to_string())));
            writeln!(out, "{}", cells.collect::<Vec<_>>().join(","))?;
        }
        Ok(())
    }

    fn json_lines(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        for row in 0..self.rows {
            let values = self.row(row).map(|value| value.map_or(Json::Null, |value| value.json()));
            let object: Map<String, Json> = self.columns.iter().map(|column| column.name.clone()).zip(values).collect();
            writeln!(out, "{}", Json::Object(object))?;
        }
        Ok(())
    }

    /// The rows of a table that has all columns of its store.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let row = |row: usize| {
            let text = |name: &str| match self.column(name).and_then(|at| self.value(row, at)) {
                Some(Value::Text(text)) => Some(text),
                _ => None,
            };
            let of = |role: Role| {
                let places = self.columns.iter().enumerate().filter(move |(_, column)| column.role == role);
                places.map(|(at, _)| self.value(row, at)).collect()
            };
            let why = text(column::FAILURE).as_deref().and_then(crate::subject::Why::named);
            let seed = self.column(column::SEED).and_then(|at| self.value(row, at));
            Row {
                key: text(column::KEY).as_deref().and_then(Key::parse).unwrap_or(Key(0)),
                coordinates: of(Role::Coordinate),
                seed: match seed {
                    // The column's numbers have a sign: a seed of 2^63 or more is stored as a
                    // negative one.
                    Some(Value::Whole(seed)) => seed as u64,
                    _ => 0,
                },
                figures: of(Role::Figure),
                failure: why
                    .map(|why| crate::subject::Failure { why, reason: text(column::REASON).unwrap_or_default() }),
                command: text(column::COMMAND).unwrap_or_default(),
            }
        };
        (0..self.rows).map(row).collect()
    }
}

/// A cell of CSV, in quotes if it contains a comma, a quote or the end of a line.
fn cell(text: &str) -> String {
    let plain = !text.contains([',', '"', '\n', '\r']);
    if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}
