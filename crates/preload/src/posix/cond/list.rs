//! The waiters of a condition variable, in a list under the variable's guard lock.

use super::object::Cond;
use crate::posix::mutex::{Class, Mutex, moved_waiters};
use crate::thread::Waiter;
use crate::thread::waiter::place::{DETACHED, LEAVING, NOWHERE, QUEUED};
use baton_machine::Wait;
use baton_sync::lock::RawLock;
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The waiter that `link` points to.
fn at(link: &AtomicPtr<Waiter>) -> Option<&'static Waiter> {
    // SAFETY: a waiter is part of a thread's record, whose memory is never given back.
    unsafe { link.load(Relaxed).as_ref() }
}

fn pointer(waiter: Option<&'static Waiter>) -> *mut Waiter {
    waiter.map_or(null_mut(), |waiter| core::ptr::from_ref(waiter).cast_mut())
}

/// Number of waiters that a broadcast wakes at once, if the calling thread does not hold their
/// mutex. If it holds the mutex, none is woken at once.
const AT_ONCE: usize = 2;

/// Wakes a chain of detached waiters. If all wait with one mutex, as they usually do, and a lock of
/// Baton's serves it, only the first few are woken, or none if the calling thread holds the mutex;
/// the others, which would only crowd at the mutex, are moved to it.
fn hand_over(first: &'static Waiter, last: &'static Waiter) {
    let address = first.mutex.load(Relaxed);
    let chain = || core::iter::successors(Some(first), |waiter| at(&waiter.next));
    let mutex: *mut Mutex = core::ptr::with_exposed_provenance_mut(address);
    // SAFETY: the mutex is alive, as its waiters are about to take it; a mutex of a class that is
    // served is aligned.
    let served = unsafe { !matches!(Mutex::class_at(mutex), Class::Passed(_)) && moved_waiters::takes(&*mutex) };
    let one_mutex = served && chain().all(|waiter| waiter.mutex.load(Relaxed) == address);
    // SAFETY: the mutex is alive, and aligned, as this library serves it.
    let is_mine = || unsafe { &*mutex }.is_mine();
    let at_once = match one_mutex {
        true if is_mine() => 0,
        true => AT_ONCE,
        false => usize::MAX,
    };
    // Waiters behind the first few are moved before any is woken, while it is certain that the
    // mutex is alive.
    if let Some(moved) = chain().nth(at_once) {
        crate::thread::current().counts.moved.add(chain().skip(at_once).count() as u64);
        // SAFETY: as above.
        moved_waiters::put(unsafe { &*mutex }, moved, last);
    }
    let mut next = Some(first);
    for _ in 0..at_once {
        let Some(waiter) = next else { break };
        // Reads the link before the signal: once a waiter is woken, it may use its links again. The
        // link of the last one to be woken points to the moved waiters.
        next = at(&waiter.next);
        waiter.signal();
    }
}

impl Cond {
    /// Runs `f` while the calling thread has the list to itself.
    fn guarded<R>(&self, f: impl FnOnce() -> R) -> R {
        self.renew();
        self.guard.lock(Wait::Futex);
        let out = f();
        // SAFETY: locked above.
        unsafe { self.guard.unlock((), Wait::Futex) };
        out
    }

    /// Puts the calling thread at the end of the list. The thread holds the mutex.
    pub(super) fn enter(&self, me: &'static Waiter, mutex: *mut Mutex) {
        me.prepare();
        me.mutex.store(mutex.expose_provenance(), Relaxed);
        self.guarded(|| {
            let last = at(&self.last);
            me.next.store(null_mut(), Relaxed);
            me.previous.store(pointer(last), Relaxed);
            match last {
                Some(last) => last.next.store(pointer(Some(me)), Relaxed),
                None => self.first.store(pointer(Some(me)), Release),
            }
            self.last.store(pointer(Some(me)), Relaxed);
        });
    }

    /// Takes the calling thread out of the list. Returns false if a signal has taken it out
    /// already; then the signal sets the waiter's word soon.
    pub(super) fn leave(&self, me: &'static Waiter) -> bool {
        // Either this thread or a signal changes the place from QUEUED. If a signal did, the
        // variable may be destroyed already.
        if me.place.compare_exchange(QUEUED, LEAVING, Acquire, Acquire).is_err() {
            return false;
        }
        self.guarded(|| self.unlink(me));
        me.place.store(NOWHERE, Relaxed);
        true
    }

    fn unlink(&self, waiter: &'static Waiter) {
        let (previous, next) = (at(&waiter.previous), at(&waiter.next));
        match previous {
            Some(previous) => previous.next.store(pointer(next), Relaxed),
            None => self.first.store(pointer(next), Relaxed),
        }
        match next {
            Some(next) => next.previous.store(pointer(previous), Relaxed),
            None => self.last.store(pointer(previous), Relaxed),
        }
    }

    /// Calls `f` on the waiters of the list in order of arrival, until `f` returns false. The
    /// caller holds the guard; `f` may unlink the waiter that it is given.
    fn each(&self, mut f: impl FnMut(&'static Waiter) -> bool) {
        let mut waiter = at(&self.first);
        while let Some(this) = waiter {
            waiter = at(&this.next);
            if !f(this) {
                return;
            }
        }
    }

    /// Takes a waiter out of the list for a signal. Returns false if the waiter is taking itself
    /// out.
    fn detach(&self, waiter: &'static Waiter) -> bool {
        let detached = waiter.place.compare_exchange(QUEUED, DETACHED, Release, Relaxed).is_ok();
        if detached {
            self.unlink(waiter);
        }
        detached
    }

    /// Whether no thread waits. A thread that changed the condition under the mutex sees here all
    /// waiters that entered before.
    pub(super) fn is_empty(&self) -> bool {
        self.first.load(Acquire).is_null()
    }

    /// Wakes the waiter that came first of those that are not taking themselves out of the list; no
    /// thread if there is none.
    pub(super) fn wake_one(&self) {
        if self.is_empty() {
            return;
        }
        let mut found = None;
        self.guarded(|| {
            self.each(|waiter| {
                if self.detach(waiter) {
                    found = Some(waiter);
                }
                found.is_none()
            });
        });
        if let Some(waiter) = found {
            waiter.signal();
        }
    }

    /// Wakes all waiting threads: at once, or all but the first few (all, if the calling thread
    /// holds the mutex) one by one, each at a release of the mutex: see [`hand_over`].
    pub(super) fn wake_all(&self) {
        if self.is_empty() {
            return;
        }
        // The detached waiters form a chain by their links, which they do not use until their word
        // is set.
        let (mut first, mut last): (Option<&'static Waiter>, Option<&'static Waiter>) = (None, None);
        self.guarded(|| {
            self.each(|waiter| {
                if self.detach(waiter) {
                    waiter.next.store(null_mut(), Relaxed);
                    match last {
                        Some(last) => last.next.store(pointer(Some(waiter)), Relaxed),
                        None => first = Some(waiter),
                    }
                    last = Some(waiter);
                }
                true
            });
        });
        if let (Some(first), Some(last)) = (first, last) {
            hand_over(first, last);
        }
    }

    /// Waits until no waiter is taking itself out of the list. Returns false if a thread still
    /// waits.
    pub(super) fn drain(&self) -> bool {
        let mut pause = crate::base::time::Backoff::new();
        loop {
            let (mut waiting, mut leaving) = (false, false);
            // Takes the guard each time, so that a thread that has emptied the list has left it.
            self.guarded(|| {
                self.each(|waiter| {
                    match waiter.place.load(Relaxed) {
                        LEAVING => leaving = true,
                        _ => waiting = true,
                    }
                    true
                });
            });
            if waiting {
                return false;
            }
            if !leaving {
                return true;
            }
            pause.wait(None);
        }
    }
}
