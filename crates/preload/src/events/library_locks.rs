//! Mutexes and reader-writer locks of `baton-sync`, which find the function here by its name while the
//! program is recorded (the feature `record` of that crate). The library's own futex calls inside of
//! a wait are not recorded: the wait is. Nor is the futex call that wakes a waiter at a release.

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
pub mod act {
    /// The thread took the lock without a wait.
    pub const TAKEN: u32 = 0;
    /// The thread is about to wait for the lock.
    pub const WAITS: u32 = 1;
    /// The wait ended with the lock.
    pub const GOT: u32 = 2;
    /// The wait ended without the lock.
    pub const GAVE_UP: u32 = 3;
    /// The thread is about to release the lock.
    pub const RELEASES: u32 = 4;
    /// A try found the lock taken.
    pub const TRIED: u32 = 5;
}

/// The numbers of a mutex, and of the two modes of a reader-writer lock.
pub const MUTEX: u64 = 0;
pub const EXCLUSIVE: u64 = 1;
pub const SHARED: u64 = 2;

/// Records an act at a lock. The call site is the return address.
#[unsafe(naked)]
#[cfg_attr(not(test), unsafe(no_mangle))]
#[cfg_attr(test, allow(dead_code))]
pub unsafe extern "C" fn baton_preload_lock(_act: u32, _lock: usize, _mode: u64) {
    core::arch::naked_asm!("mov rcx, qword ptr [rsp]", "jmp {tell}", tell = sym tell);
}

/// Records an act at the lock at `address`, of the call site `at`.
pub extern "C" fn tell(act: u32, address: usize, mode: u64, at: usize) {
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
            thread.library.inside.store(address, Relaxed);
        }
        act::GOT => {
            thread.library.inside.store(0, Relaxed);
            lock_acquired::<Recorded>(lock, mode, How::OPAQUE);
        }
        act::GAVE_UP => {
            thread.library.inside.store(0, Relaxed);
            lock_timed_out::<Recorded>(lock, mode);
        }
        act::RELEASES => {
            lock_release::<Recorded>(lock, mode, at);
            thread.library.leaves.store(address, Relaxed);
        }
        act::TRIED => lock_try_failed::<Recorded>(lock, mode, at),
        _ => {}
    });
}
