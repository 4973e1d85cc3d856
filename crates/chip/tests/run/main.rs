//! Whole runs: chip files, the contract suites, energy, cycle stacks, and that the same run is the
//! same.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/recorder.rs"]
mod recorder;

mod actors;
mod bounds;
mod config;
mod contract;
mod device_barrier;
mod energy;
mod fairness;
mod flows;
mod kernels;
mod mutex_waiters;
mod outside;
mod packets;
mod phases;
mod phases_beside;
mod programs;
mod same_history;
mod stack;
mod tasks;
mod token;
mod two_level;
