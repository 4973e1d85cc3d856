//! The policies by name.

use crate::{Cpus, POLICIES, Params, Scheduler};
use baton_units::open::{NotAdded, OpenList};

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

static LIST: OpenList<Policy> = OpenList::new("scheduler", POLICIES, |policy| policy.name);

/// Every policy, the added ones behind the built-in ones.
pub fn policies() -> &'static [Policy] {
    LIST.all()
}

/// The names of all policies.
pub fn names() -> &'static [&'static str] {
    LIST.names()
}

/// Returns the policy with this name.
pub fn find(name: &str) -> Option<&'static Policy> {
    LIST.find(name)
}

/// Adds a policy of a command's own.
///
/// # Errors
/// The name is taken or is none, or policies have been looked up already.
pub fn add(policy: Policy) -> Result<(), NotAdded> {
    LIST.add(policy).map(|_| ())
}
