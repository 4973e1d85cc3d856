//! On which CPUs threads may run: what each inherits or is given at its birth, and what is changed later.
//!
//! Each thread writes its own set when it begins, and whoever changes a thread's set writes the new one. A thread that begins
//! at that very moment makes itself known before it reads its set; who changes a set does so before it looks for the
//! thread: so one of the two sees the new set.

use super::session::SESSION;
use crate::thread::{self, Thread};
use baton_trace::{Affinity, sys};
use core::ffi::c_int;

/// Writes down the calling thread's set, or that of another thread of this process by the kernel's number.
pub fn write(thread: &Thread, tid: u32) {
    if !SESSION.is_open() {
        return;
    }
    let mut words = [0; sys::AFFINITY_WORDS];
    // Where the kernel forbids the call (seccomp), nothing is known.
    if let Ok(words) = sys::affinity(tid, &mut words) {
        for what in Affinity::records(tid, words) {
            thread.pen.post(&SESSION, what);
        }
    }
}

/// The set of the thread whose `pthread_t` is `handle` has been changed.
pub fn changed(handle: usize) {
    let me = thread::current();
    if handle == me.handle() {
        write(me, 0);
    } else if let Some(other) = thread::find(handle) {
        write(me, other.tid());
    }
}

/// The set of the thread, or of the first thread of the process, with this number has been changed; 0 is the calling one.
pub fn changed_by_number(number: c_int) {
    let me = thread::current();
    let number = number as u32;
    if number == 0 || number == me.tid() {
        write(me, 0);
    } else if thread::all().any(|other| other.handle() != 0 && other.tid() == number) {
        write(me, number);
    }
}
