//! Codes of [`What::Note`](crate::What::Note): notes about an object that the report passes on to
//! its readers.

/// The object is a robust mutex: left to glibc, neither traced in full nor replaced.
pub const ROBUST: u32 = 1;
/// The object is a priority-inheritance mutex: left to glibc.
pub const PRIORITY_INHERIT: u32 = 2;
/// The object is a priority-protect mutex: left to glibc.
pub const PRIORITY_PROTECT: u32 = 3;
/// The object is shared between processes: left to glibc.
pub const PROCESS_SHARED: u32 = 4;
/// The chosen lock could not serve the object, so glibc did.
pub const NOT_REPLACED: u32 = 5;
/// There are more call sites than the table holds: later ones are unknown.
pub const SITES_FULL: u32 = 6;
/// A condition variable waits with a mutex that is left to glibc, so it is left to glibc too.
pub const CONDITION_PASSED_THROUGH: u32 = 7;

/// The kernel had more to tell of a thread's context switches, or of its waits for locks of the C
/// library, than the thread's ring holds: some were lost.
pub const RING_FULL: u32 = 8;

/// Returns one line of text for the report.
pub fn text(code: u32) -> &'static str {
    match code {
        ROBUST => "robust mutex: passed through to the C library",
        PRIORITY_INHERIT => "priority-inheritance mutex: passed through to the C library",
        PRIORITY_PROTECT => "priority-protect mutex: passed through to the C library",
        PROCESS_SHARED => "process-shared object: passed through to the C library",
        NOT_REPLACED => "not replaced: served by the C library",
        SITES_FULL => "more call sites than the table holds: later ones are unknown",
        CONDITION_PASSED_THROUGH => "condition variable passed through with its mutex",
        RING_FULL => "context switches or waits for locks of the C library were lost: a ring was full",
        _ => "unknown note",
    }
}
