//! The policies by name.

use crate::POLICIES;
use crate::policy::Policy;
use baton_units::open::{NotAdded, OpenList};

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
