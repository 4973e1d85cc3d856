//! Tables, plots, HTML, Perfetto, pprof, Parquet, CSV and JSON from a trace.
//!
//! The path through the crate: `baton_trace` analyses a [`baton_trace::Trace`], [`symbols`] names
//! its addresses, and `build` makes a [`model::Report`] from both. The report is plain data, and
//! its JSON is the published form; [`terminal`], [`html`] and [`diff`] present it. In
//! [`export`], Perfetto, Parquet and CSV need every single wait and walk over the trace once more;
//! pprof is made from the report.

mod build;
pub mod diff;
pub mod export;
pub mod format;
pub mod html;
pub mod intervals;
mod loops;
pub mod model;
mod profile;
pub mod symbols;
pub mod terminal;
mod timeline;

pub use profile::{Profile, ProfileError, nothing_recorded};
