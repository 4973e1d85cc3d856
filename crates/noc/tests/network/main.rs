//! The network: zero-load latencies, curves beside other simulators, queueing theory, arbiters, and
//! reproducibility.

#[path = "../common/mod.rs"]
mod common;

mod arbitration;
mod closed_loop;
mod queueing;
mod reference_curves;
mod same_bytes;
mod topologies;
mod zero_load;
