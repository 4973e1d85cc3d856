//! Kinds of parts of the critical path that several files name.

/// The prefix of the kinds of time in critical sections.
pub(super) const SECTION: &str = "critical-section";

/// The kind of a wait at an object that other processes use, too, if no thread of this process explains
/// the wait.
pub(super) const SHARED: &str = "shared-wait";
