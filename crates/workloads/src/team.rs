//! The threads of a workload, and the check of what they computed.

use crate::timing::Figure;

/// What one thread does. A body is made and run on the same machine; it is `Send` for machines that
/// run it on another host thread.
pub type Body = Box<dyn FnOnce() + Send>;

/// Looks at what the threads computed, when all threads have ended.
pub type Verify = Box<dyn FnOnce() -> Result<(), String> + Send>;

/// What the workload measured of itself; called after a run that was not cut off.
pub type OwnFigures = Box<dyn FnOnce() -> Vec<Figure> + Send>;

/// The threads of a workload.
pub struct Team {
    /// One body for each thread.
    pub bodies: Vec<Body>,
    /// The check; called after a run that was not cut off.
    pub verify: Verify,
    /// The figures that the workload measured of itself.
    pub figures: OwnFigures,
}

impl Team {
    /// A team without figures of its own.
    pub fn new(bodies: Vec<Body>, verify: Verify) -> Team {
        Team { bodies, verify, figures: Box::new(Vec::new) }
    }
}

/// Compares a result with what the result must be. An error names `what`, both numbers, and which
/// is which.
pub fn expect(what: &str, found: u64, expected: u64) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found}, expected {expected}")) }
}
