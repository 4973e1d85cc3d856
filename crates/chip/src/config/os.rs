//! Values of the operating system's keys that are more than a number.

use baton_sched::{POLICIES, Policy};

/// Where a futex's hash bucket has its home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FutexHome {
    /// Where its address says, as in Linux.
    Bucket,
    /// At the home of the cell that is waited on (OCOR, section 4.1).
    Lock,
}

impl FutexHome {
    /// Their names in a chip file.
    pub const NAMES: &[&str] = &["bucket", "lock"];

    /// The name in a chip file.
    pub fn name(self) -> &'static str {
        FutexHome::NAMES[self as usize]
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<FutexHome> {
        [FutexHome::Bucket, FutexHome::Lock].into_iter().find(|home| home.name() == name)
    }
}

/// A scheduling policy of the registry, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerName(&'static str);

impl SchedulerName {
    /// The one of that name, if there is one.
    pub fn named(name: &str) -> Option<SchedulerName> {
        baton_sched::find(name).map(|policy| SchedulerName(policy.name))
    }

    /// The name in a chip file.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// The policy.
    pub fn policy(self) -> &'static Policy {
        baton_sched::find(self.0).unwrap_or(&POLICIES[0])
    }
}

impl Default for SchedulerName {
    fn default() -> Self {
        SchedulerName(POLICIES[0].name)
    }
}
