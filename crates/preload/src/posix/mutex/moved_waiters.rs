//! Waiters of a condition variable that a broadcast has moved to their mutex.
//!
//! A broadcast that wakes all of its waiters sends them into a crowd at one mutex, where all but
//! one go to sleep again. So it wakes a few, and puts the others into the table of this file; each
//! release of the mutex wakes the next waiter. A mark in the mutex ([`MOVED`]) says that it has
//! waiters in the table.
//!
//! No waiter is forgotten: as long as a mutex has waiters in the table, either a thread that will
//! see the mark at its release holds the mutex, or a thread that was woken is on its way to take
//! it. A broadcast therefore wakes at least one waiter, unless the calling thread holds the mutex
//! itself. And as long as a mutex has waiters in the table it is alive, because all of them are
//! about to take it.
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

/// The moved waiters of all mutexes whose address hashes to this bucket, in the order in which they
/// came.
struct Bucket {
    guard: Futex<Native>,
    first: AtomicPtr<Waiter>,
    last: AtomicPtr<Waiter>,
}

const BITS: u32 = 6;

/// The table of buckets, made by [`start`], because a lock has no constant form; never given back.
static TABLE: AtomicPtr<[Bucket; 1 << BITS]> = AtomicPtr::new(null_mut());

fn empty() -> [Bucket; 1 << BITS] {
    core::array::from_fn(|_| Bucket {
        guard: Futex::new(),
        first: AtomicPtr::new(null_mut()),
        last: AtomicPtr::new(null_mut()),
    })
}

/// Offset in bytes of the spare lock's word in a mutex, which depends on the named lock. [`EACH`]:
/// each mutex may have another lock.
static SPARE_AT: AtomicUsize = AtomicUsize::new(EACH);
const EACH: usize = usize::MAX;

/// Makes the table, at start. `spare_at`: the offset of the spare lock's word, if one lock serves
/// all mutexes.
pub fn start(spare_at: Option<usize>) {
    SPARE_AT.store(spare_at.unwrap_or(EACH), Relaxed);
    TABLE.store(Box::leak(Box::new(empty())), Relaxed);
}

/// Forgets the waiters of the parent in a fork's child.
pub static CALLBACKS: Callbacks = Callbacks { after_fork_in_child, ..Callbacks::NONE };

/// Empties the table in a fork's child, where no waiter of the parent exists. A mark that is left
/// in a mutex is removed at the mutex's next release.
fn after_fork_in_child() {
    let table = TABLE.load(Relaxed);
    if !table.is_null() {
        // SAFETY: the child has one thread, which does not use the table now.
        unsafe { table.write(empty()) };
    }
}

/// Runs `f` on the bucket of the mutex at `address`, under the bucket's guard lock.
fn guarded<R>(address: usize, f: impl FnOnce(&Bucket) -> R) -> R {
    let hash = (address >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> (usize::BITS - BITS);
    // SAFETY: `start` made the table before any mutex was served.
    let bucket = unsafe { &(*TABLE.load(Relaxed))[hash] };
    bucket.guard.lock(Wait::Futex);
    let out = f(bucket);
    // SAFETY: locked above.
    unsafe { bucket.guard.unlock((), Wait::Futex) };
    out
}

/// Offset of the spare lock's word in this mutex; `None` if glibc serves the mutex, which then has
/// no such word.
fn spare_at(mutex: &Mutex) -> Option<usize> {
    match SPARE_AT.load(Relaxed) {
        EACH => lock_by_place::spare_at(mutex),
        at => Some(at),
    }
}

/// Whether waiters can be moved to the mutex, which is aligned and of a kind that Baton may serve.
pub fn takes(mutex: &Mutex) -> bool {
    spare_at(mutex).is_some()
}

/// Puts a chain of waiters of one condition variable, all waiting with `mutex`, at the end of its
/// bucket. The caller knows that [`takes`] is true of the mutex.
pub fn put(mutex: &Mutex, first: &'static Waiter, last: &'static Waiter) {
    let spare_at = spare_at(mutex).expect("asked before");
    let spare_at = (&raw const *mutex).wrapping_byte_add(spare_at).cast::<SpareLock>();
    let pointer = |waiter: &'static Waiter| core::ptr::from_ref(waiter).cast_mut();
    last.next.store(null_mut(), Relaxed);
    guarded(core::ptr::from_ref(mutex).addr(), |bucket| {
        // SAFETY: the word lies inside of the mutex, where the lock that serves the mutex keeps it.
        unsafe { &*spare_at }.set_moved();
        // SAFETY: a waiter is part of a thread's record, whose memory is never given back.
        match unsafe { bucket.last.load(Relaxed).as_ref() } {
            Some(before) => before.next.store(pointer(first), Relaxed),
            None => bucket.first.store(pointer(first), Relaxed),
        }
        bucket.last.store(pointer(last), Relaxed);
    });
}

/// Takes the waiter that came first to this mutex out of its bucket, and removes the mutex's mark
/// if the table has no further waiter of the mutex. The caller holds the mutex, and wakes the waiter after the release.
#[cold]
pub fn take(mutex: &Mutex, spare: &SpareLock) -> Option<&'static Waiter> {
    let address = core::ptr::from_ref(mutex).addr();
    // SAFETY: a waiter is part of a thread's record, whose memory is never given back.
    let at = |link: &AtomicPtr<Waiter>| unsafe { link.load(Relaxed).as_ref::<'static>() };
    guarded(address, |bucket| {
        let (mut before, mut here) = (None::<&'static Waiter>, at(&bucket.first));
        let mut found = None;
        while let Some(waiter) = here {
            let next = at(&waiter.next);
            let ours = waiter.mutex.load(Relaxed) == address;
            if ours && found.is_some() {
                // The mutex has another waiter in the table, so its mark stays.
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
