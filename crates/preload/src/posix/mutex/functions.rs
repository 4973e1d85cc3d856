//! The functions to which the mutex slots point: one set for each way to serve mutexes.

use super::object::Mutex;
use crate::hooks::{Code, slot};
use core::ffi::{c_int, c_void};
use libc::{clockid_t, timespec};

/// The type of a function in place of `pthread_mutex_init`, which gets the call site too.
pub type Init = unsafe extern "C-unwind" fn(*mut Mutex, *const c_void, usize) -> c_int;
/// The type of a function in place of `pthread_mutex_lock`, or of another function with the same
/// arguments, which gets the call site too.
pub type Plain = unsafe extern "C-unwind" fn(*mut Mutex, usize) -> c_int;
/// The type of a function in place of `pthread_mutex_timedlock`, which gets the call site too.
pub type Timed = unsafe extern "C-unwind" fn(*mut Mutex, *const timespec, usize) -> c_int;
/// The type of a function in place of `pthread_mutex_clocklock`, which gets the call site too.
pub type Clocked = unsafe extern "C-unwind" fn(*mut Mutex, clockid_t, *const timespec, usize) -> c_int;

/// The functions of one way to serve mutexes, and where it keeps the spare lock.
#[derive(Clone, Copy)]
pub struct Functions {
    pub init: Init,
    pub destroy: Plain,
    pub lock: Plain,
    /// Locks the mutex if it is free, without a wait.
    pub trylock: Plain,
    /// Locks the mutex; waits until a time of the wall clock at most.
    pub timedlock: Timed,
    /// Locks the mutex; waits until a time of a given clock at most.
    pub clocklock: Clocked,
    pub unlock: Plain,
    /// Offset in bytes of the spare lock's word in a mutex; `None` for glibc's functions, which
    /// have no spare lock, and for functions that go on to those of each mutex's lock.
    pub spare_at: Option<usize>,
}

impl Functions {
    /// Points the mutex slots to these functions.
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
