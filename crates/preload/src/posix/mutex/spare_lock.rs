//! The spare lock: a plain lock beside the named one, in a word of the mutex.
//!
//! It serves who cannot stand in a queue: a thread that may be cancelled at any instruction or jump out of a signal handler, as
//! its place in the queue would never be given up; and any thread while there is no memory for a place. Who waits for the
//! spare lock leaves nothing behind when it goes away, and the lock needs no memory.
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

/// The word.
#[repr(transparent)]
pub struct SpareLock(AtomicU64);

impl SpareLock {
    /// A free one.
    #[cfg(test)]
    pub const fn new() -> SpareLock {
        SpareLock(AtomicU64::new(0))
    }

    /// Makes it free, whatever it was: in a fork's child.
    pub fn reset(&self) {
        self.0.store(0, Relaxed);
    }

    /// Whether the mutex is held by the spare lock. For its holder.
    #[inline(always)]
    pub fn is_held(&self) -> bool {
        self.0.load(Relaxed) & HELD != 0
    }

    /// Whether its holder, if it came by the named lock, can release the named lock and be done.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.0.load(Relaxed) & (HELD | AWAITED | MOVED) == 0
    }

    /// Whether waiters of a condition variable are to be woken with the release.
    #[inline(always)]
    pub fn has_moved(&self) -> bool {
        self.0.load(Relaxed) & MOVED != 0
    }

    /// Sets the mark for that.
    pub fn set_moved(&self) {
        self.0.fetch_or(MOVED, AcqRel);
    }

    /// Takes the mark away.
    pub fn clear_moved(&self) {
        self.0.fetch_and(!MOVED, AcqRel);
    }

    /// Moves on from `seen`, to the same word with what is in `clear` gone and what is in `set` there.
    fn step(&self, seen: u64, clear: u64, set: u64) -> bool {
        // SeqCst: the announcement, or its taking back, comes before the look at the other side.
        self.0.compare_exchange(seen, seen & !clear | set, SeqCst, Relaxed).is_ok()
    }

    /// Takes the lock for thread `tid` if it is free and `free` says that the named one is. A failed try leaves no trace.
    pub fn try_lock(&self, tid: u32, free: impl Fn() -> bool) -> bool {
        let me = u64::from(tid) & THREAD;
        let mut seen = self.0.load(SeqCst);
        // A grant is for those who wait; another's try is about to become a hold.
        while seen & (HELD | THREAD) == 0 {
            if self.step(seen, 0, me) {
                return free() && self.hold(me) || self.take_back(me);
            }
            seen = self.0.load(SeqCst);
        }
        false
    }

    /// Makes our own try a hold; false if it was denied. Our number stands there only by this try: a thread has one at a time.
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

    /// Takes our own try back, if it is still there. False, as nothing is held.
    fn take_back(&self, me: u64) -> bool {
        loop {
            let seen = self.0.load(SeqCst);
            if seen & (HELD | THREAD) != me || self.step(seen, THREAD, 0) {
                return false;
            }
        }
    }

    /// Takes the lock for thread `tid`; `free` says whether the named one is free.
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
                // Another's try that does not end: its thread may have been cancelled in it. One that ends meanwhile tries again.
                self.step(seen, THREAD, 0);
            }
            pause.on(self, 0);
        }
    }

    /// Gives the lock back, and wakes the next one.
    pub fn unlock(&self) {
        let word: *const AtomicU64 = &self.0;
        // Release: the next holder sees our writes. From here on the mutex may be gone.
        let before = self.0.fetch_and(MOVED, Release);
        if before & AWAITED != 0 {
            wake(word);
        }
    }

    /// The calling thread has taken the named lock: waits until no holder of the spare one is in the mutex.
    #[inline(always)]
    pub fn admit(&self) {
        // SeqCst: see the head of this file.
        if self.0.load(SeqCst) & (THREAD | HELD | AWAITED) != 0 {
            self.admit_slowly(None);
        }
    }

    /// As [`SpareLock::admit`], at the latest until the deadline: false if the mutex is held by the spare lock then. Late by a sleep at most.
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
                // What we granted and no thread has taken yet is none without us: the next one in would wait for it.
                if granted && seen & THREAD == 0 && !self.step(seen, HELD, 0) {
                    continue;
                }
                return false;
            }
            if seen & (HELD | THREAD) == HELD && granted && pause.is_long() {
                // No thread takes what was granted: who waited has gone.
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

    /// As [`SpareLock::admit`] for one that only tried the named lock: false if the mutex is held by the spare one.
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

    /// For the holder of the named lock, before its release: where to wake those who wait for the spare one.
    #[inline(always)]
    pub fn awaited(&self) -> Option<*const AtomicU64> {
        (self.0.load(Relaxed) & AWAITED != 0).then_some(&raw const self.0)
    }
}

/// Wakes those who sleep on a word of which only the address is used.
pub fn wake(word: *const AtomicU64) {
    const ALL: i32 = i32::MAX;
    crate::base::errno::kept(|| {
        // SAFETY: a wake-up touches no memory; at an address that has become something else it wakes no one, or for nothing.
        unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, ALL) };
    });
}

/// How long one sleep is at most.
const SLEEP_NS: libc::c_long = 2_000_000;
/// After so many looks a state of one step lasts too long.
const LONG: u32 = 8;

/// Pauses between two looks at the word: some on the CPU, then asleep until it is woken.
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

    /// Sleeps only if all bits of `as_long_as` are in the word.
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
            // SAFETY: the word is alive while we wait for it; on x86-64 its lower half comes first. The time is ours.
            unsafe { libc::syscall(libc::SYS_futex, &raw const spare.0, operation, seen as u32, &raw const bound) };
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_trace::sys;
    use core::sync::atomic::AtomicU32;

    /// Threads of both sides take turns at a counter that is no atomic step.
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
