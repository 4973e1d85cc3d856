//! One measured run: warm-up until the mean settles, a measured window, and a drain in which the load goes on.
//!
//! Definitions are those of the reference: packet latency from creation at the source to the tail's leaving, network
//! latency from the head's entering; packets created in the measured window are all waited for.

mod histogram;
mod interval;
mod run;
mod sweep;

pub use histogram::Histogram;
pub use interval::BatchMeans;
pub(crate) use run::link_loads;
pub use run::{ClassResult, Experiment, Latency, LinkLoad, Outcome, RunResult};
pub use sweep::{Point, bisect_saturation};
