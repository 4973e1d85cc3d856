//! Accesses to memory: latencies to the cycle, store buffer, window, hints, instructions.

#[path = "../common/mod.rs"]
mod common;

mod charging;
mod coherent;
mod hints;
mod latency;
mod links;
mod store_buffer;
mod window;
