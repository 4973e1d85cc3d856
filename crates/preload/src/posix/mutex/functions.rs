//! What the slots of the mutex functions point to: the functions of one way to serve mutexes.

use super::object::Mutex;
use crate::hooks::{Code, slot};
use core::ffi::{c_int, c_void};
use libc::{clockid_t, timespec};

/// `pthread_mutex_init` and the call site.
pub type Init = unsafe extern "C-unwind" fn(*mut Mutex, *const c_void, usize) -> c_int;
/// `pthread_mutex_lock` and its like.
pub type Plain = unsafe extern "C-unwind" fn(*mut Mutex, usize) -> c_int;
/// `pthread_mutex_timedlock`.
pub type Timed = unsafe extern "C-unwind" fn(*mut Mutex, *const timespec, usize) -> c_int;
/// `pthread_mutex_clocklock`.
pub type Clocked = unsafe extern "C-unwind" fn(*mut Mutex, clockid_t, *const timespec, usize) -> c_int;

/// The functions, and where they keep the spare lock.
#[derive(Clone, Copy)]
pub struct Functions {
    /// Initialises.
    pub init: Init,
    /// Destroys.
    pub destroy: Plain,
    /// Locks.
    pub lock: Plain,
    /// Tries.
    pub trylock: Plain,
    /// Locks until a time of the wall clock.
    pub timedlock: Timed,
    /// Locks until a time of a clock.
    pub clocklock: Clocked,
    /// Unlocks.
    pub unlock: Plain,
    /// Where in a mutex the word of the spare lock lies, in bytes; `None`: glibc serves it, which has none.
    pub spare_at: Option<usize>,
}

impl Functions {
    /// Points the slots to them.
    pub fn install(&self) {
        slot::pthread_mutex_init.set(self.init as Code);
        slot::pthread_mutex_destroy.set(self.destroy as Code);
        slot::pthread_mutex_lock.set(self.lock as Code);
        slot::pthread_mutex_trylock.set(self.trylock as Code);
        slot::pthread_mutex_timedlock.set(self.timedlock as Code);
        slot::pthread_mutex_clocklock.set(self.clocklock as Code);
        slot::pthread_mutex_unlock.set(self.unlock as Code);
    }
}
