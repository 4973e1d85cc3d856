//! Mutexes and reader-writer locks of `baton-sync`, which find the function here by its name while the
//! program is recorded (the feature `record` of that crate). The library's own futex calls inside of
//! a wait are not recorded: the wait is.

use super::futexes::recorded_thread;
use super::locks::{
    lock_acquire, lock_acquired, lock_first_acquire, lock_release, lock_request, lock_timed_out, lock_try_failed,
};
use super::session::Recorded;
use super::told;
use crate::base::errno;
use baton_trace::{Address, How, Lock, LockKind, Mode};
use core::sync::atomic::Ordering::Relaxed;

/// What a program says of a lock. `baton-sync` (`api::record`) has the same numbers.
mod act {
    /// The thread took the lock without a wait.
    pub(super) const TAKEN: u32 = 0;
    /// The thread is about to wait for the lock.
    pub(super) const WAITS: u32 = 1;
    /// The wait ended with the lock.
    pub(super) const GOT: u32 = 2;
    /// The wait ended without the lock.
    pub(super) const GAVE_UP: u32 = 3;
    /// The thread is about to release the lock.
    pub(super) const RELEASES: u32 = 4;
    /// A try found the lock taken.
    pub(super) const TRIED: u32 = 5;
}

/// The number of a mutex. A reader-writer lock has 1 for the exclusive mode and 2 for the shared one.
const MUTEX: u64 = 0;
const SHARED: u64 = 2;

/// Records an act at a lock. The call site is the return address.
#[unsafe(naked)]
#[cfg_attr(not(test), unsafe(no_mangle))]
#[cfg_attr(test, allow(dead_code))]
pub unsafe extern "C" fn baton_preload_lock(_act: u32, _lock: usize, _mode: u64) {
    core::arch::naked_asm!("mov rcx, qword ptr [rsp]", "jmp {lock}", lock = sym lock);
}

unsafe extern "C" fn lock(act: u32, address: usize, mode: u64, at: usize) {
    let Some(thread) = recorded_thread() else { return };
    let kind = if mode == MUTEX { LockKind::Other } else { LockKind::RwLock };
    let lock = Lock { address: address as Address, kind };
    let mode = if mode == SHARED { Mode::Shared } else { Mode::Exclusive };
    errno::kept(|| match act {
        // Locks have no call that initialises them: the stack of the first acquisition tells them apart.
        act::TAKEN if told::LOCKS.is_new(lock.address) => lock_first_acquire::<Recorded>(lock, mode, at),
        act::TAKEN => lock_acquire::<Recorded>(lock, mode, at),
        act::WAITS => {
            lock_request::<Recorded>(lock, mode, at);
            thread.inside.store(address, Relaxed);
        }
        act::GOT => {
            thread.inside.store(0, Relaxed);
            lock_acquired::<Recorded>(lock, mode, How::OPAQUE);
        }
        act::GAVE_UP => {
            thread.inside.store(0, Relaxed);
            lock_timed_out::<Recorded>(lock, mode);
        }
        act::RELEASES => lock_release::<Recorded>(lock, mode, at),
        act::TRIED => lock_try_failed::<Recorded>(lock, mode, at),
        _ => {}
    });
}
