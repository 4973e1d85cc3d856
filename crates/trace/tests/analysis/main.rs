//! Tests of the analysis of a recording: accounts, time off the CPU, the critical path, polls,
//! standstills, orders of locks, requests.

mod accounting;
mod background;
mod dilation;
mod done;
mod exits;
mod futex;
mod loops;
mod off_cpu;
mod openmp;
mod orders;
mod path;
mod polls;
mod queues;
mod requests;
mod retaken;
mod sleepers;
mod standstill;
mod streams;
mod told;
mod vain;
