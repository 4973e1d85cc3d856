//! The futex: its costs and order, schedules of its protocol, and every moment of a wait.

#[path = "../common/mod.rs"]
mod common;

mod schedules;
mod steps;
mod waits;
