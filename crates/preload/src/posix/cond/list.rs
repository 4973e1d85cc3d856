//! The list of waiters, under its guard.

use super::object::Cond;
use crate::posix::mutex::{Class, Mutex, moved_waiters};
use crate::thread::Waiter;
use crate::thread::waiter::place::{DETACHED, LEAVING, NOWHERE, QUEUED};
use baton_machine::Wait;
use baton_sync::lock::RawLock;
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The waiter behind a link.
fn at(link: &AtomicPtr<Waiter>) -> Option<&'static Waiter> {
    // SAFETY: records of threads, which waiters are part of, are never given back.
    unsafe { link.load(Relaxed).as_ref() }
}

fn pointer(waiter: Option<&'static Waiter>) -> *mut Waiter {
    waiter.map_or(null_mut(), |waiter| core::ptr::from_ref(waiter).cast_mut())
}

/// How many waiters a broadcast wakes at once, if the calling thread does not hold their mutex.
const AT_ONCE: usize = 2;

/// Wakes a chain of detached waiters. If the waiters want one mutex, as they usually do, those that would only crowd there
/// are moved to it.
fn hand_over(first: &'static Waiter, last: &'static Waiter) {
    let address = first.mutex.load(Relaxed);
    let chain = || core::iter::successors(Some(first), |waiter| at(&waiter.next));
    let mutex: *mut Mutex = core::ptr::with_exposed_provenance_mut(address);
    // SAFETY: its waiters are about to take it. One of a kind that is served is aligned.
    let served = unsafe { !matches!(Mutex::class_at(mutex), Class::Passed(_)) && moved_waiters::takes(&*mutex) };
    let one_mutex = served && chain().all(|waiter| waiter.mutex.load(Relaxed) == address);
    // SAFETY: as above, and aligned, as it is served by us.
    let is_mine = || unsafe { &*mutex }.is_mine();
    let at_once = match one_mutex {
        true if is_mine() => 0,
        true => AT_ONCE,
        false => usize::MAX,
    };
    // Those behind the first few are moved before any is woken, while the mutex is alive for certain.
    if let Some(moved) = chain().nth(at_once) {
        crate::thread::current().counts.moved.add(chain().skip(at_once).count() as u64);
        // SAFETY: as above.
        moved_waiters::put(unsafe { &*mutex }, moved, last);
    }
    let mut next = Some(first);
    for _ in 0..at_once {
        let Some(waiter) = next else { break };
        // Its links are its own again once it is woken. The last of the few still points to those who were moved.
        next = at(&waiter.next);
        waiter.signal();
    }
}

impl Cond {
    /// Runs `f` with the list to itself.
    fn guarded<R>(&self, f: impl FnOnce() -> R) -> R {
        self.renew();
        self.guard.lock(Wait::Futex);
        let out = f();
        // SAFETY: locked above.
        unsafe { self.guard.unlock((), Wait::Futex) };
        out
    }

    /// Puts the calling thread at the end. The caller holds the mutex.
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

    /// Takes the calling thread out, unless a signal has done so: then false, and the signal's word is set soon.
    pub(super) fn leave(&self, me: &'static Waiter) -> bool {
        // Only one of us and a signal moves the place on from QUEUED; if it was the signal, the variable may be gone.
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

    /// Those in the list, in order of arrival. Under the guard; `f` may unlink the one that it is given.
    fn each(&self, mut f: impl FnMut(&'static Waiter) -> bool) {
        let mut waiter = at(&self.first);
        while let Some(this) = waiter {
            waiter = at(&this.next);
            if !f(this) {
                return;
            }
        }
    }

    /// Detaches a waiter, unless it leaves by itself.
    fn detach(&self, waiter: &'static Waiter) -> bool {
        let detached = waiter.place.compare_exchange(QUEUED, DETACHED, Release, Relaxed).is_ok();
        if detached {
            self.unlink(waiter);
        }
        detached
    }

    /// Nobody waits. Who changed the condition under the waiters' mutex sees those who entered before.
    pub(super) fn is_empty(&self) -> bool {
        self.first.load(Acquire).is_null()
    }

    /// Wakes the one that waits longest.
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

    /// Wakes all that wait: a few at once, the others one by one as the mutex is released.
    pub(super) fn wake_all(&self) {
        if self.is_empty() {
            return;
        }
        // Those detached, chained by their links, which are theirs again only once their word is set.
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

    /// Waits for those who leave by themselves. False if somebody waits on.
    pub(super) fn drain(&self) -> bool {
        let mut pause = crate::base::time::Backoff::new();
        loop {
            let (mut waiting, mut leaving) = (false, false);
            // Always under the guard, so that whoever emptied the list is out of it.
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
