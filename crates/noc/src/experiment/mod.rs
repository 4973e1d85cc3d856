//! One measured run: warm-up until the mean settles, a measured window, and a drain in which the load goes on.
//!
//! Definitions are those of the reference: packet latency from creation at the source to the tail's leaving, network
//! latency from the head's entering; packets created in the measured window are all waited for.

mod collector;
mod endpoint;
mod histogram;
mod interval;
mod load;
mod result;
mod run;
mod sweep;

pub(crate) use endpoint::Endpoints;
pub use histogram::Histogram;
pub use interval::BatchMeans;
pub(crate) use load::{Load, heard};
pub use result::{ClassResult, Latency, LinkLoad, Outcome, RoundTrips, RunResult};
pub use run::Experiment;
pub(crate) use run::link_loads;
pub use sweep::{Point, bisect_saturation};
