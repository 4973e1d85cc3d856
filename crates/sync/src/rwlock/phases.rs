//! A reader-writer lock of one word of four bytes. Readers and writers take turns, if readers wake up
//! in time for theirs.
//!
//! - Readers that come while a writer waits stay out until a writer has had its turn. So no stream
//!   of readers keeps a writer out.
//! - A release by a writer for which a thread waits flips the *phase*. Readers that began to wait
//!   before the flip may enter beside waiting writers until the next flip, each once. A reader that
//!   wakes up after the second flip has missed its turn: a stream of writers can keep it out.
//! - A recursive read passes waiting writers, so that a reader may read again.
//! - Writers have no order among themselves.
//!
//! | bits of the word | meaning |
//! | --- | --- |
//! | 0–17 | number of readers inside; at `FULL` no further one enters |
//! | 18–27 | number of writers that wait (and of the upgradable reader that waits to write) |
//! | 28 `SLEEPERS` | a thread that wants to read may wait |
//! | 29 `UPGRADABLE` | a reader holds the right to become the writer |
//! | 30 `WRITER` | a writer is inside |
//! | 31 `PHASE` | flipped by a writer's release if a thread waits or the bit is set, and by its downgrade |
//!
//! Threads that want to read and threads that want to write sleep on the same word in two groups,
//! so that a release changes the word which the sleepers compare, and touches no memory afterwards.

use super::{Hold, RawRwLock, RwLockInfo, TurnsRwLock};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Clock, Deadline, Machine, Wait, WaitResult};

const READER: u32 = 1;
const FULL: u32 = 1 << 17;
const READERS: u32 = 2 * FULL - 1;
const WAITING: u32 = 1 << 18;
const ALL_WAITING: u32 = 0x3ff << 18;
const SLEEPERS: u32 = 1 << 28;
const UPGRADABLE: u32 = 1 << 29;
const WRITER: u32 = 1 << 30;
const PHASE: u32 = 1 << 31;

/// The groups in which threads sleep.
const READ: u32 = 1;
const WRITE: u32 = 2;

/// A writer that finds [`ALL_WAITING`] exhausted is not counted, and looks again after this time.
const UNCOUNTED: Nanos = Nanos(1_000_000);

/// The lock's word.
#[repr(transparent)]
pub struct Phases<M: Machine>(M::Atomic<u32>);

impl Phases<baton_machine::Native> {
    /// Creates a free lock in a constant.
    pub const fn free() -> Self {
        Phases(baton_machine::native::cell::NativeAtomic::new(0))
    }
}

/// A way to enter as a reader.
#[derive(Clone, Copy)]
struct Entry {
    /// Bits that must be clear.
    never: u32,
    /// Bits that must be clear, or the phase must have flipped since the thread began to wait.
    unless_flipped: u32,
    /// Added to the word by the entry.
    adds: u32,
}

const SHARED: Entry = Entry { never: WRITER | FULL, unless_flipped: ALL_WAITING, adds: READER };
const RECURSIVE: Entry = Entry { never: WRITER | FULL, unless_flipped: 0, adds: READER };
/// Not at FULL either, because the hold may become a reader's: so there are never more than FULL + 1
/// readers.
const TO_UPGRADE: Entry = Entry { never: WRITER | UPGRADABLE | FULL, unless_flipped: ALL_WAITING, adds: UPGRADABLE };

impl Entry {
    const fn of(hold: Hold) -> Entry {
        match hold {
            Hold::Shared => SHARED,
            Hold::Recursive => RECURSIVE,
            Hold::Upgradable => TO_UPGRADE,
            Hold::Exclusive => panic!("a writer enters by another way"),
        }
    }

    /// Whether a thread that began to wait in phase `begun` may enter.
    fn admits(self, state: u32, begun: u32) -> bool {
        state & self.never == 0 && (state & self.unless_flipped == 0 || state & PHASE != begun)
    }
}

impl<M: Machine> Phases<M> {
    /// Enters as a reader without waiting. Returns whether it did.
    #[inline(always)]
    fn try_enter(&self, entry: Entry) -> bool {
        // Relaxed: only a guess at the state; the exchange acquires.
        let state = self.0.load(Relaxed);
        // Acquire: see what the last writer did. Each release since is part of the release sequence
        // of that writer's release, because all changes of the word are read-modify-writes.
        state & (entry.never | entry.unless_flipped) == 0
            && self.0.compare_exchange(state, state + entry.adds, Acquire, Relaxed).is_ok()
    }

    /// Tries until it entered, or until the state forbids it.
    #[inline]
    fn try_again(&self, entry: Entry) -> bool {
        // Relaxed: a guess; the exchange decides.
        let mut state = self.0.load(Relaxed);
        while state & (entry.never | entry.unless_flipped) == 0 {
            // Acquire: see `try_enter`.
            match self.0.compare_exchange(state, state + entry.adds, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Waits until it entered as a reader. Returns false if the deadline passed first.
    #[cold]
    fn wait_to_read(&self, entry: Entry, wait: Wait, deadline: Option<Deadline>) -> bool {
        // Relaxed: a guess; the exchanges decide.
        let mut state = self.0.load(Relaxed);
        let begun = state & PHASE;
        loop {
            if entry.admits(state, begun) {
                // Acquire: see `try_enter`.
                match self.0.compare_exchange(state, state + entry.adds, Acquire, Relaxed) {
                    Ok(_) => return true,
                    Err(now) => state = now,
                }
                continue;
            }
            assert!(state & entry.never != FULL, "{FULL} readers hold a reader-writer lock; it can count no more");
            if state & SLEEPERS == 0 {
                // Relaxed: only tells the thread that will release the lock, whose exchange finds
                // the bit or makes this one fail.
                if let Err(now) = self.0.compare_exchange(state, state | SLEEPERS, Relaxed, Relaxed) {
                    state = now;
                    continue;
                }
                state |= SLEEPERS;
            }
            match M::wait_while_in(&self.0, state, READ, wait, deadline) {
                WaitResult::Changed(now) => state = now,
                // The bit SLEEPERS may stay without a sleeper, which costs a wake-up in vain.
                WaitResult::Expired => return false,
            }
        }
    }

    /// Enters as the writer without waiting, having `held` the right to upgrade or 0.
    #[inline(always)]
    fn try_write(&self, held: u32) -> bool {
        // Acquire: see what earlier holders did, whose releases are all in the release sequence.
        match self.0.compare_exchange(held, WRITER, Acquire, Relaxed) {
            Ok(_) => true,
            // No thread waits, so the phase means nothing, and is set back for the next exchange.
            // Acquire: as above.
            Err(state) => state == held | PHASE && self.0.compare_exchange(state, WRITER, Acquire, Relaxed).is_ok(),
        }
    }

    /// Tries until it entered as the writer, or until another holder forbids it.
    #[inline]
    fn try_write_again(&self, held: u32) -> bool {
        // Relaxed: a guess; the exchange decides.
        let mut state = self.0.load(Relaxed);
        while state & (READERS | UPGRADABLE | WRITER) == held {
            // Acquire: see `try_write`.
            match self.0.compare_exchange(state, state - held + WRITER, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Waits until it entered as the writer, having `held` the right to upgrade or 0. Returns false
    /// if the deadline passed first.
    #[cold]
    fn wait_to_write(&self, held: u32, wait: Wait, deadline: Option<Deadline>) -> bool {
        // Relaxed: a guess; the exchanges decide.
        let mut state = self.0.load(Relaxed);
        // What this thread has added to the number of waiting writers.
        let mut mine = 0;
        loop {
            if state & (READERS | UPGRADABLE | WRITER) == held {
                // Acquire: see `try_write`.
                match self.0.compare_exchange(state, state - mine - held + WRITER, Acquire, Relaxed) {
                    Ok(_) => return true,
                    Err(now) => state = now,
                }
                continue;
            }
            if mine == 0 && state & ALL_WAITING != ALL_WAITING {
                // Relaxed: only tells the threads that will release the lock, as in `wait_to_read`.
                match self.0.compare_exchange(state, state + WAITING, Relaxed, Relaxed) {
                    Ok(_) => (mine, state) = (WAITING, state + WAITING),
                    Err(now) => state = now,
                }
                continue;
            }
            let until = if mine == 0 { Some(soon::<M>(deadline)) } else { deadline };
            match M::wait_while_in(&self.0, state, WRITE, wait, until) {
                WaitResult::Changed(now) => state = now,
                WaitResult::Expired if until == deadline => {
                    self.give_up(mine, wait);
                    return false;
                }
                WaitResult::Expired => {}
            }
        }
    }

    /// Leaves the waiting writers, and wakes the threads that waited only for this one.
    #[cold]
    fn give_up(&self, mine: u32, wait: Wait) {
        if mine == 0 {
            return;
        }
        let word: *const M::Atomic<u32> = &self.0;
        // Relaxed for both: this thread did nothing under the lock that others must see.
        let mut state = self.0.load(Relaxed);
        let (left, frees_readers) = loop {
            let left = state - mine;
            let frees_readers = left & (ALL_WAITING | WRITER) == 0 && left & SLEEPERS != 0;
            let left = if frees_readers { left - SLEEPERS } else { left };
            match self.0.compare_exchange(state, left, Relaxed, Relaxed) {
                Ok(_) => break (left, frees_readers),
                Err(now) => state = now,
            }
        };
        if frees_readers {
            M::wake_in::<u32>(word, u32::MAX, READ, wait);
        }
        Self::wake_writers(word, left, wait);
    }

    /// Wakes a waiting writer if the lock is free in `state`; all of them if an upgradable reader
    /// may be among them, which alone can enter.
    fn wake_writers(word: *const M::Atomic<u32>, state: u32, wait: Wait) {
        if state & ALL_WAITING != 0 && state & (READERS | WRITER) == 0 {
            let count = if state & UPGRADABLE != 0 { u32::MAX } else { 1 };
            M::wake_in::<u32>(word, count, WRITE, wait);
        }
    }

    /// Ends the writer's hold, of which it keeps `keeps` (a reader's hold, or none), and flips the
    /// phase.
    #[cold]
    fn release(&self, keeps: u32, wait: Wait) {
        let word: *const M::Atomic<u32> = &self.0;
        // Relaxed: a guess; the exchange decides.
        let mut state = self.0.load(Relaxed);
        let left = loop {
            // Adding WRITER to itself clears the bit and flips PHASE, which is the bit above it.
            let left = (state.wrapping_add(WRITER) & !SLEEPERS) + keeps;
            // Release: what this thread did comes before the next hold.
            match self.0.compare_exchange(state, left, Release, Relaxed) {
                Ok(_) => break left,
                Err(now) => state = now,
            }
        };
        if state & SLEEPERS != 0 {
            M::wake_in::<u32>(word, u32::MAX, READ, wait);
        }
        if keeps == 0 {
            Self::wake_writers(word, left, wait);
        }
    }
}

/// Returns the earlier of the deadline and [`UNCOUNTED`] from now.
#[cold]
fn soon<M: Machine>(deadline: Option<Deadline>) -> Deadline {
    let clock = deadline.map_or(Clock::Monotonic, |deadline| deadline.clock);
    let at = M::now(clock) + UNCOUNTED;
    deadline.filter(|deadline| deadline.at <= at).unwrap_or(Deadline { at, clock })
}

// SAFETY: a writer enters only by an exchange of a state without another holder; a reader only by
// an exchange of a state without WRITER. The releases and acquires are justified above. A release
// touches only the word's address after the change that ends the hold.
unsafe impl<M: Machine> RawRwLock<M> for Phases<M> {
    const INFO: RwLockInfo = RwLockInfo {
        name: "phases",
        what: "one word; readers and writers take turns: newcomers wait behind a waiting writer, and may go before the next one",
        source: "Baton; turns as in Brandenburg and Anderson, phase-fair locks, Real-Time Systems 2010",
        limits: "a reader that wakes late waits for another turn; writers have no order among themselves; 131,072 readers at a time",
        turns: true,
    };

    fn new() -> Self {
        Phases(M::Atomic::new(0))
    }

    #[inline]
    fn lock_shared(&self, wait: Wait) {
        if !self.try_enter(SHARED) {
            self.wait_to_read(SHARED, wait, None);
        }
    }

    #[inline]
    unsafe fn unlock_shared(&self, wait: Wait) {
        let word: *const M::Atomic<u32> = &self.0;
        // Release: what this thread did comes before the next exclusive hold.
        let state = self.0.fetch_add(READER.wrapping_neg(), Release);
        if state & ALL_WAITING != 0 {
            Self::wake_writers(word, state - READER, wait);
        }
    }

    #[inline]
    fn lock_exclusive(&self, wait: Wait) {
        if !self.try_write(0) {
            self.wait_to_write(0, wait, None);
        }
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, wait: Wait) {
        // Release: what this thread did comes before the next hold.
        if self.0.compare_exchange(WRITER, 0, Release, Relaxed).is_err() {
            self.release(0, wait);
        }
    }
}

// SAFETY: as above. A failed try changes nothing, and a thread that gives up takes its count back
// and wakes the threads that waited for it. The right to upgrade excludes writers and itself.
unsafe impl<M: Machine> TurnsRwLock<M> for Phases<M> {
    #[inline]
    fn try_lock(&self, hold: Hold) -> bool {
        match hold {
            Hold::Exclusive => self.try_write_again(0),
            hold => self.try_again(Entry::of(hold)),
        }
    }

    #[inline]
    fn lock(&self, hold: Hold, wait: Wait, deadline: Option<Deadline>) -> bool {
        match hold {
            Hold::Exclusive => self.try_write(0) || self.wait_to_write(0, wait, deadline),
            hold => self.try_enter(Entry::of(hold)) || self.wait_to_read(Entry::of(hold), wait, deadline),
        }
    }

    unsafe fn unlock_upgradable(&self, wait: Wait) {
        let word: *const M::Atomic<u32> = &self.0;
        // Release: what this thread did comes before the next exclusive hold.
        let state = self.0.fetch_add(UPGRADABLE.wrapping_neg(), Release);
        if state & SLEEPERS != 0 {
            M::wake_in::<u32>(word, u32::MAX, READ, wait);
        }
        Self::wake_writers(word, state - UPGRADABLE, wait);
    }

    unsafe fn try_upgrade(&self) -> bool {
        self.try_write_again(UPGRADABLE)
    }

    unsafe fn upgrade(&self, wait: Wait, deadline: Option<Deadline>) -> bool {
        self.try_write(UPGRADABLE) || self.wait_to_write(UPGRADABLE, wait, deadline)
    }

    unsafe fn downgrade(&self, to: Hold, wait: Wait) {
        self.release(Entry::of(to).adds, wait);
    }

    unsafe fn downgrade_upgradable(&self, wait: Wait) {
        let word: *const M::Atomic<u32> = &self.0;
        // Relaxed: the thread goes on reading, and did nothing that only a writer may do.
        let state = self.0.fetch_add(READER.wrapping_sub(UPGRADABLE), Relaxed);
        if state & SLEEPERS != 0 {
            M::wake_in::<u32>(word, u32::MAX, READ, wait);
        }
    }

    fn is_held(&self, exclusive: bool) -> bool {
        // Relaxed: a snapshot that may be stale at once.
        self.0.load(Relaxed) & (if exclusive { WRITER } else { READERS | UPGRADABLE | WRITER }) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Native;

    /// A reader has its turn from the release of the writer that it waited for until the next release:
    /// the promise of the page on the library, and its limit.
    #[test]
    fn a_turn_lasts_until_the_next_writer_leaves() {
        let lock = Phases::<Native>::free();
        let state = || lock.0.load(Relaxed);
        lock.lock_exclusive(Wait::Pause);
        // Two more writers wait, and a reader that is asleep.
        lock.0.fetch_add(2 * WAITING + SLEEPERS, Relaxed);
        let begun = state() & PHASE;
        assert!(!SHARED.admits(state(), begun), "a writer is inside");
        // SAFETY: the hold was taken above.
        unsafe { lock.unlock_exclusive(Wait::Pause) };
        assert!(SHARED.admits(state(), begun), "its turn beside waiting writers");
        assert!(!SHARED.admits(state(), state() & PHASE), "a newcomer waits behind them");
        // One of the waiting writers comes and goes before the reader has a CPU.
        lock.0.fetch_add(WRITER.wrapping_sub(WAITING), Relaxed);
        // SAFETY: the line above took the hold.
        unsafe { lock.unlock_exclusive(Wait::Pause) };
        assert!(!SHARED.admits(state(), begun), "the turn is missed while a writer waits");
        lock.0.fetch_add(WAITING.wrapping_neg(), Relaxed);
        assert!(SHARED.admits(state(), begun), "no writer waits");
    }
}
