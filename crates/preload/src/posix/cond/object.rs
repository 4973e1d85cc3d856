//! Private condition variables: Baton's own, in the 48 bytes of a `pthread_cond_t` or `cnd_t`.
//!
//! glibc's condition variable would unlock the mutex by an internal function, but a lock of Baton's
//! stands in the mutex; so this one calls the mutex's own lock and unlock. The word at offset 36
//! keeps the two flags that glibc's `__wrefs` has there, clock and process-shared, so that a
//! process-shared variable is known, and passed on. A variable of all zeros is one without waiters.
//!
//! # The protocol
//! Waiters stand in a list in order of arrival, under a small guard lock. A waiter enters it while
//! it still holds the mutex; so a thread that changes the condition under that mutex and signals
//! afterwards finds the waiter: no wake-up is lost. A thread that wakes another takes the waiter
//! out of the list (`QUEUED` to `DETACHED`, under the guard), then sets the waiter's word, then
//! wakes the sleeper by address.
//!
//! | place | who sets it | meaning |
//! | --- | --- | --- |
//! | `QUEUED` | the waiter | in the list |
//! | `DETACHED` | a signal | out of the list: its word is set, or will be; it touches the variable no more |
//! | `LEAVING` | the waiter | timed out, was cancelled or could not unlock the mutex: signals pass it over, it takes itself out |
//!
//! `destroy` waits for those that leave, so that the memory can be freed as soon as all waiters
//! have been woken.
//!
//! If all waiters wait with one mutex, and a lock of Baton's serves it, a broadcast sets the word
//! of the first few at once, or of none if its thread holds the mutex. It moves the others to their
//! mutex, and each release of the mutex sets the word of one
//! ([`crate::posix::mutex::moved_waiters`]): they are `DETACHED`, and wait for the mutex, as they
//! would have to anyway. Any other broadcast sets the words of all waiters at once.
//!
//! # Why not `sync`'s queue event
//! `baton_sync::event::queue` keeps a queue of the same shape. To stand here it would need three
//! things that it has no use for: a waiter that another thread may cancel at any time, even long
//! after it was woken (so the place is in the thread's record, which is never given back, and the
//! word has one more bit); a queue that a fork's child forgets, together with a guard that may have
//! been held (`generation`); and a guard whose waiters always sleep. An event with all that would
//! be two events in one.
//!
//! # Cancellation
//! `pthread_cancel` is interposed: after glibc has marked the thread, the waiter's word is set too.
//! The waiter leaves the list, takes the mutex again, and only then lets glibc act, at a point
//! where clean-up handlers find what POSIX promises: the mutex held, no signal swallowed. If a
//! signal was faster, the wait ends as signalled, and the cancellation stays pending.

use crate::thread::{Waiter, fork};
use baton_machine::Native;
use baton_sync::lock::futex::Futex;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The contents of a `pthread_cond_t` that only one process uses.
#[repr(C)]
pub struct Cond {
    /// Guards the list.
    pub(super) guard: Futex<Native>,
    /// The process to which the list belongs ([`fork::generation`]); with the bit [`RENEWING`], the
    /// list is being emptied for that process.
    pub(super) generation: AtomicU32,
    pub(super) first: AtomicPtr<Waiter>,
    pub(super) last: AtomicPtr<Waiter>,
    unused: [u32; 3],
    /// glibc's flags.
    pub(super) flags: AtomicU32,
    also_unused: [u32; 2],
}

const _: () = assert!(size_of::<Cond>() == size_of::<libc::pthread_cond_t>());
const _: () = assert!(core::mem::offset_of!(Cond, flags) == 36);

/// Flag: another process may use the variable.
pub(super) const SHARED: u32 = 1;
/// Flag: the deadlines of `timedwait` are times of the monotonic clock.
pub(super) const MONOTONIC: u32 = 2;
/// Mark in `generation`.
const RENEWING: u32 = 1 << 31;

impl Cond {
    /// Whether the variable is process-shared, and so glibc's.
    pub(super) fn is_shared(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & SHARED != 0
    }

    /// In a fork's child, forgets the parent's waiters and its guard lock, because the parent's
    /// other threads do not exist there.
    #[inline]
    pub(super) fn renew(&self) {
        if fork::in_child() && self.generation.load(Ordering::Acquire) != fork::generation() {
            self.renew_slowly();
        }
    }

    #[cold]
    fn renew_slowly(&self) {
        let mut pause = crate::base::time::Backoff::new();
        loop {
            let found = self.generation.load(Ordering::Acquire);
            if found == fork::generation() {
                return;
            }
            let ours = fork::generation() | RENEWING;
            // A RENEWING mark of another generation was left by a thread of the parent, which does
            // not exist here.
            if found != ours
                && self.generation.compare_exchange(found, ours, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                self.first.store(core::ptr::null_mut(), Ordering::Relaxed);
                self.last.store(core::ptr::null_mut(), Ordering::Relaxed);
                // SAFETY: every other thread waits for the generation below before it touches the
                // guard, and a `Futex` is a plain word.
                unsafe { (&raw const self.guard).cast_mut().write(baton_sync::lock::RawLock::new()) };
                // Release: a thread that sees the new generation sees an empty list.
                self.generation.store(fork::generation(), Ordering::Release);
                return;
            }
            pause.wait(None);
        }
    }
}
