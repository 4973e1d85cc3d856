//! Devices: what a request takes, its order, interrupts, kinds and typed payloads.

#[path = "../common/mod.rs"]
mod common;

mod allocations;
mod interrupts;
mod kill;
mod kinds;
mod order;
mod port;
mod preempt;
mod random;
mod requests;
mod typed;
