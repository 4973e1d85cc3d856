//! Every form of a report: terminal, page, JSON, exports; names, differences, damaged recordings.

#[path = "../support/schema.rs"]
mod schema;
#[path = "../support/mod.rs"]
mod support;

mod answers;
mod browser;
mod causes;
mod damaged;
mod diff;
mod dilation;
mod exports;
mod json;
mod new_threads;
mod openmp;
mod own_locks;
mod queues;
mod requests;
mod runtimes;
mod second;
mod servers;
mod standstill;
mod symbols;
mod terminal;
mod uneven;
mod unseen;
mod unwaited;
