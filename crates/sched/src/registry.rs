//! The policies by name.

use crate::{Cpus, POLICIES, Params, Scheduler};

/// A policy and what is said of it.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Its name in chip files and on the command line.
    pub name: &'static str,
    /// One line: what it does.
    pub what: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Makes one, for a machine on which all CPUs are on and no thread lives.
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

/// Their names.
pub const NAMES: &[&str] = &ALL;

/// The policy of that name.
pub fn find(name: &str) -> Option<&'static Policy> {
    POLICIES.iter().find(|policy| policy.name == name)
}
