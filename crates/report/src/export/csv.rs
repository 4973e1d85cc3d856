//! CSV as RFC 4180 has it: a line an interval, with a head line.

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
    /// Begins with the head line.
    ///
    /// # Errors
    /// If `out` does not take it.
    pub fn new(report: &'a Report, mut out: W) -> io::Result<Self> {
        let names: Vec<&str> = COLUMNS.iter().map(|c| c.name).collect();
        writeln!(out, "{}", names.join(","))?;
        Ok(Csv { report, out })
    }

    /// Writes a line.
    ///
    /// # Errors
    /// If the output does not take it.
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

    /// Ends the file.
    ///
    /// # Errors
    /// If the output does not take what is left.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}
