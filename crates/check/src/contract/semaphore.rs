//! Contracts of every semaphore.

use super::mortal::Mortal;
use crate::world::{Scenario, World, share};
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Clock, Deadline, Machine, Ordering, Slot};
use baton_sync::semaphore::RawSemaphore;

/// A semaphore, a count of the guests that have a permit, and a count that only one of them at a
/// time may increment.
struct Counted<M: Machine, S> {
    semaphore: S,
    inside: M::Atomic<u32>,
    count: M::Slot<u64>,
}

// SAFETY: the count is accessed by the holder of the only permit, or after the guests have ended.
unsafe impl<M: Machine, S: Sync> Sync for Counted<M, S> {}
// SAFETY: the count is accessed by the holder of the only permit, or after the guests have ended.
unsafe impl<M: Machine, S: Send> Send for Counted<M, S> {}

impl<M: Machine, S: RawSemaphore<M>> Counted<M, S> {
    fn new(permits: u32) -> Self {
        Counted { semaphore: S::new(permits), inside: M::Atomic::new(0), count: M::Slot::new(0) }
    }
}

/// One permit is a lock: one guest at a time has it, each gets it, and the next guest sees what it
/// wrote.
pub fn one_permit<W: World, S: RawSemaphore<W::M>>() {
    for &crowd in W::CROWDS {
        for &wait in W::WAITS {
            W::run(move || {
                let shared = share::<W::M, _>(Counted::<W::M, S>::new(1));
                let all = shared.clone();
                let guest = |_| {
                    let shared = shared.clone();
                    move || {
                        for _ in 0..crowd.rounds {
                            shared.semaphore.take(wait);
                            // SAFETY: this guest has the only permit; that no other accesses the
                            // count meanwhile is what is tested.
                            unsafe { shared.count.write(|count| *count += 1) };
                            shared.semaphore.post(wait);
                        }
                    }
                };
                let total = (crowd.guests * crowd.rounds) as u64;
                Scenario::new().guests(crowd.guests, guest).finally(move || {
                    // SAFETY: the guests have ended.
                    assert_eq!(unsafe { all.count.read(|count| *count) }, total, "permits lost");
                })
            });
        }
    }
}

/// Two permits let two guests in, but no third.
pub fn no_more_than_there_are<W: World, S: RawSemaphore<W::M>>() {
    for &wait in W::WAITS {
        W::skim(move || {
            let shared = share::<W::M, _>(Counted::<W::M, S>::new(2));
            let all = shared.clone();
            let guest = |_| {
                let shared = shared.clone();
                move || {
                    shared.semaphore.take(wait);
                    assert!(shared.inside.fetch_add(1, Ordering::Relaxed) < 2, "more guests than permits");
                    shared.inside.fetch_add(1u32.wrapping_neg(), Ordering::Relaxed);
                    shared.semaphore.post(wait);
                }
            };
            Scenario::new().guests(3, guest).finally(move || drop(all))
        });
    }
}

/// Each post is taken, and what was written before it is seen.
pub fn message<W: World, S: RawSemaphore<W::M>>() {
    for &wait in W::WAITS {
        W::run(move || {
            let shared = share::<W::M, _>(Counted::<W::M, S>::new(0));
            let (receiver, sender, all) = (shared.clone(), shared.clone(), shared);
            let scenario = Scenario::new()
                .guest(move || {
                    receiver.semaphore.take(wait);
                    // SAFETY: the count was written before the post.
                    assert_eq!(unsafe { receiver.count.read(|count| *count) }, 42);
                })
                .guest(move || {
                    // SAFETY: the count is read only after the post.
                    unsafe { sender.count.write(|count| *count = 42) };
                    sender.semaphore.post(wait);
                });
            scenario.finally(move || drop(all))
        });
    }
}

/// Two posts, one right after the other, wake two waiters.
pub fn posts_together<W: World, S: RawSemaphore<W::M>>() {
    for &wait in W::WAITS {
        W::skim(move || {
            let shared = share::<W::M, _>(Counted::<W::M, S>::new(0));
            let all = shared.clone();
            let (poster, taker) = (shared.clone(), |_| {
                let shared = shared.clone();
                move || shared.semaphore.take(wait)
            });
            let scenario = Scenario::new().guests(2, taker).guest(move || {
                poster.semaphore.post(wait);
                poster.semaphore.post(wait);
            });
            scenario.finally(move || drop(all))
        });
    }
}

/// Guests that try and guests that give up are among guests that wait: no permit is lost or made.
pub fn tries_and_deadlines<W: World, S: RawSemaphore<W::M>>() {
    for &crowd in W::CROWDS {
        for &wait in W::WAITS {
            W::skim(move || {
                let shared = share::<W::M, _>(Counted::<W::M, S>::new(1));
                let all = shared.clone();
                let guest = |i| {
                    let shared = shared.clone();
                    move || {
                        for round in 0..crowd.rounds {
                            let time = Nanos(W::SOON.0 * (round % 8) as u64 / 1_000);
                            let deadline = Deadline { at: W::M::now(Clock::Monotonic) + time, clock: Clock::Monotonic };
                            let taken = match (i + round) % 3 {
                                0 => shared.semaphore.take_until(wait, None),
                                1 => shared.semaphore.take_until(wait, Some(deadline)),
                                _ => shared.semaphore.try_take(),
                            };
                            if taken {
                                // SAFETY: this guest has the only permit; that no other accesses
                                // the count meanwhile is what is tested.
                                unsafe { shared.count.write(|count| *count += 1) };
                                assert!(shared.semaphore.try_post(wait));
                            }
                        }
                    }
                };
                Scenario::new().with_deadlines().guests(crowd.guests, guest).finally(move || {
                    assert!(all.semaphore.try_take(), "a permit was lost");
                    assert!(!all.semaphore.try_take(), "a permit was made");
                })
            });
        }
    }
}

/// The last guest may free the semaphore's memory at once, while the previous one is still inside
/// its post.
pub fn freed_by_the_last<W: World, S: RawSemaphore<W::M>>() {
    for &wait in W::WAITS {
        W::run(move || {
            let shared = share::<W::M, _>(Mortal::<W::M, _>::new(Counted::<W::M, S>::new(1)));
            let all = shared.clone();
            let guest = |_| {
                let shared = shared.clone();
                move || {
                    // SAFETY: the last guest to have had the permit frees the semaphore, so it is
                    // alive until this guest has it. A post must not touch the semaphore after the
                    // permit can be taken, which is what is tested.
                    let before = unsafe {
                        let counted = shared.alive();
                        counted.semaphore.take(wait);
                        let before = counted.count.read(|count| *count);
                        counted.count.write(|count| *count += 1);
                        counted.semaphore.post(wait);
                        before
                    };
                    if before == 1 {
                        // SAFETY: both guests have had the permit, so no guest needs the semaphore
                        // any more, and this happens once.
                        unsafe { shared.free() };
                    }
                }
            };
            Scenario::new().guests(2, guest).finally(move || drop(all))
        });
    }
}
