//! Locks of all algorithms behind one type. C has no place for the holder's token, so the lock
//! itself keeps it.

use crate::{error, first_wait, text, time::deadline};
use baton_machine::{Deadline, Native, Wait};
use baton_sync::lock::{
    self, LOCKS, LockError, LockInfo, LockVisitor, RawLock, TimedLock, TimedVisitor, Token, TryLock, TryVisitor,
    ZeroInit,
};
use std::cell::UnsafeCell;
use std::ffi::{CString, c_char, c_int};

/// What a lock can do, whatever its algorithm.
trait AnyLock: Send + Sync {
    fn lock(&self);
    /// Tries to take the lock. Returns `None` if locks of this algorithm cannot be tried.
    fn try_lock(&self) -> Option<bool>;
    /// Takes the lock, or gives up at `deadline`. Returns `None` if waiters of this algorithm
    /// cannot give up.
    fn lock_until(&self, deadline: Deadline) -> Option<bool>;
    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    unsafe fn unlock(&self);
}

/// A lock of any algorithm with its wait policy and name: `struct baton_lock` in C.
pub struct BatonLock {
    any: Box<dyn AnyLock>,
    name: CString,
}

/// A lock with its wait policy and the token of its current holder.
struct Held<L> {
    raw: L,
    wait: Wait,
    token: UnsafeCell<usize>,
}

// SAFETY: only the holder accesses the token, and the lock orders one holder after another.
unsafe impl<L: Sync> Sync for Held<L> {}

impl<L: RawLock<Native>> Held<L> {
    fn new(wait: Wait) -> Held<L> {
        Held { raw: L::new(), wait, token: UnsafeCell::new(0) }
    }

    fn hold(&self, token: L::Token) {
        // SAFETY: the calling thread has just become the holder.
        unsafe { *self.token.get() = token.to_word() };
    }

    fn take(&self) {
        let token = self.raw.lock(self.wait);
        self.hold(token);
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    unsafe fn give(&self) {
        // SAFETY: the caller holds the lock by the token that was stored when it took it, under
        // this policy.
        unsafe {
            let token = L::Token::from_word(*self.token.get());
            self.raw.unlock(token, self.wait);
        }
    }
}

/// The three levels of ability. Each wraps a lock and implements [`AnyLock`] for what the lock can
/// do.
struct Plain<L>(Held<L>);
struct Try<L>(Held<L>);
struct Timed<L>(Held<L>);

macro_rules! any_lock {
    ($level:ident, $bound:ident, $self:ident, $deadline:ident, $try:expr, $until:expr) => {
        impl<L: $bound<Native>> AnyLock for $level<L> {
            fn lock(&self) {
                self.0.take();
            }
            fn try_lock(&$self) -> Option<bool> {
                $try
            }
            fn lock_until(&$self, $deadline: Deadline) -> Option<bool> {
                $until
            }
            unsafe fn unlock(&self) {
                // SAFETY: the caller holds the lock.
                unsafe { self.0.give() }
            }
        }
    };
}

any_lock!(Plain, RawLock, self, _deadline, None, None);
any_lock!(Try, TryLock, self, _deadline, Some(self.0.raw.try_lock().map(|t| self.0.hold(t)).is_some()), None);
any_lock!(
    Timed,
    TimedLock,
    self,
    deadline,
    Some(self.0.raw.try_lock().map(|t| self.0.hold(t)).is_some()),
    Some(self.0.raw.lock_until(self.0.wait, deadline).map(|t| self.0.hold(t)).is_some())
);

/// Makes a lock of the algorithm that it is called with, at the level of the algorithm's abilities.
struct Make(Wait);

impl LockVisitor<Native> for Make {
    type Out = Box<dyn AnyLock>;
    fn visit<L: RawLock<Native> + ZeroInit>(self) -> Box<dyn AnyLock> {
        Box::new(Plain(Held::<L>::new(self.0)))
    }
}
impl TryVisitor<Native> for Make {
    type Out = Box<dyn AnyLock>;
    fn visit<L: TryLock<Native> + ZeroInit>(self) -> Box<dyn AnyLock> {
        Box::new(Try(Held::<L>::new(self.0)))
    }
}
impl TimedVisitor<Native> for Make {
    type Out = Box<dyn AnyLock>;
    fn visit<L: TimedLock<Native> + ZeroInit>(self) -> Box<dyn AnyLock> {
        Box::new(Timed(Held::<L>::new(self.0)))
    }
}

fn make(info: &'static LockInfo, waits: Option<&str>) -> Result<BatonLock, String> {
    let wait = first_wait(waits, |asked| info.wait(asked))?;
    let any = match (info.try_lock, info.timed) {
        (_, true) => lock::visit_timed::<Native, _>(info.name, Make(wait)),
        (true, _) => lock::visit_try::<Native, _>(info.name, Make(wait)),
        _ => lock::visit::<Native, _>(info.name, Make(wait)).map_err(LockError::from),
    };
    let name = CString::new(info.name).map_err(|e| e.to_string())?;
    Ok(BatonLock { any: any.map_err(|e| e.to_string())?, name })
}

fn by_name(name: &str, waits: Option<&str>) -> Result<BatonLock, String> {
    make(lock::info(name).map_err(|unknown| unknown.to_string())?, waits)
}

fn boxed(made: Result<BatonLock, String>) -> *mut BatonLock {
    match made {
        Ok(lock) => Box::into_raw(Box::new(lock)),
        Err(why) => {
            error::set(why);
            std::ptr::null_mut()
        }
    }
}

/// Returns the lock that has this number in `enum baton_lock_kind`.
fn of_number(number: c_int) -> Option<&'static LockInfo> {
    LOCKS.iter().find(|lock| i64::from(lock.c_number) == i64::from(number))
}

/// Makes a lock by its number in `enum baton_lock_kind`; `wait` is a list of wait policies or null.
/// Returns null on failure, and [`error::baton_last_error`] then says why.
///
/// # Safety
/// `wait` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_new(kind: c_int, wait: *const c_char) -> *mut BatonLock {
    // SAFETY: the caller promises that `wait` is null or a string.
    let wait = unsafe { text(wait) };
    let unknown = || format!("no lock has the number {kind}; expected one of enum baton_lock_kind");
    boxed(of_number(kind).ok_or_else(unknown).and_then(|info| make(info, wait)))
}

/// Makes a lock by its name; `wait` is a list of wait policies or null. Returns null on failure,
/// and [`error::baton_last_error`] then says why.
///
/// # Safety
/// `name` and `wait` are each null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_new_named(name: *const c_char, wait: *const c_char) -> *mut BatonLock {
    // SAFETY: the caller promises that `name` and `wait` are each null or a string.
    let (name, wait) = unsafe { (text(name).unwrap_or_default(), text(wait)) };
    boxed(by_name(name, wait))
}

/// Frees a lock. A null pointer is allowed.
///
/// # Safety
/// `lock` is null, or it came from this library and no thread uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_free(lock: *mut BatonLock) {
    if !lock.is_null() {
        // SAFETY: the lock was made by `Box::into_raw`, and the caller frees it once.
        drop(unsafe { Box::from_raw(lock) });
    }
}

/// Takes a lock, waiting as long as necessary.
///
/// # Safety
/// `lock` came from this library and is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_lock(lock: *mut BatonLock) {
    // SAFETY: the caller promises that the lock is alive.
    unsafe { &*lock }.any.lock();
}

/// Takes a lock if it is free. Returns 0, `EBUSY` if the lock is held, or `ENOTSUP` if locks of
/// this algorithm cannot be tried.
///
/// # Safety
/// `lock` came from this library and is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_trylock(lock: *mut BatonLock) -> c_int {
    // SAFETY: the caller promises that the lock is alive.
    let lock = unsafe { &*lock };
    match lock.any.try_lock() {
        Some(true) => 0,
        Some(false) => libc::EBUSY,
        None => {
            error::set(format!("lock `{}` cannot be tried", lock.name.to_string_lossy()));
            libc::ENOTSUP
        }
    }
}

/// Takes a lock, or gives up at the time `until` of `clock`. Returns 0, `ETIMEDOUT`, `EINVAL` for
/// another clock or an invalid time, or `ENOTSUP` if waiters of this algorithm cannot give up.
///
/// # Safety
/// `lock` came from this library and is alive; `until` points to a time or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_timedlock(
    lock: *mut BatonLock,
    clock: libc::clockid_t,
    until: *const libc::timespec,
) -> c_int {
    // SAFETY: the caller promises that the lock is alive and that `until` is a time or null.
    let (lock, deadline) = unsafe { (&*lock, deadline(clock, until)) };
    let Some(deadline) = deadline else { return libc::EINVAL };
    match lock.any.lock_until(deadline) {
        Some(true) => 0,
        Some(false) => libc::ETIMEDOUT,
        None => {
            error::set(format!("waiters of lock `{}` cannot give up", lock.name.to_string_lossy()));
            libc::ENOTSUP
        }
    }
}

/// Releases a lock.
///
/// # Safety
/// `lock` came from this library and is alive, and the calling thread holds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_unlock(lock: *mut BatonLock) {
    // SAFETY: the caller promises that the lock is alive and that this thread holds it.
    unsafe { (*lock).any.unlock() };
}

/// Returns the name of a lock's algorithm, which is valid as long as the lock.
///
/// # Safety
/// `lock` came from this library and is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_name(lock: *const BatonLock) -> *const c_char {
    // SAFETY: the caller promises that the lock is alive.
    unsafe { &*lock }.name.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    /// The numbers of the locks, in the form of the header.
    fn numbers() -> String {
        let line = |(i, lock): (usize, &LockInfo)| {
            let name = lock.name.to_uppercase().replace('-', "_");
            let comma = if i + 1 == LOCKS.len() { "" } else { "," };
            format!("    BATON_{name} = {}{comma} /* {} */\n", lock.c_number, lock.what)
        };
        LOCKS.iter().enumerate().map(line).collect()
    }

    /// `BLESS=1 cargo test -p baton-capi --lib` writes the numbers into the header.
    #[test]
    fn the_header_has_the_locks_of_the_registry() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/include/baton.h");
        let header = std::fs::read_to_string(path).unwrap();
        let (before, rest) = header.split_once("typedef enum baton_lock_kind {\n").unwrap();
        let (_, after) = rest.split_once("} baton_lock_kind;").unwrap();
        let wanted = format!("{before}typedef enum baton_lock_kind {{\n{}}} baton_lock_kind;{after}", numbers());
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(path, wanted).unwrap();
        } else {
            assert!(header == wanted, "baton.h is stale: BLESS=1 cargo test -p baton-capi --lib\n{}", numbers());
        }
    }

    /// A number must never change, because compiled programs contain it.
    #[test]
    fn a_number_never_changes() {
        let first = ["tas", "ttas", "ticket", "ticket-prop", "mcs", "clh", "k42", "spin-park", "futex", "hemlock"];
        for (number, name) in first.into_iter().enumerate() {
            assert_eq!(of_number(number as c_int).map(|lock| lock.name), Some(name));
        }
        assert!(of_number(-1).is_none() && of_number(LOCKS.len() as c_int).is_none());
    }

    #[test]
    fn every_lock_excludes_through_the_c_interface() {
        for name in LOCKS.iter().map(|lock| lock.name) {
            let lock = by_name(name, None).unwrap();
            let (count, lock) = (&UnsafeShared(UnsafeCell::new(0u32)), &lock);
            std::thread::scope(|s| {
                for _ in 0..2 {
                    s.spawn(move || {
                        for _ in 0..200 {
                            lock.any.lock();
                            // SAFETY: this thread holds the lock.
                            unsafe {
                                *count.0.get() += 1;
                                lock.any.unlock();
                            }
                        }
                    });
                }
            });
            // SAFETY: the threads have ended.
            assert_eq!(unsafe { *count.0.get() }, 400, "{name}");
        }
    }

    struct UnsafeShared(UnsafeCell<u32>);
    // SAFETY: the count is accessed only under a lock.
    unsafe impl Sync for UnsafeShared {}

    #[test]
    fn a_lock_says_what_it_cannot_do() {
        let lock = Box::into_raw(Box::new(by_name("mcs", Some("spin-park")).unwrap()));
        let until = libc::timespec { tv_sec: 1, tv_nsec: 0 };
        // SAFETY: only this thread uses the lock until it is freed.
        unsafe {
            assert_eq!(baton_lock_trylock(lock), 0);
            assert_eq!(baton_lock_trylock(lock), libc::EBUSY);
            assert_eq!(baton_lock_timedlock(lock, libc::CLOCK_MONOTONIC, &until), libc::ENOTSUP);
            assert_eq!(baton_lock_timedlock(lock, libc::CLOCK_BOOTTIME, &until), libc::EINVAL);
            baton_lock_unlock(lock);
            baton_lock_free(lock);
        }
        for (name, waits) in [("msc", None), ("mcs", Some("pausing")), ("spin-park", Some("pause"))] {
            assert!(by_name(name, waits).is_err(), "{name} {waits:?}");
        }
    }
}
