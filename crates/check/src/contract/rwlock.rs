//! What every reader-writer lock must do.

use super::lock::Stage;
use super::mortal::Mortal;
use crate::world::{Crowd, Scenario, World, share};
use baton_machine::{Machine, Slot, Wait};
use baton_sync::rwlock::RawRwLock;

/// Two counts that a writer steps together: a reader that finds them apart, or races with the writer, was not excluded.
struct Pair<M: Machine, L> {
    lock: L,
    counts: [M::Slot<u64>; 2],
}

// SAFETY: the counts are accessed under the lock only, or when the guests have ended.
unsafe impl<M: Machine, L: Sync> Sync for Pair<M, L> {}
// SAFETY: as above.
unsafe impl<M: Machine, L: Send> Send for Pair<M, L> {}

impl<M: Machine, L: RawRwLock<M>> Pair<M, L> {
    fn new() -> Self {
        Pair { lock: L::new(), counts: [M::Slot::new(0), M::Slot::new(0)] }
    }

    /// Steps both counts; returns how often that was done before.
    fn write(&self, wait: Wait) -> u64 {
        self.lock.lock_exclusive(wait);
        // SAFETY: held exclusively; that no other guest accesses the counts meanwhile is what is tested.
        unsafe {
            let before = self.look();
            self.counts.iter().for_each(|count| count.write(|count| *count = before + 1));
            self.lock.unlock_exclusive(wait);
            before
        }
    }

    fn read(&self, wait: Wait) -> u64 {
        self.lock.lock_shared(wait);
        // SAFETY: held; that no guest writes meanwhile is what is tested.
        unsafe {
            let seen = self.look();
            self.lock.unlock_shared(wait);
            seen
        }
    }

    /// How often it was written, when the guests have ended.
    fn total(&self) -> u64 {
        // SAFETY: the guests have ended.
        unsafe { self.look() }
    }

    /// # Safety
    /// No guest writes meanwhile.
    unsafe fn look(&self) -> u64 {
        // SAFETY: what the caller promises.
        let [a, b] = [0, 1].map(|i| unsafe { self.counts[i].read(|count| *count) });
        assert_eq!(a, b, "a write was seen halfway");
        a
    }
}

/// A writer is alone, each gets in, and what it wrote is seen by those after it.
pub fn exclusion<W: World, L: RawRwLock<W::M>>() {
    for &crowd in W::CROWDS {
        for &wait in W::WAITS {
            W::run(move || {
                let shared = share::<W::M, _>(Pair::<W::M, L>::new());
                let all = shared.clone();
                let guest = |_| {
                    let shared = shared.clone();
                    move || (0..crowd.rounds).for_each(|_| _ = shared.write(wait))
                };
                let total = (crowd.guests * crowd.rounds) as u64;
                let scenario = Scenario::new().guests(crowd.guests, guest);
                scenario.finally(move || assert_eq!(all.total(), total, "writes lost"))
            });
        }
    }
}

/// Half of the guests read and half write: a reader sees whole writes, and no fewer than before.
pub fn readers_and_writers<W: World, L: RawRwLock<W::M>>() {
    for &crowd in W::CROWDS {
        for &wait in W::WAITS {
            mixed::<W, L>(crowd, wait);
        }
    }
}

fn mixed<W: World, L: RawRwLock<W::M>>(crowd: Crowd, wait: Wait) {
    W::run(move || {
        let shared = share::<W::M, _>(Pair::<W::M, L>::new());
        let all = shared.clone();
        let guest = |i| {
            let shared = shared.clone();
            move || {
                let mut seen = 0;
                for _ in 0..crowd.rounds {
                    if i % 2 == 0 {
                        shared.write(wait);
                    } else {
                        let now = shared.read(wait);
                        assert!(now >= seen, "an older state was seen");
                        seen = now;
                    }
                }
            }
        };
        let total = (crowd.guests.div_ceil(2) * crowd.rounds) as u64;
        let scenario = Scenario::new().guests(crowd.guests, guest);
        scenario.finally(move || assert_eq!(all.total(), total, "writes lost"))
    });
}

/// Readers hold it together: each waits inside until the other is inside too.
pub fn readers_together<W: World, L: RawRwLock<W::M>>() {
    for &wait in W::WAITS {
        W::run(move || {
            let shared = share::<W::M, _>((L::new(), Stage::<W::M>::new(), Stage::<W::M>::new()));
            let all = shared.clone();
            let guest = |i| {
                let shared = shared.clone();
                move || {
                    let (lock, first, second) = &**shared;
                    let (mine, other) = if i == 0 { (first, second) } else { (second, first) };
                    lock.lock_shared(wait);
                    mine.step();
                    other.wait_for(1);
                    // SAFETY: locked above.
                    unsafe { lock.unlock_shared(wait) };
                }
            };
            Scenario::new().guests(2, guest).finally(move || drop(all))
        });
    }
}

/// The last one out may free the lock's memory at once, while the one before is still on its way out of its unlock.
pub fn freed_by_the_last<W: World, L: RawRwLock<W::M>>() {
    for &wait in W::WAITS {
        W::run(move || {
            let shared = share::<W::M, _>(Mortal::<W::M, _>::new(Pair::<W::M, L>::new()));
            let all = shared.clone();
            let guest = |_| {
                let shared = shared.clone();
                move || {
                    // SAFETY: the lock is freed by the last guest to have been inside, so it is alive until we are in; an unlock
                    // must not touch it after the release, which is what is tested.
                    let before = unsafe { shared.alive().write(wait) };
                    if before == 1 {
                        // SAFETY: both guests have been inside, so the lock is needed no more, and this is done once.
                        unsafe { shared.free() };
                    }
                }
            };
            Scenario::new().guests(2, guest).finally(move || drop(all))
        });
    }
}
