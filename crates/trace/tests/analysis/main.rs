//! Tests of the analysis of a recording: accounts, time off the CPU, the critical path, polls.

mod accounting;
mod background;
mod off_cpu;
mod openmp;
mod path;
mod polls;
