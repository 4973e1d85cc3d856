//! One word: the writer's bit and the number of readers. A writer waits until the word is zero, a reader until the bit is clear:
//! readers that come while a writer waits go before it, as in glibc's default.

use super::{RawRwLock, RwLockInfo};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Wait, WaitResult};

/// The lock, alone in its pair of lines.
#[repr(C, align(128))]
pub struct ReadersFirst<M: Machine>(M::Atomic<u32>);

/// Set while a writer holds the lock; the bits below count readers.
const WRITER: u32 = 1 << 31;

impl<M: Machine> ReadersFirst<M> {
    /// Replaces a state that is `free` by the one that `taken` makes of it.
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
            // Acquire: what the holders before us did. Each of them gave the lock up by an addition, and additions continue each
            // other's release sequence, so the last one brings what all of them did. Relaxed on failure: another guess.
            match self.0.compare_exchange(state, taken(state), Acquire, Relaxed) {
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
    }

    /// Takes a hold off the state and wakes all waiters if it was the last.
    #[inline]
    fn unlock(&self, hold: u32, wait: Wait) {
        // Release: what we did comes before the next holder that must not overlap us.
        let left = self.0.fetch_add(hold.wrapping_neg(), Release).wrapping_sub(hold);
        if left == 0 {
            // All of them: any number of readers may go on, and a writer that is woken in vain waits again.
            M::wake::<u32>(&self.0, u32::MAX, wait);
        }
    }
}

// SAFETY: a writer enters only by an exchange of zero, which no holder leaves in the word; a reader only by an exchange of a state
// without the writer's bit. Releases and acquires as justified above.
unsafe impl<M: Machine> RawRwLock<M> for ReadersFirst<M> {
    const INFO: RwLockInfo = RwLockInfo {
        name: "readers-first",
        what: "one word, the writer's bit and the number of readers; readers pass waiting writers",
        source: "pthread_rwlock_t's default preference in glibc",
        limits: "a writer may starve; the last holder's release wakes all waiters",
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
