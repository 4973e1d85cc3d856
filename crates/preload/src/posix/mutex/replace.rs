//! A lock of `sync` in a mutex: what `pthread_mutex_*` point to in a run with `BATON_LOCK`.
//!
//! Every function here is compiled once for each lock, with and without capture ([`Probe`]); which of them the slots point to
//! is decided once, at start. Unlock touches nothing of the mutex after the lock's own release.

use super::functions::Functions;
use super::object::{Class, Mutex};
use super::place::{self, Try, fits};
use super::spare_lock::{self, SpareLock};
use super::stand_in::{Held, StandIn};
use super::{events, glibc, moved_waiters};
use crate::base::time::{self, Time};
use crate::events::{Probe, Watch, lock_released};
use crate::hooks::real;
use crate::posix::abandoned_waits;
use crate::thread::{self, Passed, fork};
use baton_machine::native::policy::Policy;
use baton_machine::{Deadline, Machine, Native, Wait};
use baton_sync::lock::{LOCKS, RawLock, Token};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, clockid_t, timespec};

/// How waiters wait: a policy for each lock of the registry, so that several can serve a program, and reading one costs what
/// reading a static costs.
/// The last one is a plug-in's.
pub static WAITS: [Policy; LOCKS.len() + 1] = [const { Policy::new(Wait::Pause) }; LOCKS.len() + 1];

/// The lock's place in [`WAITS`].
const fn number<S: StandIn>() -> usize {
    <S::Lock as RawLock<Native>>::INFO.c_number as usize
}

#[inline(always)]
fn wait<S: StandIn>() -> Wait {
    WAITS[const { number::<S>() }].get()
}

/// The functions of `S` with capture `P`, whose waiters wait by this policy. Called at start.
pub fn functions<S: StandIn, P: Probe>(policy: Wait) -> Functions {
    WAITS[const { number::<S>() }].set(policy);
    Functions {
        init: init::<P>,
        destroy: destroy::<S, P>,
        lock: lock::<S, P>,
        trylock: trylock::<S, P>,
        timedlock: timedlock::<S, P>,
        clocklock: clocklock::<S, P>,
        unlock: unlock::<S, P>,
        spare_at: Some(const { spare_at::<S>() }),
    }
}

/// glibc's own initialisation zeroes the mutex and sets its kind, which is all that we need.
unsafe extern "C-unwind" fn init<P: Probe>(mutex: *mut Mutex, attributes: *const c_void, site: usize) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { real::pthread_mutex_init.get()(mutex.cast(), attributes) };
    if error == 0 {
        events::init::<P>(mutex, site);
    }
    error
}

unsafe extern "C-unwind" fn destroy<S: StandIn, P: Probe>(mutex: *mut Mutex, _: usize) -> c_int {
    // SAFETY: the caller hands us a mutex.
    if let Class::Passed(_) = unsafe { Mutex::class_at(mutex) } {
        // SAFETY: passed on.
        let error = unsafe { real::pthread_mutex_destroy.get()(mutex.cast()) };
        if error == 0 {
            events::destroy::<P>(mutex);
        }
        return error;
    }
    // SAFETY: the caller hands us a mutex; it is ours, so aligned.
    let m = unsafe { &*mutex };
    if m.is_owned() {
        return EBUSY;
    }
    events::destroy::<P>(mutex);
    m.spoil();
    0
}

unsafe extern "C-unwind" fn lock<S: StandIn, P: Probe>(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: the caller hands us a mutex.
    let Some(m) = (unsafe { Mutex::at(mutex) }) else {
        // SAFETY: passed on.
        return unsafe { glibc::lock::<P>(mutex, site, Passed::Unaligned) };
    };
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
    let by = if P::ON {
        match try_take::<S>(m) {
            Some(by) => {
                events::acquire::<P>(mutex, site);
                by
            }
            None => {
                events::request::<P>(mutex, site);
                let watch = Watch::begin::<P>();
                let by = take::<S>(m);
                events::acquired::<P>(mutex, watch.how::<P>());
                by
            }
        }
    } else {
        take::<S>(m)
    };
    taken(m, by)
}

/// How a mutex was taken.
enum By<T> {
    /// By the named lock.
    Named(T),
    /// By the spare one.
    Spare,
}

/// Where in a mutex the word of the spare lock lies: where the named lock leaves one.
const fn spare_at<S: StandIn>() -> usize {
    if size_of::<S::Lock>() <= size_of::<usize>() || !fits::<S>() {
        core::mem::offset_of!(Mutex, words) + size_of::<usize>()
    } else {
        // It has no token, or it would not fit.
        core::mem::offset_of!(Mutex, token)
    }
}

/// The spare lock.
#[inline(always)]
fn spare<S: StandIn>(m: &Mutex) -> &SpareLock {
    // SAFETY: a word of the mutex, which nothing else uses under `S`, and an atomic cell as `SpareLock` is.
    unsafe { &*(&raw const *m).byte_add(const { spare_at::<S>() }).cast::<SpareLock>() }
}

/// Takes the mutex if it is free.
#[inline(always)]
fn try_take<S: StandIn>(m: &Mutex) -> Option<By<Held<S>>> {
    if S::QUEUES && thread::current().may_leave() {
        return try_spare::<S>(m);
    }
    match place::try_lock::<S>(m) {
        Try::Taken(token) => {
            if S::QUEUES && !spare::<S>(m).admits_now() {
                // SAFETY: just locked, with no one inside the mutex by it.
                unsafe { place::unlock::<S>(m, token, wait::<S>()) };
                return None;
            }
            Some(By::Named(token))
        }
        Try::Busy => None,
        Try::NoMemory => try_spare::<S>(m),
    }
}

#[cold]
fn try_spare<S: StandIn>(m: &Mutex) -> Option<By<Held<S>>> {
    spare::<S>(m).try_lock(thread::current().tid(), || place::is_free::<S>(m)).then_some(By::Spare)
}

/// Takes the mutex.
#[inline(always)]
fn take<S: StandIn>(m: &Mutex) -> By<Held<S>> {
    if S::QUEUES && thread::current().may_leave() {
        return take_spare::<S>(m);
    }
    match place::lock::<S>(m, wait::<S>()) {
        Some(token) => {
            if S::QUEUES {
                spare::<S>(m).admit();
            }
            By::Named(token)
        }
        None => take_spare::<S>(m),
    }
}

#[cold]
fn take_spare<S: StandIn>(m: &Mutex) -> By<Held<S>> {
    if try_spare::<S>(m).is_none() {
        abandoned_waits::say_why(thread::current());
        spare::<S>(m).lock(thread::current().tid(), || place::is_free::<S>(m));
    }
    By::Spare
}

/// Notes who has the mutex, and by what.
#[inline(always)]
fn taken<T: Token>(m: &Mutex, by: By<T>) -> c_int {
    let counts = &thread::current().counts;
    match by {
        By::Named(token) => {
            if size_of::<T>() != 0 {
                m.token.store(token.to_word(), Relaxed);
            }
            counts.served.add_one();
        }
        By::Spare => counts.spare.add_one(),
    }
    m.own();
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
    let Some(m) = (unsafe { Mutex::at(mutex) }) else {
        // SAFETY: passed on.
        return unsafe { glibc::trylock::<P>(mutex, site, Passed::Unaligned) };
    };
    match m.kind().class() {
        Class::Recursive if m.is_mine() => return again(m),
        // SAFETY: passed on.
        Class::Passed(why) => return unsafe { glibc::trylock::<P>(mutex, site, why) },
        _ => {}
    }
    // In a fork's child a lock of before is held, and the try says so.
    match try_take::<S>(m) {
        Some(by) => {
            events::acquire::<P>(mutex, site);
            events::bounded::<P>(mutex);
            taken(m, by)
        }
        None => {
            events::try_failed::<P>(mutex, site);
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
    let Some(m) = (unsafe { Mutex::at(mutex) }) else {
        // SAFETY: passed on.
        return unsafe { other(mutex, clock, at, site, Passed::Unaligned) };
    };
    match m.kind().class() {
        Class::Recursive if m.is_mine() => return again(m),
        Class::ErrorCheck if m.is_mine() => return EDEADLK,
        // SAFETY: passed on.
        Class::Passed(why) => return unsafe { other(mutex, clock, at, site, why) },
        _ => {}
    }
    let Some(clock) = time::clock(clock) else { return EINVAL };
    if let Some(by) = try_take::<S>(m) {
        events::acquire::<P>(mutex, site);
        events::bounded::<P>(mutex);
        return taken(m, by);
    }
    // POSIX: a time is looked at only if there is something to wait for.
    // SAFETY: the caller hands us a time.
    let Some(deadline) = Time(unsafe { *at }).on(clock) else { return EINVAL };
    events::request::<P>(mutex, site);
    events::bounded::<P>(mutex);
    let watch = Watch::begin::<P>();
    let by = if fork::in_child() && !await_settled(m, Some(deadline)) { None } else { take_until::<S>(m, deadline) };
    match by {
        Some(by) => {
            events::acquired::<P>(mutex, watch.how::<P>());
            taken(m, by)
        }
        None => {
            events::timed_out::<P>(mutex);
            ETIMEDOUT
        }
    }
}

/// Takes the mutex before the deadline.
fn take_until<S: StandIn>(m: &Mutex, deadline: Deadline) -> Option<By<Held<S>>> {
    if S::GIVES_UP
        && !(S::QUEUES && thread::current().may_leave())
        && let Ok(token) = place::lock_until::<S>(m, wait::<S>(), deadline)
    {
        let token = token?;
        if S::QUEUES && !spare::<S>(m).admit_until(deadline) {
            // SAFETY: just locked, with no one inside the mutex by it.
            unsafe { place::unlock::<S>(m, token, wait::<S>()) };
            return None;
        }
        return Some(By::Named(token));
    }
    let mut pause = time::Backoff::new();
    loop {
        let by = try_take::<S>(m);
        if by.is_some() || Native::now(deadline.clock) >= deadline.at {
            return by;
        }
        pause.wait(Some(deadline));
    }
}

unsafe extern "C-unwind" fn unlock<S: StandIn, P: Probe>(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: the caller hands us a mutex.
    let Some(m) = (unsafe { Mutex::at(mutex) }) else {
        // SAFETY: passed on.
        return unsafe { glibc::unlock::<P>(mutex, site) };
    };
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
        unsafe { place::reset::<S>(m) };
        spare::<S>(m).reset();
        m.settle();
        return 0;
    }
    events::release::<P>(mutex, site);
    if spare::<S>(m).is_idle() {
        m.disown();
        // SAFETY: the calling thread holds the mutex, or acts for the one that does, and not by the spare lock.
        unsafe { release::<S>(m) };
    } else {
        release_with_care::<S>(m);
    }
    lock_released::<P>();
    0
}

/// Releases the named lock, by what its holder left in the mutex.
///
/// # Safety
/// The mutex is held by the named lock, and the calling thread is to release it.
#[inline(always)]
unsafe fn release<S: StandIn>(m: &Mutex) {
    let token = Held::<S>::from_word(if size_of::<Held<S>>() != 0 { m.token.load(Relaxed) } else { 0 });
    // SAFETY: the mutex was locked by this token with the same policy.
    unsafe { place::unlock::<S>(m, token, wait::<S>()) };
}

/// Releases the mutex where it is held by the spare lock, or where threads are to be woken for that.
#[cold]
fn release_with_care<S: StandIn>(m: &Mutex) {
    let spare = spare::<S>(m);
    let next = if spare.has_moved() { moved_waiters::take(m, spare) } else { None };
    m.disown();
    if spare.is_held() {
        spare.unlock();
    } else {
        let awaited = spare.awaited();
        // SAFETY: not by the spare lock, so by the named one. From here on the mutex may be gone.
        unsafe { release::<S>(m) };
        awaited.into_iter().for_each(spare_lock::wake);
    }
    if let Some(waiter) = next {
        waiter.signal();
    }
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
