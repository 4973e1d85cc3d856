//! A lock between processes, which outlives its holder: a process that finds it held for long asks
//! the kernel whether the holder lives, and takes the lock over if not.
//!
//! | bits of the word | meaning |
//! | --- | --- |
//! | 0 to 15 | the seat of the holder; 0 if the lock is free |
//! | 16 `AWAITED` | a thread may sleep |
//! | 17 to 63 | counts acquisitions, so that a word that has not changed is the same acquisition |

use super::os;
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use baton_machine::native::cell::NativeAtomic;
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Deadline, Machine, Native};
use std::fs::File;

const SEAT: u64 = (1 << 16) - 1;
const AWAITED: u64 = 1 << 16;
const ACQUISITION: u64 = 1 << 17;
/// Tries before a thread sleeps.
const TRIES: u32 = 100;
/// Time between two looks at whether the holder lives.
const LOOK: Nanos = Nanos(10_000_000);
/// Where in the file the bytes lie by whose locks processes show that they live: behind any queue.
const PLACES: u64 = 1 << 40;
/// Number of seats of a queue.
const SEATS: u16 = 4096;

/// What an open file has claimed. The kernel ends the claim when the file is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// To be the only sender.
    Sender,
    /// To be the only receiver.
    Receiver,
    /// To be this holder of locks. The number is not 0.
    Seat(u16),
}

impl Claim {
    fn place(self) -> u64 {
        PLACES
            + match self {
                Claim::Sender => 0,
                Claim::Receiver => 1,
                Claim::Seat(number) => 1 + u64::from(number),
            }
    }

    /// Makes this claim. Returns false if another open file has it.
    pub(super) fn make(self, file: &File) -> std::io::Result<bool> {
        os::claim(file, self.place())
    }

    /// Claims a free seat. Returns `None` if there is none.
    pub(super) fn seat(file: &File) -> std::io::Result<Option<Claim>> {
        for number in 1..=SEATS {
            if Claim::Seat(number).make(file)? {
                return Ok(Some(Claim::Seat(number)));
            }
        }
        Ok(None)
    }
}

/// The lock, which is free when zero.
#[repr(C)]
pub(super) struct Lock {
    word: NativeAtomic<u64>,
    /// Changes when an unlock wakes the sleepers, which sleep on it.
    gate: NativeAtomic<u32>,
}

impl Lock {
    /// Takes the lock for the holder `seat` of the open file, which does not hold it. Returns false
    /// if the deadline has passed.
    pub(super) fn lock(&self, file: &File, seat: u16, deadline: Option<Deadline>) -> bool {
        let mut tries = 0;
        loop {
            // Acquire, before the word: an unlock that comes after the word was read changes it
            // later.
            let gate = self.gate.load(Acquire);
            // Relaxed: the exchange decides.
            let now = self.word.load(Relaxed);
            if now & SEAT == 0 {
                if self.take(now, seat) {
                    return true;
                }
            } else if tries < TRIES {
                tries += 1;
                Native::relax();
            } else if os::passed(deadline) {
                return false;
            } else if now & AWAITED == 0 {
                // Relaxed: only tells the holder, whose exchange finds the bit or came first.
                let _ = self.word.compare_exchange(now, now | AWAITED, Relaxed, Relaxed);
            } else {
                os::sleep(&self.gate, gate, LOOK, deadline);
                if self.take_over(file, now, seat) {
                    return true;
                }
            }
        }
    }

    /// Takes the lock for the holder `seat` of the open file, which does not hold it, if it is free
    /// or becomes free within some tries, or if its holder has died. Returns whether it did.
    pub(super) fn try_lock(&self, file: &File, seat: u16) -> bool {
        for _ in 0..TRIES {
            // Relaxed: the exchange decides.
            let now = self.word.load(Relaxed);
            if now & SEAT == 0 && self.take(now, seat) {
                return true;
            }
            Native::relax();
        }
        self.take_over(file, self.word.load(Relaxed), seat)
    }

    /// Takes the lock from a holder that has died, if the word is still `seen`. Returns whether it
    /// did.
    fn take_over(&self, file: &File, seen: u64, seat: u16) -> bool {
        let holder = (seen & SEAT) as u16;
        // A word that is still the same belongs to an acquisition whose holder was dead when the
        // kernel was asked. It cannot have released the lock since. The kernel does not count a claim
        // of this open file: its seat belonged to a process that has died.
        self.word.load(Relaxed) == seen
            && (holder == 0 || !os::is_claimed(file, Claim::Seat(holder).place()))
            && self.take(seen, seat)
    }

    /// Makes `seat` the holder, if the word is still `seen`.
    fn take(&self, seen: u64, seat: u16) -> bool {
        let next = (seen & !SEAT).wrapping_add(ACQUISITION) | u64::from(seat);
        // Acquire: see the last holder's writes. The kernel says that a holder has died only after
        // the writes of that holder.
        self.word.compare_exchange(seen, next, Acquire, Relaxed).is_ok()
    }

    /// Releases the lock, which the calling thread holds with `seat`. A thread that has just claimed
    /// `seat` may call this too: if the lock still names the seat, its holder has died. To all
    /// others the claimed seat looks like a holder that lives.
    pub(super) fn release(&self, seat: u16) {
        let mut now = self.word.load(Relaxed);
        // Release: the next holder sees this thread's writes. Acquire: and those of a dead holder,
        // before this thread releases for it.
        while now & SEAT == u64::from(seat)
            && let Err(other) = self.word.compare_exchange(now, now & !(SEAT | AWAITED), AcqRel, Relaxed)
        {
            now = other;
        }
        if now & SEAT != u64::from(seat) {
            return;
        }
        if now & AWAITED != 0 {
            // AcqRel: a sleeper that reads the new gate finds the lock released.
            self.gate.fetch_add(1, AcqRel);
            os::wake(&self.gate);
        }
    }
}

/// A condition for which threads of all processes wait.
#[repr(C)]
pub(super) struct Event {
    /// Changes with each notification that finds sleepers.
    count: NativeAtomic<u32>,
    /// Not 0 if a thread may sleep.
    awaited: NativeAtomic<u32>,
}

impl Event {
    /// Longest sleep: a process that was killed before it notified costs at most this time.
    const LOOK: Nanos = Nanos(50_000_000);

    /// Wakes all sleepers, after a change that they wait for.
    pub(super) fn notify(&self) {
        // SeqCst: either this thread sees that another one waits, or that one sees the change.
        Native::fence(SeqCst);
        if self.awaited.load(Relaxed) != 0 {
            // Relaxed: the count's change orders it.
            self.awaited.store(0, Relaxed);
            self.count.fetch_add(1, AcqRel);
            os::wake(&self.count);
        }
    }

    /// Calls `again` until it returns something, and sleeps in between. Returns `None` if the
    /// deadline has passed.
    pub(super) fn until<R>(&self, deadline: Option<Deadline>, mut again: impl FnMut() -> Option<R>) -> Option<R> {
        loop {
            // Acquire: a notification that comes later changes the count that was read.
            let count = self.count.load(Acquire);
            self.awaited.store(1, Relaxed);
            // SeqCst: pairs with the fence in `notify`.
            Native::fence(SeqCst);
            if let Some(done) = again() {
                return Some(done);
            }
            if os::passed(deadline) {
                return None;
            }
            os::sleep(&self.count, count, Self::LOOK, deadline);
        }
    }
}
