//! A policy's row in the registry.

use crate::cpus::Cpus;
use crate::scheduler::{Params, Scheduler};

/// A policy's row in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Name in chip files and on the command line.
    pub name: &'static str,
    /// One line for the user that says what the policy does.
    pub what: &'static str,
    /// Where the policy comes from.
    pub source: &'static str,
    /// Makes the policy for a machine on which all CPUs are on and no thread lives.
    pub make: fn(&Cpus, &Params) -> Box<dyn Scheduler>,
}
