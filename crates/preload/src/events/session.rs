//! The process's trace, and the two kinds of hooks: those that record into it, and those that do
//! not.

use baton_trace::writer::Session;

/// Whether hooks record.
pub trait Probe: 'static {
    /// True for hooks that record.
    const ON: bool;
}

/// Hooks that record.
pub struct Recorded;
/// Hooks that do not record.
pub struct Quiet;

impl Probe for Recorded {
    const ON: bool = true;
}
impl Probe for Quiet {
    const ON: bool = false;
}

/// The process's trace.
pub(super) static SESSION: Session = Session::new();

/// Whether the process is being recorded now.
pub fn is_recording() -> bool {
    SESSION.is_open()
}
