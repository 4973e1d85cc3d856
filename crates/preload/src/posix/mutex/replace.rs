//! A lock of `sync` in a mutex: the functions behind `pthread_mutex_*` in a run with `BATON_LOCK`.
//!
//! The functions of the slots are compiled for each lock, with and without recording ([`Probe`]);
//! at start the slots are set to the versions that the run needs. Unlock touches nothing of the
//! mutex after the lock's own release.

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

/// How waiters wait: a policy for each lock of the registry, so that several locks can serve a
/// program, and reading a policy costs what reading a static costs. The last policy is for a
/// plug-in's lock.
pub static WAITS: [Policy; LOCKS.len() + 1] = [const { Policy::new(Wait::Pause) }; LOCKS.len() + 1];

/// The lock's index in [`WAITS`].
const fn number<S: StandIn>() -> usize {
    <S::Lock as RawLock<Native>>::INFO.c_number as usize
}

#[inline(always)]
fn wait<S: StandIn>() -> Wait {
    WAITS[const { number::<S>() }].get()
}

/// The functions of lock `S`, recording if `P` does. Their waiters wait by `policy`. Called at
/// start.
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

/// Initialises the mutex by glibc's function: it zeroes the mutex and sets its kind, and that is
/// all that the lock needs.
unsafe extern "C-unwind" fn init<P: Probe>(mutex: *mut Mutex, attributes: *const c_void, site: usize) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { real::pthread_mutex_init.get()(mutex.cast(), attributes) };
    if error == 0 {
        events::init::<P>(mutex, site);
    }
    error
}

unsafe extern "C-unwind" fn destroy<S: StandIn, P: Probe>(mutex: *mut Mutex, _: usize) -> c_int {
    // SAFETY: the program passes a mutex.
    if let Class::Passed(_) = unsafe { Mutex::class_at(mutex) } {
        // SAFETY: passed on.
        let error = unsafe { real::pthread_mutex_destroy.get()(mutex.cast()) };
        if error == 0 {
            events::destroy::<P>(mutex);
        }
        return error;
    }
    // SAFETY: the program passes a mutex; this library serves it, so it is aligned.
    let m = unsafe { &*mutex };
    if m.is_owned() {
        return EBUSY;
    }
    events::destroy::<P>(mutex);
    m.spoil();
    0
}

unsafe extern "C-unwind" fn lock<S: StandIn, P: Probe>(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: the program passes a mutex.
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

/// The lock by which a mutex was taken.
enum By<T> {
    /// The named lock, with its token.
    Named(T),
    /// The spare lock.
    Spare,
}

/// Offset in a mutex of the spare lock's word: the word that the named lock leaves free.
const fn spare_at<S: StandIn>() -> usize {
    if size_of::<S::Lock>() <= size_of::<usize>() || !fits::<S>() {
        core::mem::offset_of!(Mutex, words) + size_of::<usize>()
    } else {
        // A named lock of two words has no token, else it would not fit; so the token's word is
        // free.
        core::mem::offset_of!(Mutex, token)
    }
}

/// The spare lock.
#[inline(always)]
fn spare<S: StandIn>(m: &Mutex) -> &SpareLock {
    // SAFETY: the word lies in the mutex, nothing else uses it under `S`, and it is an atomic cell
    // like `SpareLock`.
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
                // SAFETY: this thread has just taken the lock, and the program has run no code
                // under it.
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

/// Takes the mutex; waits until it is free.
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

/// Notes in the mutex that the calling thread holds it, with the token of the named lock, and
/// counts the acquisition for the lock by which it was made. Returns 0.
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

/// Counts a further acquisition by the owner of a recursive mutex.
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
    // SAFETY: the program passes a mutex.
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
    // In a fork's child, a lock that was taken before the fork is held, so the try fails as it
    // should.
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

/// glibc's function for a mutex that glibc serves.
type Other = unsafe fn(*mut Mutex, clockid_t, *const timespec, usize, Passed) -> c_int;

/// Takes the mutex before the time `at`, between its events.
///
/// # Safety
/// As for `pthread_mutex_clocklock`.
unsafe fn lock_until<S: StandIn, P: Probe>(
    mutex: *mut Mutex,
    clock: clockid_t,
    at: *const timespec,
    site: usize,
    other: Other,
) -> c_int {
    // SAFETY: the program passes a mutex.
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
    // POSIX: the time is looked at only if the thread has to wait.
    // SAFETY: the program passes a pointer to a time.
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

/// Takes the mutex before the deadline; `None` if the deadline passed first.
fn take_until<S: StandIn>(m: &Mutex, deadline: Deadline) -> Option<By<Held<S>>> {
    if S::GIVES_UP
        && !(S::QUEUES && thread::current().may_leave())
        && let Ok(token) = place::lock_until::<S>(m, wait::<S>(), deadline)
    {
        let token = token?;
        if S::QUEUES && !spare::<S>(m).admit_until(deadline) {
            // SAFETY: this thread has just taken the lock, and the program has run no code under
            // it.
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
    // SAFETY: the program passes a mutex.
    let Some(m) = (unsafe { Mutex::at(mutex) }) else {
        // SAFETY: passed on.
        return unsafe { glibc::unlock::<P>(mutex, site) };
    };
    let class = if m.kind().is_normal() { Class::Plain } else { m.kind().class() };
    match class {
        // Unlocking a normal mutex that no thread holds does no harm in glibc, so it does none
        // here. A thread other than the owner may unlock a normal mutex: the token lies in the
        // mutex.
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
        // The mutex was taken before the fork, and the threads that waited for it do not exist
        // here. Threads that do exist wait until this thread has settled it.
        // SAFETY: no thread of this process is inside the lock: see `await_settled`.
        unsafe { place::reset::<S>(m) };
        spare::<S>(m).reset();
        m.settle();
        return 0;
    }
    events::release::<P>(mutex, site);
    if spare::<S>(m).is_idle() {
        m.disown();
        // SAFETY: the calling thread holds the mutex by the named lock, or unlocks it for the
        // thread that does.
        unsafe { release::<S>(m) };
    } else {
        release_with_care::<S>(m);
    }
    lock_released::<P>();
    0
}

/// Releases the named lock with the token that its holder left in the mutex.
///
/// # Safety
/// The mutex is held by the named lock, and the calling thread is to release it.
#[inline(always)]
unsafe fn release<S: StandIn>(m: &Mutex) {
    let token = Held::<S>::from_word(if size_of::<Held<S>>() != 0 { m.token.load(Relaxed) } else { 0 });
    // SAFETY: the mutex was locked by this token, with the same policy.
    unsafe { place::unlock::<S>(m, token, wait::<S>()) };
}

/// Releases a mutex that is held by the spare lock, or at whose release threads must be woken that
/// wait for the spare lock or were moved to the mutex.
#[cold]
fn release_with_care<S: StandIn>(m: &Mutex) {
    let spare = spare::<S>(m);
    let next = if spare.has_moved() { moved_waiters::take(m, spare) } else { None };
    m.disown();
    if spare.is_held() {
        spare.unlock();
    } else {
        let awaited = spare.awaited();
        // SAFETY: the mutex is not held by the spare lock, so it is held by the named one. After
        // this call the mutex may be destroyed.
        unsafe { release::<S>(m) };
        awaited.into_iter().for_each(spare_lock::wake);
    }
    if let Some(waiter) = next {
        waiter.signal();
    }
}

/// In a fork's child: waits until a mutex that was locked before the fork has been unlocked. The
/// thread does not enter the mutex's queue, whose other members do not exist. Returns false if the
/// deadline passed first.
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
