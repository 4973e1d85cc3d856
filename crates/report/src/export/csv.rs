//! CSV as in RFC 4180: a header line, then one line per interval.

use super::row::{COLUMNS, Value};
use crate::intervals::Interval;
use crate::model::Report;
use std::io::{self, Write};

/// Writes intervals as CSV.
pub struct Csv<'a, W: Write> {
    report: &'a Report,
    out: W,
}

impl<'a, W: Write> Csv<'a, W> {
    /// Writes the header line.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn new(report: &'a Report, mut out: W) -> io::Result<Self> {
        let names: Vec<&str> = COLUMNS.iter().map(|c| c.name).collect();
        writeln!(out, "{}", names.join(","))?;
        Ok(Csv { report, out })
    }

    /// Writes one interval.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn push(&mut self, interval: &Interval) -> io::Result<()> {
        for (i, column) in COLUMNS.iter().enumerate() {
            if i > 0 {
                self.out.write_all(b",")?;
            }
            match column.of(self.report, interval) {
                Value::Number(number) => write!(self.out, "{number}")?,
                Value::Text(text) if text.contains([',', '"', '\n', '\r']) => {
                    write!(self.out, "\"{}\"", text.replace('"', "\"\""))?;
                }
                Value::Text(text) => self.out.write_all(text.as_bytes())?,
            }
        }
        self.out.write_all(b"\n")
    }

    /// Flushes the file.
    ///
    /// # Errors
    /// If the rest cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}
