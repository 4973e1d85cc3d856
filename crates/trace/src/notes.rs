//! Codes of [`What::Note`](crate::What::Note): notes about an object that the report passes on to
//! its readers.

/// The object is a robust mutex, which glibc serves.
pub const ROBUST: u32 = 1;
/// The object is a priority-inheritance mutex, which glibc serves.
pub const PRIORITY_INHERIT: u32 = 2;
/// The object is a priority-protect mutex, which glibc serves.
pub const PRIORITY_PROTECT: u32 = 3;
/// The object is shared between processes, so glibc serves it.
pub const PROCESS_SHARED: u32 = 4;
/// The chosen lock could not serve the object, so glibc did.
pub const NOT_REPLACED: u32 = 5;
/// The program has more call sites than the recorder's table holds: those that came later are
/// unknown.
pub const SITES_FULL: u32 = 6;
/// Glibc serves the condition variable, because it serves the mutex that threads wait with there.
pub const CONDITION_PASSED_THROUGH: u32 = 7;

/// The kernel reported more of a thread's context switches, or of its waits for locks of the C
/// library, than the thread's ring holds: some reports were lost.
pub const RING_FULL: u32 = 8;

/// Returns what a note's code says, as one line of text for the report.
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
