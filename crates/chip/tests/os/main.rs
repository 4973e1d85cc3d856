//! The operating system of the chip: run queues, clocks, interrupts, their prices and traffic, and
//! runs that hang.

#[path = "../common/mod.rs"]
mod common;

mod apps;
mod asymmetric;
mod clocks;
mod core_kinds;
mod critical;
mod governors;
mod hangs;
mod latencies;
mod preempted_holder;
mod prices;
mod re_rated;
mod signal_locks;
mod signal_sets;
mod signals;
mod system;
mod traffic;
