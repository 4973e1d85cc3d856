//! Codes of [`What::Note`](crate::What::Note): what the report should tell people about an object.

/// A robust mutex: left to glibc, neither traced in full nor replaced.
pub const ROBUST: u32 = 1;
/// A priority-inheritance mutex: left to glibc.
pub const PRIORITY_INHERIT: u32 = 2;
/// A priority-protect mutex: left to glibc.
pub const PRIORITY_PROTECT: u32 = 3;
/// A process-shared object: left to glibc.
pub const PROCESS_SHARED: u32 = 4;
/// The chosen lock could not serve this object; glibc did.
pub const NOT_REPLACED: u32 = 5;
/// More call sites than the table holds: later ones are unknown.
pub const SITES_FULL: u32 = 6;
/// A wait on a mutex that is itself left to glibc.
pub const CONDITION_PASSED_THROUGH: u32 = 7;

/// One line for people.
pub fn text(code: u32) -> &'static str {
    match code {
        ROBUST => "robust mutex: passed through to the C library",
        PRIORITY_INHERIT => "priority-inheritance mutex: passed through to the C library",
        PRIORITY_PROTECT => "priority-protect mutex: passed through to the C library",
        PROCESS_SHARED => "process-shared object: passed through to the C library",
        NOT_REPLACED => "not replaced: served by the C library",
        SITES_FULL => "more call sites than the table holds: later ones are unknown",
        CONDITION_PASSED_THROUGH => "condition variable passed through with its mutex",
        _ => "unknown note",
    }
}
