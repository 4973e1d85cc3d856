//! Waiting: monitors, halted CPUs, siblings, and what each costs.

#[path = "../common/mod.rs"]
mod common;

mod adaptive;
mod contexts;
mod costs;
mod idle_edges;
mod idle_waits;
mod region;
mod rests;
mod siblings;
mod table1;
mod table1_work;
