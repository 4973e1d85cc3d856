//! Numbers of guest threads.

/// Number of a guest thread.
pub(crate) type ThreadId = u32;
/// No thread: the host's own code, outside the simulation.
pub(crate) const OUTSIDE: ThreadId = u32::MAX;
