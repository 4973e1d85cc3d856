//! A lock of `sync` in a mutex: what `pthread_mutex_*` point to in a run with `BATON_LOCK`.
//!
//! Every function here is compiled once for each lock, with and without capture ([`Probe`]); which of them the slots point to
//! is decided once, at start. Unlock touches nothing of the mutex after the lock's own release.

use super::place::{lock_of, remove, reset};
use super::{Class, Mutex, Passed, glibc};
use crate::capture::{self, Probe, Quiet, Watch};
use crate::hook::{Code, slot};
use crate::time::{self, Time};
use crate::{fork, omp, real, thread};
use baton_machine::{Deadline, Machine, Native, Wait};
use baton_sync::lock::{RawLock, TimedLock, Token, TryLock, ZeroInit};
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::marker::PhantomData;
use core::sync::atomic::Ordering::Relaxed;
use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, clockid_t, timespec};

/// A lock as a stand-in: its type, and how it gives up at a deadline.
pub trait StandIn: 'static {
    /// The lock.
    type Lock: TryLock<Native> + ZeroInit;
    /// Takes the lock before the deadline.
    fn lock_until(lock: &Self::Lock, wait: Wait, deadline: Deadline) -> Option<Held<Self>>;
}

/// What the holder of a stand-in carries.
type Held<S> = <<S as StandIn>::Lock as RawLock<Native>>::Token;

/// A lock whose waiters can give up.
pub struct Timed<L>(PhantomData<fn(L)>);
/// A lock whose waiters cannot: a timed lock polls. It may starve under those who do wait.
pub struct Polled<L>(PhantomData<fn(L)>);

impl<L: TimedLock<Native> + ZeroInit> StandIn for Timed<L> {
    type Lock = L;
    fn lock_until(lock: &L, wait: Wait, deadline: Deadline) -> Option<L::Token> {
        lock.lock_until(wait, deadline)
    }
}

impl<L: TryLock<Native> + ZeroInit> StandIn for Polled<L> {
    type Lock = L;
    fn lock_until(lock: &L, _: Wait, deadline: Deadline) -> Option<L::Token> {
        let mut pause = time::Backoff::new();
        loop {
            if let Some(token) = lock.try_lock() {
                return Some(token);
            }
            if Native::now(deadline.clock) >= deadline.at {
                return None;
            }
            pause.wait(Some(deadline));
        }
    }
}

/// The policy by which all waiters wait; written once, at start.
struct Policy(UnsafeCell<Wait>);
// SAFETY: written before the slots point to anything that reads it, by the only thread; a load of it is plain memory.
unsafe impl Sync for Policy {}
static WAIT: Policy = Policy(UnsafeCell::new(Wait::Pause));

#[inline(always)]
fn wait() -> Wait {
    // SAFETY: see `Policy`.
    unsafe { *WAIT.0.get() }
}

/// Points the slots of the mutex functions to `S` with capture `P`; returns the unrecorded ones for OpenMP.
pub fn install<S: StandIn, P: Probe>(policy: Wait) -> omp::Inner {
    // SAFETY: see `Policy`.
    unsafe { *WAIT.0.get() = policy };
    slot::pthread_mutex_init.set(init::<P> as Code);
    slot::pthread_mutex_destroy.set(destroy::<S, P> as Code);
    slot::pthread_mutex_lock.set(lock::<S, P> as Code);
    slot::pthread_mutex_trylock.set(trylock::<S, P> as Code);
    slot::pthread_mutex_timedlock.set(timedlock::<S, P> as Code);
    slot::pthread_mutex_clocklock.set(clocklock::<S, P> as Code);
    slot::pthread_mutex_unlock.set(unlock::<S, P> as Code);
    omp::Inner { lock: lock::<S, Quiet>, trylock: trylock::<S, Quiet>, unlock: unlock::<S, Quiet> }
}

/// glibc's own initialisation zeroes the mutex and sets its kind, which is all that we need.
unsafe extern "C-unwind" fn init<P: Probe>(mutex: *mut Mutex, attributes: *const c_void, site: usize) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { real::pthread_mutex_init.get()(mutex.cast(), attributes) };
    if error == 0 {
        capture::mutex_init::<P>(mutex, site);
    }
    error
}

unsafe extern "C-unwind" fn destroy<S: StandIn, P: Probe>(mutex: *mut Mutex, _: usize) -> c_int {
    // SAFETY: the caller hands us a mutex.
    let m = unsafe { &*mutex };
    if let Class::Passed(_) = m.kind().class() {
        // SAFETY: passed on.
        let error = unsafe { real::pthread_mutex_destroy.get()(mutex.cast()) };
        if error == 0 {
            capture::mutex_destroy::<P>(mutex);
        }
        return error;
    }
    if m.is_owned() {
        return EBUSY;
    }
    capture::mutex_destroy::<P>(mutex);
    // SAFETY: the caller says that nobody uses the mutex any more.
    unsafe { remove::<S::Lock>(m) };
    m.spoil();
    0
}

unsafe extern "C-unwind" fn lock<S: StandIn, P: Probe>(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: the caller hands us a mutex.
    let m = unsafe { &*mutex };
    if !m.kind().is_normal() {
        match m.kind().class() {
            Class::Plain => {}
            Class::Recursive if m.is_mine() => return again(m),
            Class::ErrorCheck if m.is_mine() => return EDEADLK,
            Class::Recursive | Class::ErrorCheck => {}
            // SAFETY: passed on.
            Class::Passed(why) => return unsafe { glibc::lock::<P>(mutex, site, why) },
        }
    }
    if fork::in_child() {
        await_settled(m, None);
    }
    let lock: &S::Lock = lock_of(m);
    let token = if P::ON {
        match lock.try_lock() {
            Some(token) => {
                capture::acquire::<P>(mutex, site);
                token
            }
            None => {
                capture::request::<P>(mutex, site);
                let watch = Watch::begin::<P>();
                let token = lock.lock(wait());
                capture::acquired::<P>(mutex, watch.how::<P>());
                token
            }
        }
    } else {
        lock.lock(wait())
    };
    taken(m, token)
}

/// Notes who has the mutex, and by what.
#[inline(always)]
fn taken<T: Token>(m: &Mutex, token: T) -> c_int {
    if size_of::<T>() != 0 {
        m.token.store(token.to_word(), Relaxed);
    }
    m.own();
    thread::current().counts.served.add_one();
    0
}

/// The owner of a recursive mutex takes it once more.
fn again(m: &Mutex) -> c_int {
    let count = m.count.load(Relaxed);
    if count == u32::MAX {
        return EAGAIN;
    }
    m.count.store(count + 1, Relaxed);
    thread::current().counts.served.add_one();
    0
}

unsafe extern "C-unwind" fn trylock<S: StandIn, P: Probe>(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: the caller hands us a mutex.
    let m = unsafe { &*mutex };
    match m.kind().class() {
        Class::Recursive if m.is_mine() => return again(m),
        // SAFETY: passed on.
        Class::Passed(why) => return unsafe { glibc::trylock::<P>(mutex, site, why) },
        _ => {}
    }
    // In a fork's child a lock of before is held, and the try says so.
    match lock_of::<S::Lock>(m).try_lock() {
        Some(token) => {
            capture::acquire::<P>(mutex, site);
            taken(m, token)
        }
        None => {
            capture::try_failed::<P>(mutex, site);
            EBUSY
        }
    }
}

unsafe extern "C-unwind" fn timedlock<S: StandIn, P: Probe>(m: *mut Mutex, at: *const timespec, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { lock_until::<S, P>(m, libc::CLOCK_REALTIME, at, site, glibc::timedlock::<P>) }
}

unsafe extern "C-unwind" fn clocklock<S: StandIn, P: Probe>(
    mutex: *mut Mutex,
    clock: clockid_t,
    at: *const timespec,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    unsafe { lock_until::<S, P>(mutex, clock, at, site, glibc::clocklock::<P>) }
}

/// glibc's way for a mutex that it serves.
type Other = unsafe fn(*mut Mutex, clockid_t, *const timespec, usize, Passed) -> c_int;

/// # Safety
/// As `pthread_mutex_clocklock`.
unsafe fn lock_until<S: StandIn, P: Probe>(
    mutex: *mut Mutex,
    clock: clockid_t,
    at: *const timespec,
    site: usize,
    other: Other,
) -> c_int {
    // SAFETY: the caller hands us a mutex.
    let m = unsafe { &*mutex };
    match m.kind().class() {
        Class::Recursive if m.is_mine() => return again(m),
        Class::ErrorCheck if m.is_mine() => return EDEADLK,
        // SAFETY: passed on.
        Class::Passed(why) => return unsafe { other(mutex, clock, at, site, why) },
        _ => {}
    }
    let Some(clock) = time::clock(clock) else { return EINVAL };
    let lock: &S::Lock = lock_of(m);
    if let Some(token) = lock.try_lock() {
        capture::acquire::<P>(mutex, site);
        return taken(m, token);
    }
    // POSIX: a time is looked at only if there is something to wait for.
    // SAFETY: the caller hands us a time.
    let Some(deadline) = Time(unsafe { *at }).on(clock) else { return EINVAL };
    capture::request::<P>(mutex, site);
    let watch = Watch::begin::<P>();
    let token = if fork::in_child() && !await_settled(m, Some(deadline)) {
        None
    } else {
        S::lock_until(lock, wait(), deadline)
    };
    match token {
        Some(token) => {
            capture::acquired::<P>(mutex, watch.how::<P>());
            taken(m, token)
        }
        None => {
            capture::timed_out::<P>(mutex);
            ETIMEDOUT
        }
    }
}

unsafe extern "C-unwind" fn unlock<S: StandIn, P: Probe>(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: the caller hands us a mutex.
    let m = unsafe { &*mutex };
    let class = if m.kind().is_normal() { Class::Plain } else { m.kind().class() };
    match class {
        // A normal mutex that nobody holds: glibc does no harm, so neither do we. Another thread than the owner may unlock
        // one: the token lies in the mutex.
        Class::Plain if !m.is_owned() => return 0,
        Class::Plain => {}
        Class::Recursive | Class::ErrorCheck if !m.is_mine() => return EPERM,
        Class::Recursive if m.count.load(Relaxed) != 0 => {
            m.count.store(m.count.load(Relaxed) - 1, Relaxed);
            return 0;
        }
        Class::Recursive | Class::ErrorCheck => {}
        // SAFETY: passed on.
        Class::Passed(_) => return unsafe { glibc::unlock::<P>(mutex, site) },
    }
    if fork::in_child() && m.is_stale() {
        // Taken before the fork: those who waited behind us do not exist here. Those who exist wait for us to settle this.
        // SAFETY: no thread of this process is inside the lock: see `await_settled`.
        unsafe { reset::<S::Lock>(m) };
        m.settle();
        return 0;
    }
    let token = Held::<S>::from_word(if size_of::<Held<S>>() != 0 { m.token.load(Relaxed) } else { 0 });
    let lock: &S::Lock = lock_of(m);
    capture::release::<P>(mutex, site);
    m.disown();
    // SAFETY: the mutex was locked by this token with the same policy.
    unsafe { lock.unlock(token, wait()) };
    0
}

/// In a fork's child: waits until a mutex that was locked before the fork has been unlocked, without entering its queue, whose
/// other members do not exist. False if the deadline passed first.
#[cold]
fn await_settled(m: &Mutex, deadline: Option<Deadline>) -> bool {
    let mut pause = time::Backoff::new();
    while m.is_stale() {
        if deadline.is_some_and(|deadline| Native::now(deadline.clock) >= deadline.at) {
            return false;
        }
        pause.wait(deadline);
    }
    true
}
