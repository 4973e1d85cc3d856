//! Writing an event down, and what recording has to do now and then. Each function is nothing in code that does not record.

use super::session::{Probe, SESSION};
use crate::thread::{self, Thread};
use baton_trace::{What, clock, sys};

/// Records an act, stamped now: before it gives something away.
#[inline(always)]
pub fn post<P: Probe>(what: impl FnOnce(&Thread) -> What) {
    if P::ON {
        let thread = thread::current();
        thread.pen.post(&SESSION, what(thread));
    }
}

/// Records an act, stamped when everything before is done: after it took something.
#[inline(always)]
pub fn post_ordered<P: Probe>(what: impl FnOnce(&Thread) -> What) {
    if P::ON {
        let thread = thread::current();
        thread.pen.post_ordered(&SESSION, what(thread));
    }
}

/// The acquisition or wait that the thread has just recorded at `object` was a try, or has a deadline.
#[inline(always)]
pub fn bounded<P: Probe>(object: u64) {
    post::<P>(|_| What::Bounded { object });
}

/// The thread's CPU time, to tell spinning from sleeping.
#[inline(always)]
pub(super) fn cpu_time<P: Probe>() {
    post::<P>(|_| What::CpuTime { ns: sys::thread_cpu_ns() });
}

/// A moment, to be written down later; 0 in code that does not record.
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

/// Writes down the context switches before a wait that may have no end: a program that is killed in the wait could not, and a sleep
/// before it would be taken for work. A lock that the thread holds is held longer by that, if the thread left its CPU since the last time.
pub(super) fn switched_before<P: Probe>() {
    if P::ON && thread::current().switches.has_news() {
        switched::<P>();
    }
}

/// Writes down the context switches since the last time. Where no lock is held, so that no critical section gets longer.
#[cold]
pub(super) fn switched<P: Probe>() {
    if P::ON {
        let thread = thread::current();
        thread.switches.empty(thread);
    }
}
