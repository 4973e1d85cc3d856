//! A thread's place in a condition variable's queue: a part of the thread's record, so that a late wake-up or cancellation
//! never meets memory that has become something else.

use baton_machine::native::cell::NativeAtomic;
use baton_machine::{Atomic, Deadline, Machine, Native, Wait, WaitResult};
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering, Ordering::SeqCst};

/// Bit of the word: the waiter was woken by a signal or broadcast.
const SIGNALLED: u32 = 1;
/// Bit of the word: the thread was cancelled.
const CANCELLED: u32 = 2;

/// Where a waiter is with regard to the list of waiters.
pub mod place {
    /// The waiter is in no list.
    pub const NOWHERE: u32 = 0;
    /// The waiter is in the list.
    pub const QUEUED: u32 = 1;
    /// A signal or broadcast has taken the waiter out of the list.
    pub const DETACHED: u32 = 2;
    /// The waiter is in the list, about to take itself out.
    pub const LEAVING: u32 = 3;
}

/// A thread's place in the queue of a condition variable.
pub struct Waiter {
    /// The word on which the thread sleeps.
    word: NativeAtomic<u32>,
    /// Whether the thread has been cancelled, and glibc has yet to act on it.
    cancelled: AtomicU32,
    /// Where the waiter is: one of the constants of [`place`].
    pub place: AtomicU32,
    /// The next waiter in the list of the condition variable, or of a mutex
    /// (`posix::mutex::moved_waiters`).
    pub next: AtomicPtr<Waiter>,
    pub previous: AtomicPtr<Waiter>,
    /// The mutex that the thread waits with.
    pub mutex: AtomicUsize,
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// It ended by a signal or broadcast.
    Signalled,
    /// It ended by the deadline.
    Expired,
    /// It ended by a cancellation, which the thread allows at present.
    Cancelled,
}

impl Waiter {
    /// A waiter that is in no list.
    pub const fn new() -> Waiter {
        Waiter {
            word: NativeAtomic::new(0),
            cancelled: AtomicU32::new(0),
            place: AtomicU32::new(place::NOWHERE),
            next: AtomicPtr::new(core::ptr::null_mut()),
            previous: AtomicPtr::new(core::ptr::null_mut()),
            mutex: AtomicUsize::new(0),
        }
    }

    /// Resets the waiter of a record that a new thread gets.
    pub fn renew(&self) {
        self.cancelled.store(0, SeqCst);
        self.word.store(0, SeqCst);
        self.place.store(place::NOWHERE, SeqCst);
    }

    /// Prepares the waiter before the thread is put into a list.
    pub fn prepare(&self) {
        self.place.store(place::QUEUED, Ordering::Relaxed);
        self.word.store(0, SeqCst);
        // A cancellation sets `cancelled` before the word, so a cancellation whose bit the store
        // above has overwritten is seen here.
        if self.cancelled.load(SeqCst) != 0 {
            self.raise(CANCELLED);
        }
    }

    /// Tells the waiting thread that it is cancelled, after glibc has marked the thread.
    pub fn cancel(&self) {
        self.cancelled.store(1, SeqCst);
        self.raise(CANCELLED);
    }

    /// Sets a bit of the word and wakes the thread. The caller has taken the waiter out of the
    /// list, or cancels its thread.
    fn raise(&self, bit: u32) {
        let mut seen = self.word.load(Ordering::Relaxed);
        // SeqCst: pairs with the accesses in `prepare`. A loop, because cells have no bit
        // operations.
        while let Err(now) = self.word.compare_exchange(seen, seen | bit, SeqCst, Ordering::Relaxed) {
            seen = now;
        }
        Native::wake::<u32>(&self.word, 1, Wait::Futex);
    }

    /// Whether glibc has marked the thread as cancelled, and would act on the cancellation now.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(SeqCst) != 0 && cancellation_is_enabled()
    }

    /// Notes that the thread has let glibc act on its cancellation and still runs, which means that
    /// it is ending already (clean-up handlers, destructors of thread-specific data). From now on
    /// it waits as if it had not been cancelled.
    pub fn outlived_cancellation(&self) {
        self.cancelled.store(0, SeqCst);
    }

    /// Wakes a waiter that was taken out of the list.
    pub fn signal(&self) {
        self.raise(SIGNALLED);
    }

    /// Sleeps until the thread is woken or cancelled, or until the deadline.
    pub fn sleep(&self, deadline: Option<Deadline>) -> Slept {
        loop {
            match Native::wait_while(&self.word, 0, Wait::Futex, deadline) {
                WaitResult::Expired => return Slept::Expired,
                WaitResult::Changed(word) if word & SIGNALLED != 0 => return Slept::Signalled,
                WaitResult::Changed(_) if cancellation_is_enabled() => return Slept::Cancelled,
                // Cancelled while the thread forbids it: goes on waiting, and glibc keeps the
                // cancellation pending.
                WaitResult::Changed(word) => {
                    let _ = self.word.compare_exchange(word, 0, SeqCst, Ordering::Relaxed);
                }
            }
        }
    }

    /// Waits for a signal that is certain to come: the thread that took this waiter out of the list
    /// is about to set the bit.
    pub fn await_signal(&self) {
        let mut word = self.word.load(Ordering::Acquire);
        while word & SIGNALLED == 0 {
            match Native::wait_while(&self.word, word, Wait::SpinPark(100), None) {
                WaitResult::Changed(now) => word = now,
                WaitResult::Expired => {}
            }
        }
    }
}

/// Whether the calling thread allows cancellations at present.
fn cancellation_is_enabled() -> bool {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    }
    /// glibc's PTHREAD_CANCEL_ENABLE and PTHREAD_CANCEL_DISABLE.
    const ENABLE: c_int = 0;
    const DISABLE: c_int = 1;
    let mut before = DISABLE;
    // SAFETY: the old state is restored at once; neither call acts on a cancellation of deferred
    // type.
    unsafe {
        pthread_setcancelstate(DISABLE, &mut before);
        if before == ENABLE {
            pthread_setcancelstate(ENABLE, core::ptr::null_mut());
        }
    }
    before == ENABLE
}
