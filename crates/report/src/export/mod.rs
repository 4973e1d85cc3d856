//! Conversions for other tools. Each takes names from the report and, where the format has single
//! waits, the intervals one by one.

pub mod csv;
pub mod parquet;
pub mod perfetto;
pub mod pprof;
mod proto;
pub mod row;
mod slices;

pub(crate) use proto::varint;

use crate::Profile;
use ::parquet::errors::ParquetError;
use std::io::{self, Write};

/// Writes all intervals (waits, holds and so on) as CSV.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_csv(profile: &Profile, out: impl Write) -> io::Result<()> {
    let mut csv = csv::Csv::new(&profile.report, out)?;
    profile.intervals(|interval| csv.push(interval))?;
    csv.finish()
}

/// Writes all intervals as Parquet.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_parquet(profile: &Profile, out: impl Write + Send) -> Result<(), ParquetError> {
    let mut parquet = parquet::Parquet::new(&profile.report, out)?;
    profile.intervals(|interval| parquet.push(interval))?;
    parquet.finish()
}

/// Writes a trace for Perfetto.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_perfetto(profile: &Profile, out: impl Write) -> io::Result<()> {
    let mut perfetto = perfetto::Perfetto::new(&profile.report, out)?;
    profile.intervals(|interval| perfetto.push(interval))?;
    perfetto.finish()
}

/// Writes a profile for pprof.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_pprof(profile: &Profile, out: impl Write) -> io::Result<()> {
    pprof::write(&profile.report, out)
}

/// Writes the report as JSON (`docs/schema/report.schema.json`), with a line feed at the end.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_json(profile: &Profile, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, &profile.report)?;
    out.write_all(b"\n")?;
    out.flush()
}
