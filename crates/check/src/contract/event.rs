//! Contracts of every event.

use super::lock::Stage;
use super::mortal::Mortal;
use crate::world::{Scenario, World, share};
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Clock, Deadline, Machine, Ordering, Slot, Wait};
use baton_sync::event::{Ended, RawEvent};
use baton_sync::lock::RawLock;
use baton_sync::lock::ticket::Ticket;

/// A monitor: a condition under a lock, with its event.
struct Monitor<M: Machine, E> {
    lock: Ticket<M>,
    event: E,
    tokens: M::Slot<u32>,
}

// SAFETY: the tokens are accessed only under the lock.
unsafe impl<M: Machine, E: Sync> Sync for Monitor<M, E> {}
// SAFETY: the tokens are accessed only under the lock.
unsafe impl<M: Machine, E: Send> Send for Monitor<M, E> {}

impl<M: Machine, E: RawEvent<M>> Monitor<M, E> {
    fn new() -> Self {
        Monitor { lock: Ticket::new(), event: E::new(), tokens: M::Slot::new(0) }
    }

    /// Takes a token, waiting for one until the deadline. Returns whether it got one.
    fn take(&self, wait: Wait, deadline: Option<Deadline>) -> bool {
        self.lock.lock(wait);
        let mut in_time = true;
        // SAFETY: this guest holds the monitor's lock, except inside the event's wait.
        unsafe {
            while in_time && self.tokens.read(|tokens| *tokens) == 0 {
                let ((), ended) = self.event.wait(&self.lock, (), wait, wait, deadline);
                in_time = ended == Ended::Notified;
            }
            let got = self.tokens.read(|tokens| *tokens) > 0;
            if got {
                self.tokens.write(|tokens| *tokens -= 1);
            }
            self.lock.unlock((), wait);
            got
        }
    }

    fn put(&self, n: u32, wait: Wait) {
        self.lock.lock(wait);
        // SAFETY: this guest holds the monitor's lock.
        unsafe {
            self.tokens.write(|tokens| *tokens += n);
            self.lock.unlock((), wait);
        }
    }

    fn left(&self) -> u32 {
        // SAFETY: the guests have ended, so no guest accesses the tokens any more.
        unsafe { self.tokens.read(|tokens| *tokens) }
    }
}

/// A condition variable loses no notification: each token that is put is taken.
pub fn condition<W: World, E: RawEvent<W::M>>() {
    for &wait in W::WAITS {
        W::run(move || {
            let monitor = share::<W::M, _>(Monitor::<W::M, E>::new());
            let all = monitor.clone();
            let rounds = W::few().rounds.min(50);
            let (taker, putter) = (monitor.clone(), monitor);
            let scenario = Scenario::new()
                .guest(move || (0..rounds).for_each(|_| assert!(taker.take(wait, None))))
                .guest(move || {
                    for _ in 0..rounds {
                        putter.put(1, wait);
                        putter.event.notify_one(wait);
                    }
                });
            scenario.finally(move || assert_eq!(all.left(), 0, "a token was left"))
        });
    }
}

/// A broadcast wakes all waiters.
pub fn broadcast<W: World, E: RawEvent<W::M>>() {
    for &wait in W::WAITS {
        W::skim(move || {
            let monitor = share::<W::M, _>(Monitor::<W::M, E>::new());
            let all = monitor.clone();
            let putter = monitor.clone();
            let taker = |_| {
                let monitor = monitor.clone();
                move || assert!(monitor.take(wait, None))
            };
            let scenario = Scenario::new().guests(2, taker).guest(move || {
                putter.put(2, wait);
                putter.event.notify_all(wait);
            });
            scenario.finally(move || assert_eq!(all.left(), 0, "a token was left"))
        });
    }
}

/// A message in a slot and the event that announces it, without a lock: the protocol of an event
/// count.
struct Post<M: Machine, E> {
    event: E,
    posted: M::Atomic<u32>,
    letter: M::Slot<u64>,
}

// SAFETY: the letter is read by the guest that was notified of it, which is what is tested.
unsafe impl<M: Machine, E: Sync> Sync for Post<M, E> {}
// SAFETY: the letter is read by the guest that was notified of it, which is what is tested.
unsafe impl<M: Machine, E: Send> Send for Post<M, E> {}

/// Without a lock, a waiter that prepares and then checks the condition again misses no
/// notification. A notified waiter sees what the notifier wrote before, whatever ordering it reads
/// the condition with.
pub fn bell<W: World, E: RawEvent<W::M>>() {
    for &wait in W::WAITS {
        W::run(move || {
            let post = Post::<W::M, E> { event: E::new(), posted: Atomic::new(0), letter: Slot::new(0) };
            let post = share::<W::M, _>(post);
            let all = post.clone();
            let (receiver, sender) = (post.clone(), post);
            let scenario = Scenario::new()
                .guest(move || {
                    let waiter = receiver.event.prepare(wait);
                    // SAFETY: the waiter was prepared just now, and is retired once.
                    let notified = unsafe {
                        if receiver.posted.load(Ordering::Relaxed) == 0 {
                            assert_eq!(receiver.event.sleep(waiter, wait, None), Ended::Notified);
                            assert!(receiver.event.retire(waiter, wait), "woken, but not notified");
                            true
                        } else {
                            receiver.event.retire(waiter, wait)
                        }
                    };
                    if notified {
                        // SAFETY: the letter was written before the notification.
                        assert_eq!(unsafe { receiver.letter.read(|letter| *letter) }, 42);
                    }
                })
                .guest(move || {
                    // SAFETY: only the notified guest reads the letter.
                    unsafe { sender.letter.write(|letter| *letter = 42) };
                    sender.posted.store(1, Ordering::Relaxed);
                    sender.event.notify_one(wait);
                });
            scenario.finally(move || drop(all))
        });
    }
}

fn after<W: World>(time: Nanos) -> Deadline {
    let clock = Clock::Monotonic;
    Deadline { at: W::M::now(clock) + time, clock }
}

const PAST: Deadline = Deadline { at: Nanos(1), clock: Clock::Monotonic };

/// A wait whose deadline passes ends without a notification, and the event works on.
pub fn expiry<W: World, E: RawEvent<W::M>>() {
    for &wait in W::WAITS {
        W::run(move || {
            let monitor = share::<W::M, _>(Monitor::<W::M, E>::new());
            let all = monitor.clone();
            let scenario = Scenario::new().with_deadlines().guest(move || {
                assert!(!monitor.take(wait, Some(PAST)), "there is no token");
                assert!(!monitor.take(wait, Some(after::<W>(W::SOON))), "there is no token");
                monitor.put(1, wait);
                monitor.event.notify_one(wait);
                assert!(monitor.take(wait, Some(PAST)), "the token is there");
            });
            scenario.finally(move || assert_eq!(all.left(), 0))
        });
    }
}

/// One guest waits for a token and may give up. The other puts a token, notifies, and then waits
/// for a token itself. If the first guest got the token, it passes the token and the notification
/// on.
pub fn leaving<W: World, E: RawEvent<W::M>>() {
    for &wait in W::WAITS {
        W::skim(move || {
            let monitor = share::<W::M, _>(Monitor::<W::M, E>::new());
            let all = monitor.clone();
            let (leaves, stays) = (monitor.clone(), monitor);
            let scenario = Scenario::new()
                .with_deadlines()
                .guest(move || {
                    if leaves.take(wait, Some(after::<W>(Nanos(W::SOON.0 / 1_000)))) {
                        leaves.put(1, wait);
                        leaves.event.notify_one(wait);
                    }
                })
                .guest(move || {
                    stays.put(1, wait);
                    stays.event.notify_one(wait);
                    assert!(stays.take(wait, None));
                });
            scenario.finally(move || assert_eq!(all.left(), 0, "a token too many"))
        });
    }
}

/// One waiter may give up and another does not; there is a token and a notification for each. The
/// waiter that stays gets a token, whether the other waiter takes one or leaves. Three guests, one
/// of them with a deadline, are too much for a world that explores all executions.
pub fn leaving_company<W: World, E: RawEvent<W::M>>() {
    for &wait in W::WAITS {
        W::skim(move || {
            let monitor = share::<W::M, _>(Monitor::<W::M, E>::new());
            let all = monitor.clone();
            let (stays, leaves, putter) = (monitor.clone(), monitor.clone(), monitor);
            let scenario = Scenario::new()
                .with_deadlines()
                .guest(move || assert!(stays.take(wait, None)))
                .guest(move || {
                    leaves.take(wait, Some(after::<W>(Nanos(W::SOON.0 / 1_000))));
                })
                .guest(move || {
                    for _ in 0..2 {
                        putter.put(1, wait);
                        putter.event.notify_one(wait);
                    }
                });
            scenario.finally(move || assert!(all.left() <= 1, "a token too many"))
        });
    }
}

/// A notification reaches the waiter that came first; the second waiter is not notified.
pub fn oldest_first<W: World, E: RawEvent<W::M>>() {
    assert!(E::INFO.fifo);
    for &wait in W::WAITS {
        W::skim(move || {
            let shared = share::<W::M, _>((E::new(), Stage::<W::M>::new()));
            let (first, second, notifier, all) = (shared.clone(), shared.clone(), shared.clone(), shared);
            let scenario = Scenario::new()
                .guest(move || {
                    let (event, stage) = &**first;
                    let waiter = event.prepare(wait);
                    stage.step();
                    // SAFETY: the waiter was prepared above, and is retired once.
                    unsafe {
                        assert_eq!(event.sleep(waiter, wait, None), Ended::Notified);
                        assert!(event.retire(waiter, wait), "woken, but not notified");
                    }
                })
                .guest(move || {
                    let (event, stage) = &**second;
                    stage.wait_for(1);
                    let waiter = event.prepare(wait);
                    stage.step();
                    stage.wait_for(3);
                    // SAFETY: the waiter was prepared above, and is retired once.
                    unsafe {
                        assert_eq!(event.sleep(waiter, wait, Some(PAST)), Ended::Expired, "woken out of turn");
                        assert!(!event.retire(waiter, wait), "notified out of turn");
                    }
                })
                .guest(move || {
                    let (event, stage) = &**notifier;
                    stage.wait_for(2);
                    event.notify_one(wait);
                    stage.step();
                });
            scenario.finally(move || drop(all))
        });
    }
}

/// A guest that settles the event waits until a waiter that gave up has left, and then goes on.
pub fn settled_by_leaving<W: World, E: RawEvent<W::M>>() {
    for &wait in W::WAITS {
        W::run(move || {
            let shared = share::<W::M, _>((E::new(), Stage::<W::M>::new()));
            let (waiter, settler, all) = (shared.clone(), shared.clone(), shared);
            let scenario = Scenario::new()
                .guest(move || {
                    let (event, stage) = &**waiter;
                    let ticket = event.prepare(wait);
                    stage.step();
                    // SAFETY: the waiter was prepared above, and is retired once.
                    unsafe {
                        assert_eq!(event.sleep(ticket, wait, Some(PAST)), Ended::Expired);
                        assert!(!event.retire(ticket, wait), "notified by nobody");
                    }
                })
                .guest(move || {
                    let (event, stage) = &**settler;
                    stage.wait_for(1);
                    event.settle(wait);
                });
            scenario.finally(move || drop(all))
        });
    }
}

/// Once `settle` has returned, the event's memory may be freed, even though its waiters have not
/// returned yet.
pub fn freed_when_settled<W: World, E: RawEvent<W::M>>() {
    for &wait in W::WAITS {
        W::run(move || {
            let doomed = share::<W::M, _>((Mortal::<W::M, E>::new(E::new()), Stage::<W::M>::new()));
            let (waiter, notifier, all) = (doomed.clone(), doomed.clone(), doomed);
            let scenario = Scenario::new()
                .guest(move || {
                    // SAFETY: the event is alive until the notifier has settled it, and settling
                    // waits for this guest.
                    let event = unsafe { waiter.0.alive() };
                    let ticket = event.prepare(wait);
                    waiter.1.step();
                    // SAFETY: the waiter was prepared above, and is retired once.
                    unsafe {
                        let _ = event.sleep(ticket, wait, None);
                        assert!(event.retire(ticket, wait), "woken, but not notified");
                    }
                })
                .guest(move || {
                    notifier.1.wait_for(1);
                    // SAFETY: the event is alive, because only this guest frees it, below.
                    let event = unsafe { notifier.0.alive() };
                    event.notify_all(wait);
                    event.settle(wait);
                    // SAFETY: no other thread takes the owner.
                    unsafe { notifier.0.free() };
                });
            scenario.finally(move || drop(all))
        });
    }
}

/// A waiter that leaves without a notification is done with the event when another guest has settled
/// it.
pub fn freed_when_left<W: World, E: RawEvent<W::M>>() {
    for &wait in W::WAITS {
        W::run(move || {
            let doomed = share::<W::M, _>((Mortal::<W::M, E>::new(E::new()), Stage::<W::M>::new()));
            let (waiter, settler, all) = (doomed.clone(), doomed.clone(), doomed);
            let scenario = Scenario::new()
                .guest(move || {
                    // SAFETY: the event is alive until it is settled, which waits for this guest. The
                    // waiter is retired once.
                    unsafe {
                        let event = waiter.0.alive();
                        let ticket = event.prepare(wait);
                        waiter.1.step();
                        assert!(!event.retire(ticket, wait), "notified by no guest");
                    }
                })
                .guest(move || {
                    settler.1.wait_for(1);
                    // SAFETY: only this guest frees the event, once.
                    unsafe {
                        settler.0.alive().settle(wait);
                        settler.0.free();
                    }
                });
            scenario.finally(move || drop(all))
        });
    }
}

/// Guests come and leave without a notification, one beside the other. The event is empty then.
pub fn leaving_together<W: World, E: RawEvent<W::M>>() {
    for &wait in W::WAITS {
        W::run(move || {
            let event = share::<W::M, _>(E::new());
            let all = event.clone();
            let guest = |_| {
                let event = event.clone();
                move || {
                    let ticket = event.prepare(wait);
                    // SAFETY: the waiter was prepared above, and is retired once.
                    assert!(!unsafe { event.retire(ticket, wait) }, "notified by no guest");
                }
            };
            Scenario::new().guests(2, guest).finally(move || all.settle(wait))
        });
    }
}
