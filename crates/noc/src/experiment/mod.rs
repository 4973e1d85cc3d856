//! One measured run: a warm-up until the mean settles, a measured window, and a drain during which
//! the load goes on.
//!
//! The definitions are the reference's: packet latency counts from the packet's creation at the
//! source to the leaving of its tail, network latency from the entering of its head. The run waits
//! for the packets that were created in the measured window, but not for ever. A run of batches has
//! no warm-up: all of it is measured.

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
