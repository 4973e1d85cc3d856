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

/// The thread's CPU time, to tell spinning from sleeping. Where the kernel tells of the thread's switches they say more, and this system
/// call would cost more than all the rest.
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

/// Writes down the context switches since the last time, if that was a while ago or the ring fills. It is called before each wait that may
/// have no end, too: a program that is killed there cannot, and a sleep before the wait would be taken for work. A thread may hold a lock here (behind
/// a wait at a condition variable it does), so most calls do nothing.
#[cold]
pub(super) fn switched<P: Probe>() {
    if P::ON {
        let thread = thread::current();
        if thread.switches.is_due() {
            thread.switches.empty(thread);
        }
    }
}
