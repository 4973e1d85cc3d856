//! Locks, critical, atomic and ordered sections: what a tool calls mutexes.

use super::callbacks::{self, BEGIN, END};
use super::callers::code;
use super::running::is_on;
use super::thread::{state, with};

/// Kinds of locks, by the numbers of `ompt_mutex_t`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum LockKind {
    Lock = 1,
    TestLock = 2,
    NestLock = 3,
    TestNestLock = 4,
    Critical = 5,
    Atomic = 6,
    Ordered = 7,
}

impl LockKind {
    /// A lock that is set, or tried.
    pub(crate) fn of(nests: bool, tries: bool) -> LockKind {
        match (nests, tries) {
            (false, false) => LockKind::Lock,
            (false, true) => LockKind::TestLock,
            (true, false) => LockKind::NestLock,
            (true, true) => LockKind::TestNestLock,
        }
    }

    fn state(self) -> i32 {
        match self {
            LockKind::Critical => state::WAIT_CRITICAL,
            LockKind::Atomic => state::WAIT_ATOMIC,
            LockKind::Ordered => state::WAIT_ORDERED,
            _ => state::WAIT_LOCK,
        }
    }
}

/// The implementation of all locks: their algorithm is a setting.
pub(super) const BY_SETTING: u32 = 1;

/// Does `take`, which takes the lock at the address `wait` and returns whether it did, and tells the
/// tool. Only called where there is a tool.
pub(crate) fn acquire(kind: LockKind, hint: u32, wait: usize, take: impl FnOnce() -> bool) -> bool {
    let (code, wait) = (code(), wait as u64);
    callbacks::mutex_acquire(kind as i32, hint, BY_SETTING, wait, code);
    let before = with(|thread| {
        thread.wait.set(wait);
        thread.state.replace(kind.state())
    });
    let taken = take();
    with(|thread| {
        thread.state.set(before);
        thread.wait.set(0);
    });
    if taken {
        callbacks::mutex_acquired(kind as i32, wait, code);
    }
    taken
}

/// Tells that the lock at the address `wait` was released.
pub(crate) fn released(kind: LockKind, wait: usize) {
    callbacks::mutex_released(kind as i32, wait as u64, code());
}

/// Tells that a lock was made.
pub(crate) fn made(nests: bool, hint: u32, wait: usize) {
    if is_on() {
        callbacks::lock_init(LockKind::of(nests, false) as i32, hint, BY_SETTING, wait as u64, code());
    }
}

/// Tells that a lock was destroyed.
pub(crate) fn destroyed(nests: bool, wait: usize) {
    if is_on() {
        callbacks::lock_destroy(LockKind::of(nests, false) as i32, wait as u64, code());
    }
}

/// Does `take`, which takes a lock for the function `caller` of the interface, and tells of it.
pub(crate) fn set(caller: &str, wait: usize, take: impl FnOnce()) {
    if is_on() {
        let taken = || {
            take();
            true
        };
        acquire(LockKind::of(nests(caller), false), 0, wait, taken);
    } else {
        take();
    }
}

/// Does `take`, which tries to take a lock for the function `caller` and returns whether it did, and
/// tells of it.
pub(crate) fn test(caller: &str, wait: usize, take: impl FnOnce() -> bool) -> bool {
    if is_on() { acquire(LockKind::of(nests(caller), true), 0, wait, take) } else { take() }
}

/// Tells that the function `caller` has released a lock.
pub(crate) fn unset(caller: &str, wait: usize) {
    if is_on() {
        released(LockKind::of(nests(caller), false), wait);
    }
}

/// Whether the function is one of nested locks.
fn nests(caller: &str) -> bool {
    caller.contains("nest")
}

/// Tells that a task takes a nested lock once more, which it has.
pub(crate) fn taken_again(tries: bool, wait: usize) {
    if is_on() {
        let code = code();
        callbacks::mutex_acquire(LockKind::of(true, tries) as i32, 0, BY_SETTING, wait as u64, code);
        callbacks::nest_lock(BEGIN, wait as u64, code);
    }
}

/// Tells that a task gives up one of its holds of a nested lock, and keeps the lock.
pub(crate) fn given_back(wait: usize) {
    if is_on() {
        callbacks::nest_lock(END, wait as u64, code());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_locks_have_their_numbers_and_states() {
        assert_eq!(LockKind::of(nests("omp_test_nest_lock"), true) as i32, 4);
        assert_eq!(LockKind::of(nests("omp_set_lock"), false) as i32, 1);
        assert_eq!((LockKind::NestLock.state(), LockKind::Atomic.state()), (state::WAIT_LOCK, state::WAIT_ATOMIC));
    }
}
