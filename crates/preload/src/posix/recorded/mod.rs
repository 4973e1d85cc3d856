//! Functions that are recorded and that glibc serves: never replaced, but for condition variables
//! in a run with `BATON_LOCK` and barriers in a run with `BATON_BARRIER`.
//!
//! They are in use only with `BATON_TRACE`. Where glibc does not say whether a call had to wait, a
//! try is made first: if it succeeds, there was no wait.
//!
//! | file | holds |
//! | --- | --- |
//! | [`rwlock`], [`spin`], [`barrier`], [`sem`] | the objects of these names |
//! | `outside` | input, output and sleep |
//! | `files` | pipes, sockets and eventfds that are made, copied and closed |
//! | `futex` | futex calls of the program's own |
//! | [`cond`] | condition variables, in a run whose mutexes are glibc's |
//! | [`threads`] | creation, join, names, affinities |

pub mod cond;

mod barrier;
mod files;
mod futex;
mod outside;
mod rwlock;
mod sem;
mod spin;
mod threads;

use crate::events;
use crate::hooks::real;
use crate::hooks::{Code, slot};
use core::ffi::{c_int, c_void};

/// Points the slots of the recorded functions to those of this room.
pub fn install() {
    rwlock::install();
    spin::install();
    barrier::install();
    sem::install();
    threads::install();
    outside::install();
    files::install();
    futex::install();
    slot::dlclose.set(dlclose as Code);
}

/// Records the modules before an object file may be unloaded, and again afterwards, so that the
/// trace has the file's place and its end.
unsafe extern "C-unwind" fn dlclose(handle: *mut c_void, _: usize) -> c_int {
    events::list_modules();
    // SAFETY: passed on.
    let failed = unsafe { real::dlclose.get()(handle) };
    events::list_modules();
    failed
}
