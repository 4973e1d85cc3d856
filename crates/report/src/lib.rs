//! Tables, plots, HTML, Perfetto, pprof, Parquet, CSV and JSON from a trace.
//!
//! The way through the crate: a [`baton_trace::Trace`] is analysed there, [`symbols`] gives its addresses names, and
//! `build` makes a [`model::Report`] of the two. The report is plain data, and its JSON is the published form; [`terminal`], [`html`]
//! and [`diff`] draw it. What needs every single wait (Perfetto, Parquet, CSV, pprof) goes over the trace once more in [`export`].

mod build;
pub mod diff;
pub mod export;
pub mod format;
pub mod html;
pub mod intervals;
pub mod model;
mod profile;
pub mod symbols;
pub mod terminal;
mod timeline;

pub use profile::{Profile, ProfileError, nothing_recorded};
