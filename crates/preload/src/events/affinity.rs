//! Records on which CPUs each thread may run: the set that a thread inherits or is given at its
//! birth, and later changes.
//!
//! Each thread writes its own set when it begins, and a thread that changes another thread's set
//! writes the new set. Where a thread begins during such a change, it publishes its record before
//! it reads its set, and the other thread changes the set before it looks for the record: so at
//! least one of the two writes the new set.

use super::session::SESSION;
use crate::thread::{self, Thread};
use baton_trace::{Affinity, sys};
use core::ffi::c_int;

/// Writes the CPU set of the thread with the kernel's number `tid` into the trace; 0 is the calling
/// thread.
pub fn write(thread: &Thread, tid: u32) {
    if !SESSION.is_open() {
        return;
    }
    let mut words = [0; sys::AFFINITY_WORDS];
    // Where the kernel forbids the call (seccomp), the set stays unknown.
    if let Ok(words) = sys::affinity(tid, &mut words) {
        for what in Affinity::records(tid, words) {
            thread.pen.post(&SESSION, what);
        }
    }
}

/// Records the new CPU set of the thread whose `pthread_t` is `handle`.
pub fn changed(handle: usize) {
    let me = thread::current();
    if handle == me.handle() {
        write(me, 0);
    } else if let Some(other) = thread::find(handle) {
        write(me, other.tid());
    }
}

/// Records the new CPU set of the thread with this kernel number (a process's number is that of its
/// first thread); 0 is the calling thread.
pub fn changed_by_number(number: c_int) {
    let me = thread::current();
    let number = number as u32;
    if number == 0 || number == me.tid() {
        write(me, 0);
    } else if thread::all().any(|other| other.handle() != 0 && other.tid() == number) {
        write(me, number);
    }
}
