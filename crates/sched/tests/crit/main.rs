//! The policies `crit` and `lavd`: events in, answers out. CPU 0 is fast; threads stay where they
//! are, whatever the answers say, unless a test moves them.

#[path = "../common/mod.rs"]
mod common;
mod lavd;
mod moves;
mod table;
mod waits;
