//! The spare lock: a plain lock beside the named one, in a word of the mutex.
//!
//! It serves a thread that cannot stand in a queue: one that may be cancelled at any instruction or
//! jump out of a signal handler, as its place in the queue would never be given up; and any thread
//! while there is no memory for a place. A thread that waits for the spare lock leaves at most a
//! try and the bit `AWAITED` behind when it goes away, which other threads remove; and the lock
//! needs no memory.
//!
//! # Two locks, one holder
//! A mutex is held by the named lock (N) or by the spare one (S). Each side announces itself before it looks at the other, with
//! an atomic exchange, which on x86-64 is a full barrier: so at least one of the two sees the other.
//!
//! - By N: takes N, then looks at the word ([`SpareLock::admit`]). A mere try of S is denied (its bits are taken away, so that its
//!   last step fails); a holder of S is waited for.
//! - By S: puts its number into the word (a try), looks whether N is free, and makes the try a hold, if it is still there.
//!
//! A queue that never empties would keep S waiting for ever, so a thread that has taken N grants S once if it is awaited, and
//! goes in afterwards.
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0 to 29 | the kernel's number of the thread that tries or holds; 0 with `HELD`: granted, to the first who takes it |
//! | 30 | `HELD` |
//! | 31 | `AWAITED`: threads may sleep on the word's lower half |
//! | 32 | `MOVED`: waiters of a condition variable are to be woken as the mutex is released ([`super::moved_waiters`]) |
//!
//! Sleeps are bounded: a wake-up may go to a thread that is cancelled meanwhile, and one from N's side may be missed.

use crate::base::time::Backoff;
use baton_machine::{Deadline, Machine, Native};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use libc::timespec;

const THREAD: u64 = (1 << 30) - 1;
const HELD: u64 = 1 << 30;
const AWAITED: u64 = 1 << 31;
/// See [`super::moved_waiters`].
pub const MOVED: u64 = 1 << 32;

/// The word of the spare lock in a mutex.
#[repr(transparent)]
pub struct SpareLock(AtomicU64);

impl SpareLock {
    /// A free spare lock.
    #[cfg(test)]
    pub const fn new() -> SpareLock {
        SpareLock(AtomicU64::new(0))
    }

    /// Makes the spare lock free, whatever its state. Called in a fork's child.
    pub fn reset(&self) {
        self.0.store(0, Relaxed);
    }

    /// Whether the mutex is held by the spare lock. Only the mutex's holder may ask.
    #[inline(always)]
    pub fn is_held(&self) -> bool {
        self.0.load(Relaxed) & HELD != 0
    }

    /// Whether no thread holds the spare lock or sleeps for it, and no waiter was moved to the
    /// mutex, so that a holder by the named lock has only that lock to release.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.0.load(Relaxed) & (HELD | AWAITED | MOVED) == 0
    }

    /// Whether waiters of a condition variable must be woken as the mutex is released.
    #[inline(always)]
    pub fn has_moved(&self) -> bool {
        self.0.load(Relaxed) & MOVED != 0
    }

    /// Marks that the mutex has moved waiters to wake.
    pub fn set_moved(&self) {
        self.0.fetch_or(MOVED, AcqRel);
    }

    /// Removes the mark of moved waiters.
    pub fn clear_moved(&self) {
        self.0.fetch_and(!MOVED, AcqRel);
    }

    /// Changes the word from `seen`: clears the bits in `clear`, then sets those in `set`. Returns
    /// false if the word is not `seen` any more.
    fn step(&self, seen: u64, clear: u64, set: u64) -> bool {
        // SeqCst: the announcement, or its withdrawal, comes before the look at the other lock.
        self.0.compare_exchange(seen, seen & !clear | set, SeqCst, Relaxed).is_ok()
    }

    /// Takes the spare lock for thread `tid` if it is free and `free` says that the named lock is
    /// free too. A failed try leaves no trace.
    pub fn try_lock(&self, tid: u32, free: impl Fn() -> bool) -> bool {
        let me = u64::from(tid) & THREAD;
        let mut seen = self.0.load(SeqCst);
        // Goes on only if the lock is neither held nor granted nor tried: a grant is meant for
        // waiting threads, and another thread's try is about to become a hold.
        while seen & (HELD | THREAD) == 0 {
            if self.step(seen, 0, me) {
                return free() && self.hold(me) || self.take_back(me);
            }
            seen = self.0.load(SeqCst);
        }
        false
    }

    /// Turns the calling thread's try into a hold. Returns false if the try was denied. The
    /// thread's number stands in the word only by this try, as a thread makes one try at a time.
    fn hold(&self, me: u64) -> bool {
        loop {
            let seen = self.0.load(SeqCst);
            if seen & (HELD | THREAD) != me {
                return false;
            }
            if self.step(seen, 0, HELD) {
                return true;
            }
        }
    }

    /// Withdraws the calling thread's try, if it is still in the word. Returns false, because the
    /// lock is not held.
    fn take_back(&self, me: u64) -> bool {
        loop {
            let seen = self.0.load(SeqCst);
            if seen & (HELD | THREAD) != me || self.step(seen, THREAD, 0) {
                return false;
            }
        }
    }

    /// Takes the spare lock for thread `tid`, and waits for it. `free` says whether the named lock
    /// is free.
    #[cold]
    pub fn lock(&self, tid: u32, free: impl Fn() -> bool) {
        let me = u64::from(tid) & THREAD;
        let mut pause = Pause::new();
        loop {
            let seen = self.0.load(SeqCst);
            let state = seen & (HELD | THREAD);
            if state == HELD {
                if self.step(seen, 0, me) {
                    return;
                }
                continue;
            }
            if state == 0 && self.step(seen, 0, me) {
                if free() && self.hold(me) {
                    return;
                }
                self.take_back(me);
            } else if state != 0 && state & HELD == 0 && pause.is_long() {
                // Another thread's try has lasted too long: its thread may have been cancelled in
                // it, so the try is removed. If the thread is still trying, it tries again.
                self.step(seen, THREAD, 0);
            }
            pause.on(self, 0);
        }
    }

    /// Releases the spare lock, and wakes waiting threads.
    pub fn unlock(&self) {
        let word: *const AtomicU64 = &self.0;
        // Release: the next holder sees this thread's writes. From here on the mutex may be
        // destroyed.
        let before = self.0.fetch_and(MOVED, Release);
        if before & AWAITED != 0 {
            wake(word);
        }
    }

    /// Called by a thread that has taken the named lock. Denies a mere try of the spare lock; lets
    /// a thread that waits for the spare lock take it, once; and waits until no thread holds it.
    #[inline(always)]
    pub fn admit(&self) {
        // SeqCst: the thread has taken the named lock before it looks at this word: see the head of
        // this file.
        if self.0.load(SeqCst) & (THREAD | HELD | AWAITED) != 0 {
            self.admit_slowly(None);
        }
    }

    /// Does what [`SpareLock::admit`] does until the deadline. Returns false if the mutex is still
    /// held by the spare lock then. May return late, by the length of one sleep.
    pub fn admit_until(&self, deadline: Deadline) -> bool {
        self.0.load(SeqCst) & (THREAD | HELD | AWAITED) == 0 || self.admit_slowly(Some(deadline))
    }

    #[cold]
    fn admit_slowly(&self, deadline: Option<Deadline>) -> bool {
        let mut granted = false;
        let mut pause = Pause::new();
        loop {
            let seen = self.0.load(SeqCst);
            if seen & HELD != 0 && deadline.is_some_and(|deadline| Native::now(deadline.clock) >= deadline.at) {
                // Withdraws a grant that this thread made and no thread has taken yet: the next
                // thread with the named lock would wait for its end.
                if granted && seen & THREAD == 0 && !self.step(seen, HELD, 0) {
                    continue;
                }
                return false;
            }
            if seen & (HELD | THREAD) == HELD && granted && pause.is_long() {
                // No thread takes the grant: the threads that waited have gone, so the grant is
                // withdrawn.
                self.step(seen, HELD | AWAITED, 0);
            } else if seen & HELD != 0 {
                pause.on(self, HELD);
            } else if seen & THREAD != 0 {
                self.step(seen, THREAD, 0);
            } else if seen & AWAITED != 0 && !granted {
                granted = self.step(seen, 0, HELD);
                wake(&self.0);
            } else {
                return true;
            }
        }
    }

    /// Does what [`SpareLock::admit`] does for a thread that only tried the named lock: does not
    /// wait, and returns false if the mutex is held by the spare lock.
    #[inline(always)]
    pub fn admits_now(&self) -> bool {
        loop {
            let seen = self.0.load(SeqCst);
            if seen & HELD != 0 {
                return false;
            }
            if seen & THREAD == 0 || self.step(seen, THREAD, 0) {
                return true;
            }
        }
    }

    /// The address at which threads wait for the spare lock, if any do. Called by the holder of the
    /// named lock before its release, for [`wake`] afterwards.
    #[inline(always)]
    pub fn awaited(&self) -> Option<*const AtomicU64> {
        (self.0.load(Relaxed) & AWAITED != 0).then_some(&raw const self.0)
    }
}

/// Wakes the threads that sleep on `word`, of which only the address is used.
pub fn wake(word: *const AtomicU64) {
    const ALL: i32 = i32::MAX;
    crate::base::errno::kept(|| {
        // SAFETY: a wake-up touches no memory. If the address has come to be something else, it
        // wakes no thread, or wakes one for no reason.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, ALL) };
    });
}

/// The longest time of one sleep, in nanoseconds.
const SLEEP_NS: libc::c_long = 2_000_000;
/// The number of sleeps after which a try, which takes its thread one step, has lasted too long.
const LONG: u32 = 8;

/// Pauses between two looks at the word: the first ones on the CPU, later ones asleep until the
/// thread is woken, for [`SLEEP_NS`] at most.
struct Pause {
    on_cpu: Backoff,
    looks: u32,
}

impl Pause {
    const ON_CPU: u32 = 60;

    fn new() -> Pause {
        Pause { on_cpu: Backoff::new(), looks: 0 }
    }

    fn is_long(&self) -> bool {
        self.looks > Pause::ON_CPU + LONG
    }

    /// Makes the next pause. Sleeps only if all bits of `as_long_as` are in the word.
    fn on(&mut self, spare: &SpareLock, as_long_as: u64) {
        self.looks += 1;
        if self.looks < Pause::ON_CPU {
            self.on_cpu.wait(None);
            return;
        }
        let mut seen = spare.0.load(Acquire);
        if seen & as_long_as != as_long_as {
            return;
        }
        if seen & AWAITED == 0 {
            if !spare.step(seen, 0, AWAITED) {
                return;
            }
            seen |= AWAITED;
        }
        baton_machine::native::thread::slept();
        crate::base::errno::kept(|| {
            let bound = timespec { tv_sec: 0, tv_nsec: SLEEP_NS };
            let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
            // SAFETY: the word is alive while the thread waits for it, and on x86-64 its lower half
            // comes first. The time is a local variable.
            unsafe { libc::syscall(libc::SYS_futex, &raw const spare.0, operation, seen as u32, &raw const bound) };
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_trace::sys;
    use core::sync::atomic::AtomicU32;

    /// Four threads, two by each lock, add to a counter by a load and a store. If two were in the
    /// mutex at once, an addition would get lost.
    #[test]
    fn one_holder_whichever_side_it_comes_by() {
        static SPARE: SpareLock = SpareLock::new();
        static NAMED: AtomicU32 = AtomicU32::new(0);
        static COUNT: AtomicU32 = AtomicU32::new(0);
        const ROUNDS: u32 = 300;
        let once = || COUNT.store(COUNT.load(Relaxed) + 1, Relaxed);
        std::thread::scope(|s| {
            for side in 0..4 {
                s.spawn(move || {
                    for _ in 0..ROUNDS {
                        if side % 2 == 0 {
                            SPARE.lock(sys::tid(), || NAMED.load(SeqCst) == 0);
                            once();
                            SPARE.unlock();
                        } else {
                            while NAMED.compare_exchange(0, 1, SeqCst, Relaxed).is_err() {
                                std::thread::yield_now();
                            }
                            SPARE.admit();
                            once();
                            let awaited = SPARE.awaited();
                            NAMED.store(0, Release);
                            awaited.into_iter().for_each(wake);
                        }
                    }
                });
            }
        });
        assert_eq!(COUNT.load(Relaxed), 4 * ROUNDS);
        assert!(!SPARE.is_held() && SPARE.try_lock(1, || true) && !SPARE.try_lock(2, || true));
        SPARE.unlock();
        assert!(!SPARE.try_lock(1, || false) && SPARE.try_lock(2, || true));
    }
}
