//! Locks of any kind behind one type. The holder's token, which C has no place for, is kept in the lock.

use crate::{error, first_wait, text};
use baton_machine::units::Nanos;
use baton_machine::{Clock, Deadline, Native, Wait};
use baton_sync::lock::{
    self, LockError, LockInfo, LockVisitor, RawLock, TimedLock, TimedVisitor, Token, TryLock, TryVisitor, ZeroInit,
};
use std::cell::UnsafeCell;
use std::ffi::{CString, c_char, c_int};

/// What a lock can do, its algorithm forgotten.
trait AnyLock: Send + Sync {
    fn lock(&self);
    /// `None` if it cannot be tried.
    fn try_lock(&self) -> Option<bool>;
    /// `None` if its waiters cannot give up.
    fn lock_until(&self, deadline: Deadline) -> Option<bool>;
    /// # Safety
    /// The calling thread holds the lock.
    unsafe fn unlock(&self);
}

/// `struct baton_lock`.
pub struct BatonLock {
    any: Box<dyn AnyLock>,
    name: CString,
}

/// A lock with its policy and its holder's token.
struct Held<L> {
    raw: L,
    wait: Wait,
    token: UnsafeCell<usize>,
}

// SAFETY: the token is touched by the holder only, and the lock orders one holder after another.
unsafe impl<L: Sync> Sync for Held<L> {}

impl<L: RawLock<Native>> Held<L> {
    fn new(wait: Wait) -> Held<L> {
        Held { raw: L::new(), wait, token: UnsafeCell::new(0) }
    }

    fn hold(&self, token: L::Token) {
        // SAFETY: we have just become the holder.
        unsafe { *self.token.get() = token.to_word() };
    }

    fn take(&self) {
        let token = self.raw.lock(self.wait);
        self.hold(token);
    }

    /// # Safety
    /// The calling thread holds the lock.
    unsafe fn give(&self) {
        // SAFETY: the caller holds the lock, by the token that it has kept, under this policy.
        unsafe {
            let token = L::Token::from_word(*self.token.get());
            self.raw.unlock(token, self.wait);
        }
    }
}

/// Levels of ability: each wraps a lock and answers for what it can do.
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

/// Makes a lock whose type arrives, at each level of ability.
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

/// The names of `enum baton_lock_kind`, in its order, which programs have compiled in: a new lock goes to the end.
const KINDS: &[&str] = &[
    "tas",
    "ttas",
    "ticket",
    "ticket-prop",
    "mcs",
    "clh",
    "k42",
    "spin-park",
    "futex",
    "hemlock",
    "cohort",
    "spin-park-wakes",
    "spin-park-once",
    "adaptive",
];

/// A lock by its number in [`KINDS`].
///
/// # Safety
/// `wait` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_new(kind: c_int, wait: *const c_char) -> *mut BatonLock {
    // SAFETY: by contract.
    let wait = unsafe { text(wait) };
    let name = usize::try_from(kind).ok().and_then(|kind| KINDS.get(kind));
    let name = name.ok_or_else(|| format!("no lock has the number {kind}; expected one of enum baton_lock_kind"));
    boxed(name.and_then(|name| by_name(name, wait)))
}

/// A lock by its name.
///
/// # Safety
/// Each is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_new_named(name: *const c_char, wait: *const c_char) -> *mut BatonLock {
    // SAFETY: by contract.
    let (name, wait) = unsafe { (text(name).unwrap_or_default(), text(wait)) };
    boxed(by_name(name, wait))
}

/// Frees a lock.
///
/// # Safety
/// It came from this library, and nobody uses it any more; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_free(lock: *mut BatonLock) {
    if !lock.is_null() {
        // SAFETY: it was made by `Box::into_raw` and is freed once.
        drop(unsafe { Box::from_raw(lock) });
    }
}

/// Takes a lock.
///
/// # Safety
/// It came from this library and is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_lock(lock: *mut BatonLock) {
    // SAFETY: by contract.
    unsafe { &*lock }.any.lock();
}

/// Takes a lock if it is free.
///
/// # Safety
/// It came from this library and is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_trylock(lock: *mut BatonLock) -> c_int {
    // SAFETY: by contract.
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

/// Takes a lock, or gives up at a time.
///
/// # Safety
/// The lock came from this library and is alive; `until` is a time or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_timedlock(
    lock: *mut BatonLock,
    clock: libc::clockid_t,
    until: *const libc::timespec,
) -> c_int {
    // SAFETY: by contract.
    let (lock, until) = unsafe { (&*lock, until.as_ref()) };
    let Some(deadline) = deadline(clock, until) else {
        error::set("expected CLOCK_MONOTONIC or CLOCK_REALTIME and a time with 0 to 999,999,999 nanoseconds");
        return libc::EINVAL;
    };
    match lock.any.lock_until(deadline) {
        Some(true) => 0,
        Some(false) => libc::ETIMEDOUT,
        None => {
            error::set(format!("waiters of lock `{}` cannot give up", lock.name.to_string_lossy()));
            libc::ENOTSUP
        }
    }
}

/// A time of C's as a deadline. What lies before 1970 has passed.
fn deadline(clock: libc::clockid_t, until: Option<&libc::timespec>) -> Option<Deadline> {
    let clock = match clock {
        libc::CLOCK_MONOTONIC => Clock::Monotonic,
        libc::CLOCK_REALTIME => Clock::Realtime,
        _ => return None,
    };
    let until = until.filter(|t| (0..1_000_000_000).contains(&t.tv_nsec))?;
    let seconds = u64::try_from(until.tv_sec).unwrap_or(0);
    let at = seconds.saturating_mul(1_000_000_000).saturating_add(until.tv_nsec as u64);
    Some(Deadline { at: Nanos(at), clock })
}

/// Releases a lock.
///
/// # Safety
/// It came from this library and is alive, and the calling thread holds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_unlock(lock: *mut BatonLock) {
    // SAFETY: by contract.
    unsafe { (*lock).any.unlock() };
}

/// A lock's name; valid as long as the lock.
///
/// # Safety
/// It came from this library and is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_lock_name(lock: *const BatonLock) -> *const c_char {
    // SAFETY: by contract.
    unsafe { &*lock }.name.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_sync::lock::LOCKS;

    #[test]
    fn the_header_and_the_registry_have_the_same_locks() {
        let header = include_str!("../include/baton.h");
        let body = header.split_once("typedef enum baton_lock_kind {").unwrap().1.split_once('}').unwrap().0;
        let in_header: Vec<String> = body
            .lines()
            .filter_map(|line| line.trim().strip_prefix("BATON_"))
            .map(|rest| rest.split([',', ' ']).next().unwrap().to_lowercase().replace('_', "-"))
            .collect();
        assert_eq!(in_header, KINDS);
        let mut registry: Vec<&str> = LOCKS.iter().map(|l| l.name).collect();
        let mut kinds = KINDS.to_vec();
        registry.sort_unstable();
        kinds.sort_unstable();
        assert_eq!(kinds, registry);
    }

    #[test]
    fn every_lock_excludes_through_the_c_interface() {
        for name in KINDS {
            let lock = by_name(name, None).unwrap();
            let (count, lock) = (&UnsafeShared(UnsafeCell::new(0u32)), &lock);
            std::thread::scope(|s| {
                for _ in 0..2 {
                    s.spawn(move || {
                        for _ in 0..200 {
                            lock.any.lock();
                            // SAFETY: the lock is held.
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
    // SAFETY: only touched under a lock.
    unsafe impl Sync for UnsafeShared {}

    #[test]
    fn a_lock_says_what_it_cannot_do() {
        let lock = Box::into_raw(Box::new(by_name("mcs", Some("spin-park")).unwrap()));
        let until = libc::timespec { tv_sec: 1, tv_nsec: 0 };
        // SAFETY: the lock is ours until it is freed.
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
