//! The policies by name.

use crate::{Cpus, POLICIES, Params, Scheduler};

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

const fn names<const N: usize>() -> [&'static str; N] {
    let mut names = [""; N];
    let mut i = 0;
    while i < N {
        names[i] = POLICIES[i].name;
        i += 1;
    }
    names
}

const ALL: [&str; POLICIES.len()] = names();

/// The names of all policies.
pub const NAMES: &[&str] = &ALL;

/// Returns the policy with this name.
pub fn find(name: &str) -> Option<&'static Policy> {
    POLICIES.iter().find(|policy| policy.name == name)
}
