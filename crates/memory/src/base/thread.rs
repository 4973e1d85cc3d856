//! Numbers of guest threads.

/// Number of a guest thread.
pub type ThreadId = u32;
/// No thread: the host's own code, outside the simulation.
pub const OUTSIDE: ThreadId = u32::MAX;
