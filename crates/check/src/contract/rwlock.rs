//! Contracts of every reader-writer lock.

use super::lock::Stage;
use super::mortal::Mortal;
use crate::world::{Crowd, Scenario, World, share};
use baton_machine::{Machine, Slot, Wait};
use baton_sync::rwlock::RawRwLock;

/// Two counts that a writer increments together. A reader that finds them different, or races with
/// the writer, was not excluded.
pub(super) struct Pair<M: Machine, L> {
    pub(super) lock: L,
    counts: [M::Slot<u64>; 2],
}

// SAFETY: the counts are accessed only under the lock, or after the guests have ended.
unsafe impl<M: Machine, L: Sync> Sync for Pair<M, L> {}
// SAFETY: the counts are accessed only under the lock, or after the guests have ended.
unsafe impl<M: Machine, L: Send> Send for Pair<M, L> {}

impl<M: Machine, L: RawRwLock<M>> Pair<M, L> {
    pub(super) fn new() -> Self {
        Pair { lock: L::new(), counts: [M::Slot::new(0), M::Slot::new(0)] }
    }

    /// Takes the lock and increments both counts. Returns how often that was done before.
    pub(super) fn write(&self, wait: Wait) -> u64 {
        self.lock.lock_exclusive(wait);
        // SAFETY: the lock was taken just above.
        unsafe {
            let before = self.increment();
            self.lock.unlock_exclusive(wait);
            before
        }
    }

    /// Increments both counts. Returns how often that was done before.
    ///
    /// # Safety
    /// The guest holds the lock exclusively.
    pub(super) unsafe fn increment(&self) -> u64 {
        // SAFETY: the lock is held exclusively; that no other guest accesses the counts meanwhile
        // is what is tested.
        unsafe {
            let before = self.look();
            self.counts.iter().for_each(|count| count.write(|count| *count = before + 1));
            before
        }
    }

    fn read(&self, wait: Wait) -> u64 {
        self.lock.lock_shared(wait);
        // SAFETY: the lock is held; that no guest writes meanwhile is what is tested.
        unsafe {
            let seen = self.look();
            self.lock.unlock_shared(wait);
            seen
        }
    }

    /// Number of writes. Call it only after the guests have ended.
    pub(super) fn total(&self) -> u64 {
        // SAFETY: the guests have ended.
        unsafe { self.look() }
    }

    /// Returns the counts, which must be equal.
    ///
    /// # Safety
    /// No guest writes meanwhile.
    pub(super) unsafe fn look(&self) -> u64 {
        // SAFETY: the caller promises that no guest writes meanwhile.
        let [a, b] = [0, 1].map(|i| unsafe { self.counts[i].read(|count| *count) });
        assert_eq!(a, b, "a write was seen halfway");
        a
    }
}

/// A writer is alone in the lock, each writer gets in, and later holders see what it wrote.
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

/// Half of the guests read and half write. A reader sees whole writes, and never fewer than before.
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

/// Readers hold the lock together: each waits inside until the other one is inside too.
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
                    // SAFETY: this guest took the lock above.
                    unsafe { lock.unlock_shared(wait) };
                }
            };
            Scenario::new().guests(2, guest).finally(move || drop(all))
        });
    }
}

/// The last guest may free the lock's memory at once, while the previous one is still inside its
/// unlock.
pub fn freed_by_the_last<W: World, L: RawRwLock<W::M>>() {
    for &wait in W::WAITS {
        W::run(move || {
            let shared = share::<W::M, _>(Mortal::<W::M, _>::new(Pair::<W::M, L>::new()));
            let all = shared.clone();
            let guest = |_| {
                let shared = shared.clone();
                move || {
                    // SAFETY: the last guest to have been inside frees the lock, so it is alive
                    // until this guest is in. An unlock must not touch the lock after the release,
                    // which is what is tested.
                    let before = unsafe { shared.alive().write(wait) };
                    if before == 1 {
                        // SAFETY: both guests have been inside, so no guest needs the lock any
                        // more, and this happens once.
                        unsafe { shared.free() };
                    }
                }
            };
            Scenario::new().guests(2, guest).finally(move || drop(all))
        });
    }
}
