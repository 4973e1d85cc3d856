//! The policies by name.

use crate::POLICIES;
use crate::policy::Policy;
use baton_units::open::{NotAdded, OpenList};

static LIST: OpenList<Policy> = OpenList::new("scheduler", POLICIES, |policy| policy.name);

/// Returns every policy, the added ones behind the built-in ones.
pub fn policies() -> &'static [Policy] {
    LIST.all()
}

/// Returns the names of all policies.
pub fn names() -> &'static [&'static str] {
    LIST.names()
}

/// Returns the policy with this name.
pub fn find(name: &str) -> Option<&'static Policy> {
    LIST.find(name)
}

/// Adds a command's own policy to the registry.
///
/// # Errors
/// Fails if another policy has the name, if the name is empty or has characters that a name may not
/// have, or if the list of policies has been read already.
pub fn add(policy: Policy) -> Result<(), NotAdded> {
    LIST.add(policy).map(|_| ())
}
