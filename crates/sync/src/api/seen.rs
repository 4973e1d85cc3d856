//! What the library's objects, besides queues, tell `baton profile` with the feature `record`; nothing
//! without it.

pub(super) use super::record::Object;
use super::record::{self, Told};

/// Tells what happens to an object that is no lock.
#[inline(always)]
pub(super) fn object<O>(object: &O, told: Object, number: u64) {
    if cfg!(feature = "record") {
        record::object(told, core::ptr::from_ref(object).addr(), number);
    }
}

/// Tells that the thread is about to wait for a lock, which [`got`] ends.
#[inline(always)]
pub(super) fn waits<L>(lock: &L, mode: Mode) {
    if cfg!(feature = "record") {
        tell(lock, Told::Waits, mode);
    }
}

/// Tells that the thread's wait ended with the lock.
#[inline(always)]
pub(super) fn got<L>(lock: &L, mode: Mode) {
    if cfg!(feature = "record") {
        tell(lock, Told::Got, mode);
    }
}

/// How a lock is taken.
#[derive(Clone, Copy)]
pub(super) enum Mode {
    /// A mutex.
    Mutex = 0,
    /// A reader-writer lock, by its writer.
    Exclusive = 1,
    /// A reader-writer lock, by a reader; an upgradable hold too.
    Shared = 2,
}

#[inline(always)]
fn tell<L>(lock: &L, told: Told, mode: Mode) {
    record::lock(told, core::ptr::from_ref(lock).addr(), mode as u64);
}

/// Takes a lock by `wait`. A lock that is recorded is tried first, to tell whether the thread waits.
#[inline(always)]
pub(super) fn take<L, T>(lock: &L, mode: Mode, tries: impl FnOnce() -> Option<T>, wait: impl FnOnce() -> T) -> T {
    if !cfg!(feature = "record") {
        return wait();
    }
    match tries() {
        Some(token) => {
            tell(lock, Told::Taken, mode);
            token
        }
        None => {
            tell(lock, Told::Waits, mode);
            let token = wait();
            tell(lock, Told::Got, mode);
            token
        }
    }
}

/// [`take`] with a deadline: `wait` returns `None` if the deadline passes first.
#[inline(always)]
pub(super) fn take_until<L, T>(
    lock: &L,
    mode: Mode,
    tries: impl FnOnce() -> Option<T>,
    wait: impl FnOnce() -> Option<T>,
) -> Option<T> {
    if !cfg!(feature = "record") {
        return wait();
    }
    let token = tries();
    if token.is_some() {
        tell(lock, Told::Taken, mode);
        return token;
    }
    tell(lock, Told::Waits, mode);
    let token = wait();
    tell(lock, if token.is_some() { Told::Got } else { Told::GaveUp }, mode);
    token
}

/// Tells whether a try took the lock. Returns the try's token.
#[inline(always)]
pub(super) fn tried<L, T>(lock: &L, mode: Mode, token: Option<T>) -> Option<T> {
    if cfg!(feature = "record") {
        tell(lock, if token.is_some() { Told::Taken } else { Told::Tried }, mode);
    }
    token
}

/// Tells that the thread has a hold of this mode now, which it did not wait for.
#[inline(always)]
pub(super) fn has<L>(lock: &L, mode: Mode) {
    if cfg!(feature = "record") {
        tell(lock, Told::Taken, mode);
    }
}

/// Tells that the thread is about to release its hold.
#[inline(always)]
pub(super) fn releases<L>(lock: &L, mode: Mode) {
    if cfg!(feature = "record") {
        tell(lock, Told::Releases, mode);
    }
}
