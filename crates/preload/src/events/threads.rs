//! Threads: created, joined, named.

use super::post::{post, switched};
use super::session::{Probe, SESSION};
use super::sites::{origin, site};
use crate::thread;
use baton_trace::What;

/// A thread is about to be created. The callers tell threads apart that one function of the program creates.
pub fn create<P: Probe>(at: usize) {
    post::<P>(|thread| What::Create { site: origin(thread, at) });
}

/// A join begins.
pub fn join_begin<P: Probe>(handle: u64, at: usize) {
    switched::<P>();
    post::<P>(|thread| What::JoinBegin { handle, site: site(thread, at) });
}

/// The calling thread has given itself a name.
pub fn name_current(name: &core::ffi::CStr) {
    thread::current().pen.name_thread(&SESSION, name.to_bytes());
}
