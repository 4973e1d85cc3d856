//! Waiters of a condition variable that a broadcast has moved to their mutex.
//!
//! A broadcast that wakes all of its waiters sends them into a crowd at one mutex, where all but one go to sleep again. So it
//! wakes a few, and puts the others here; each release of the mutex wakes the next one. A mark in the mutex ([`MOVED`]) says
//! that there are some.
//!
//! None is forgotten: as long as one waits here, the mutex is held by a thread that will see the mark at its release, or one
//! that was woken is on its way to take the mutex. A broadcast therefore wakes one at least, unless the calling thread holds
//! the mutex itself. And as long as one waits here the mutex is alive, as all of them are about to take it.
//!
//! [`MOVED`]: super::spare_lock::MOVED

use super::lock_by_place;
use super::object::Mutex;
use super::spare_lock::SpareLock;
use crate::thread::Waiter;
use crate::thread::callbacks::Callbacks;
use baton_machine::{Native, Wait};
use baton_sync::lock::RawLock;
use baton_sync::lock::futex::Futex;
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

/// Waiters of all mutexes whose address hashes to this place, in the order in which they came.
struct Bucket {
    guard: Futex<Native>,
    first: AtomicPtr<Waiter>,
    last: AtomicPtr<Waiter>,
}

const BITS: u32 = 6;

/// Made at first use, as a lock has no constant form; never given back.
static TABLE: AtomicPtr<[Bucket; 1 << BITS]> = AtomicPtr::new(null_mut());

fn empty() -> [Bucket; 1 << BITS] {
    core::array::from_fn(|_| Bucket {
        guard: Futex::new(),
        first: AtomicPtr::new(null_mut()),
        last: AtomicPtr::new(null_mut()),
    })
}

/// Where the word of the spare lock lies in a mutex, in bytes; it depends on the named lock. [`EACH`]: on the mutex.
static SPARE_AT: AtomicUsize = AtomicUsize::new(EACH);
const EACH: usize = usize::MAX;

/// Makes the table, at start. `spare_at`: where the word of the spare lock lies, where one lock serves all mutexes.
pub fn start(spare_at: Option<usize>) {
    SPARE_AT.store(spare_at.unwrap_or(EACH), Relaxed);
    TABLE.store(Box::leak(Box::new(empty())), Relaxed);
}

/// Forgets the waiters of the parent in a fork's child.
pub static CALLBACKS: Callbacks = Callbacks { after_fork_in_child, ..Callbacks::NONE };

/// In a fork's child no waiter of the parent exists. A mark that is left in a mutex goes at its next release.
fn after_fork_in_child() {
    let table = TABLE.load(Relaxed);
    if !table.is_null() {
        // SAFETY: the child has one thread, and it is not in the table.
        unsafe { table.write(empty()) };
    }
}

/// Runs `f` with the bucket of the mutex at `address`.
fn guarded<R>(address: usize, f: impl FnOnce(&Bucket) -> R) -> R {
    let hash = (address >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> (usize::BITS - BITS);
    // SAFETY: made at start, before any mutex is served.
    let bucket = unsafe { &(*TABLE.load(Relaxed))[hash] };
    bucket.guard.lock(Wait::Futex);
    let out = f(bucket);
    // SAFETY: locked above.
    unsafe { bucket.guard.unlock((), Wait::Futex) };
    out
}

/// Where the word lies in a mutex; `None`: it has none, as glibc serves it.
fn spare_at(mutex: &Mutex) -> Option<usize> {
    match SPARE_AT.load(Relaxed) {
        EACH => lock_by_place::spare_at(mutex),
        at => Some(at),
    }
}

/// Whether waiters can be moved to the mutex. It is aligned, and of a kind that is served.
pub fn takes(mutex: &Mutex) -> bool {
    spare_at(mutex).is_some()
}

/// Puts a chain of waiters of one condition variable, all with `mutex`, at the end. The mutex [`takes`] them.
pub fn put(mutex: &Mutex, first: &'static Waiter, last: &'static Waiter) {
    let spare_at = spare_at(mutex).expect("asked before");
    let spare_at = (&raw const *mutex).wrapping_byte_add(spare_at).cast::<SpareLock>();
    let pointer = |waiter: &'static Waiter| core::ptr::from_ref(waiter).cast_mut();
    last.next.store(null_mut(), Relaxed);
    guarded(core::ptr::from_ref(mutex).addr(), |bucket| {
        // SAFETY: inside of the mutex, where the lock that serves it has the word.
        unsafe { &*spare_at }.set_moved();
        // SAFETY: a part of a record, which is never given back.
        match unsafe { bucket.last.load(Relaxed).as_ref() } {
            Some(before) => before.next.store(pointer(first), Relaxed),
            None => bucket.first.store(pointer(first), Relaxed),
        }
        bucket.last.store(pointer(last), Relaxed);
    });
}

/// Takes the one that came first out; the caller holds the mutex, and wakes it after the release.
#[cold]
pub fn take(mutex: &Mutex, spare: &SpareLock) -> Option<&'static Waiter> {
    let address = core::ptr::from_ref(mutex).addr();
    // SAFETY: a part of a record, which is never given back.
    let at = |link: &AtomicPtr<Waiter>| unsafe { link.load(Relaxed).as_ref::<'static>() };
    guarded(address, |bucket| {
        let (mut before, mut here) = (None::<&'static Waiter>, at(&bucket.first));
        let mut found = None;
        while let Some(waiter) = here {
            let next = at(&waiter.next);
            let ours = waiter.mutex.load(Relaxed) == address;
            if ours && found.is_some() {
                // There is another one: the mark stays.
                return found;
            }
            if ours {
                found = Some(waiter);
                let link = before.map_or(&bucket.first, |before| &before.next);
                link.store(waiter.next.load(Relaxed), Relaxed);
                if next.is_none() {
                    bucket
                        .last
                        .store(before.map_or(null_mut(), |before| core::ptr::from_ref(before).cast_mut()), Relaxed);
                }
            } else {
                before = Some(waiter);
            }
            here = next;
        }
        spare.clear_moved();
        found
    })
}
