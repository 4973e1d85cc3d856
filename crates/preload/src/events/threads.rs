//! Events of threads: their creation, joins and names.

use super::post::{post, switched};
use super::session::{Probe, SESSION};
use super::sites::{origin, site};
use crate::thread;
use baton_trace::What;

/// Records that a thread is about to be created. The site has callers, because one function of the
/// program may create different kinds of threads.
pub fn create<P: Probe>(at: usize) {
    post::<P>(|thread| What::Create { site: origin(thread, at) });
}

/// Records that the thread begins to wait for the end of another thread (a join).
pub fn join_begin<P: Probe>(handle: u64, at: usize) {
    switched::<P>();
    post::<P>(|thread| What::JoinBegin { handle, site: site(thread, at) });
}

/// Records the name that the calling thread has given itself.
pub fn name_current(name: &core::ffi::CStr) {
    thread::current().pen.name_thread(&SESSION, name.to_bytes());
}
