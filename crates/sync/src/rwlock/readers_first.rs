//! A reader-writer lock of one word: the writer's bit and the number of readers. A writer waits
//! until the word is zero, a reader until the bit is clear. Readers that arrive while a writer
//! waits go first, as with glibc's default.

use super::{RawRwLock, RwLockInfo};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Wait, WaitResult};

/// The lock's word, alone in its pair of cache lines.
#[repr(C, align(128))]
pub struct ReadersFirst<M: Machine>(M::Atomic<u32>);

/// Set while a writer holds the lock; the lower bits count readers.
const WRITER: u32 = 1 << 31;

impl<M: Machine> ReadersFirst<M> {
    /// Waits for a state that satisfies `free` and replaces it by `taken(state)`.
    #[inline]
    fn lock(&self, wait: Wait, free: impl Fn(u32) -> bool, taken: impl Fn(u32) -> u32) {
        // Relaxed: only a guess at the state; the exchange below acquires.
        let mut state = self.0.load(Relaxed);
        loop {
            if !free(state) {
                state = match M::wait_while(&self.0, state, wait, None) {
                    WaitResult::Changed(now) => now,
                    WaitResult::Expired => unreachable!("no deadline was given"),
                };
                continue;
            }
            // Acquire: see what the earlier holders did. Each of them released the lock by an
            // addition, and additions continue each other's release sequence, so the last one
            // conveys what all of them did. Relaxed on failure: another guess.
            match self.0.compare_exchange(state, taken(state), Acquire, Relaxed) {
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
    }

    /// Subtracts a hold from the state, and wakes all waiters if it was the last.
    #[inline]
    fn unlock(&self, hold: u32, wait: Wait) {
        // Release: what this thread did comes before the next hold that must not overlap its own.
        let left = self.0.fetch_add(hold.wrapping_neg(), Release).wrapping_sub(hold);
        if left == 0 {
            // Wakes all: any number of readers may continue, and a writer that is woken in vain
            // waits again.
            M::wake::<u32>(&self.0, u32::MAX, wait);
        }
    }
}

// SAFETY: a writer enters only by an exchange of zero, which the word is not while the lock is
// held; a reader only by an exchange of a state without the writer's bit. The releases and acquires
// are justified above.
unsafe impl<M: Machine> RawRwLock<M> for ReadersFirst<M> {
    const INFO: RwLockInfo = RwLockInfo {
        name: "readers-first",
        what: "one word, the writer's bit and the number of readers; readers pass waiting writers",
        source: "pthread_rwlock_t's default preference in glibc",
        limits: "a writer may starve; the last holder's release wakes all waiters",
        turns: false,
    };

    fn new() -> Self {
        ReadersFirst(M::Atomic::new(0))
    }

    fn lock_shared(&self, wait: Wait) {
        self.lock(wait, |state| state & WRITER == 0, |state| state + 1);
    }

    unsafe fn unlock_shared(&self, wait: Wait) {
        self.unlock(1, wait);
    }

    fn lock_exclusive(&self, wait: Wait) {
        self.lock(wait, |state| state == 0, |_| WRITER);
    }

    unsafe fn unlock_exclusive(&self, wait: Wait) {
        self.unlock(WRITER, wait);
    }
}
