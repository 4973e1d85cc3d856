//! Writes events into the trace, and does the upkeep of the recording. Each function that takes a
//! [`Probe`] compiles to nothing in code that does not record.

use super::session::{Probe, SESSION};
use crate::thread::{self, Thread};
use baton_trace::{What, clock, sys};

/// Records an event with the time now. Called before an act that gives something to other threads,
/// such as a release.
#[inline(always)]
pub fn post<P: Probe>(what: impl FnOnce(&Thread) -> What) {
    if P::ON {
        let thread = thread::current();
        thread.pen.post(&SESSION, what(thread));
    }
}

/// Records an event with a time read after all earlier instructions are done. Called after an act
/// that took something, such as an acquisition.
#[inline(always)]
pub fn post_ordered<P: Probe>(what: impl FnOnce(&Thread) -> What) {
    if P::ON {
        let thread = thread::current();
        thread.pen.post_ordered(&SESSION, what(thread));
    }
}

/// Records that the acquisition or wait that the thread has just recorded at `object` was a try, or
/// has a deadline.
#[inline(always)]
pub fn bounded<P: Probe>(object: u64) {
    post::<P>(|_| What::Bounded { object });
}

/// Records the thread's CPU time, which tells spinning from sleeping. Where the kernel reports the
/// thread's context switches, does nothing: the switches say more, and the system call that reads
/// the CPU time would cost more than all other recording.
#[inline(always)]
pub(super) fn cpu_time<P: Probe>() {
    if P::ON {
        cpu_time_of(thread::current());
    }
}

pub(super) fn cpu_time_of(thread: &Thread) {
    if thread.switches.told().is_none() {
        thread.pen.post(&SESSION, What::CpuTime { ns: sys::thread_cpu_ns() });
    }
}

/// The time now, for an event that is written later; 0 in code that does not record.
#[inline(always)]
pub fn moment<P: Probe>() -> u64 {
    if P::ON { clock::now(SESSION.source()) } else { 0 }
}

#[cold]
#[inline(never)]
pub(super) fn tidy_up(thread: &Thread) {
    thread.switches.empty(thread);
    thread.pen.prepare(&SESSION);
}

/// Writes the context switches since the last time into the trace, if that was a while ago or the
/// ring fills. Called before waits that may have no end, among other places: a program that is
/// killed in the wait cannot write them any more, and a sleep before the wait would then be taken
/// for work. The thread may hold a lock (after a condition wait it does), so most calls do nothing.
#[cold]
pub(super) fn switched<P: Probe>() {
    if P::ON {
        let thread = thread::current();
        if thread.switches.is_due() {
            thread.switches.empty(thread);
        }
    }
}
