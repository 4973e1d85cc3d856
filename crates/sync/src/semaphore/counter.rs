//! A semaphore of one word that counts permits. A take waits while the word is zero and subtracts
//! one; a post adds one and wakes one waiter.

use super::{RawSemaphore, SemaphoreInfo};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Deadline, Machine, Wait, WaitResult};

/// The count of permits, alone in its pair of cache lines.
#[repr(C, align(128))]
pub struct Counter<M: Machine>(M::Atomic<u32>);

// SAFETY: a take replaces a number above zero by the next lower one in one exchange, so no permit
// is taken twice. A post is a Release, whose release sequence later takes and posts continue; a
// take acquires it. A post wakes a waiter after it has changed the word, so a waiter either sees
// the change or is woken.
unsafe impl<M: Machine> RawSemaphore<M> for Counter<M> {
    const INFO: SemaphoreInfo = SemaphoreInfo {
        name: "counter",
        what: "one word that counts permits; a post wakes one waiter",
        source: "sem_t of glibc, without its count of waiters",
        limits: "in no order; every post is a wake-up, whether threads wait or not",
    };

    fn new(permits: u32) -> Self {
        Counter(M::Atomic::new(permits))
    }

    fn try_take(&self) -> bool {
        // Relaxed: only a guess at the number; the exchange below acquires.
        let mut permits = self.0.load(Relaxed);
        while permits != 0 {
            // Acquire: see what came before the post. Relaxed on failure: the new number is tried.
            match self.0.compare_exchange(permits, permits - 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => permits = now,
            }
        }
        false
    }

    fn take_until(&self, wait: Wait, deadline: Option<Deadline>) -> bool {
        // Relaxed: only a guess at the number; the exchange below acquires.
        let mut permits = self.0.load(Relaxed);
        loop {
            if permits == 0 {
                permits = match M::wait_while(&self.0, 0, wait, deadline) {
                    WaitResult::Changed(now) => now,
                    WaitResult::Expired => return false,
                };
            }
            // Acquire: see what came before the post. Relaxed on failure: the new number is tried.
            match self.0.compare_exchange(permits, permits - 1, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => permits = now,
            }
        }
    }

    fn post(&self, wait: Wait) {
        // Release: what this thread did comes before the take that gets the permit.
        self.0.fetch_add(1, Release);
        M::wake::<u32>(&self.0, 1, wait);
    }

    fn try_post(&self, wait: Wait) -> bool {
        // Relaxed: a guess; the exchange decides.
        let mut permits = self.0.load(Relaxed);
        while permits != u32::MAX {
            // Release: as in `post`.
            match self.0.compare_exchange(permits, permits + 1, Release, Relaxed) {
                Ok(_) => {
                    M::wake::<u32>(&self.0, 1, wait);
                    return true;
                }
                Err(now) => permits = now,
            }
        }
        false
    }
}
