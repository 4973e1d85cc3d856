//! Every event of the registry on the real machine: a bounded buffer, deadlines, broadcast, order,
//! cancellation.

#![allow(clippy::disallowed_types, reason = "the tests stand outside of the algorithms")]

use baton_machine::units::Nanos;
use baton_machine::{Clock, Deadline, Machine, Native, Wait};
use baton_sync::event::{self, EVENTS, Ended, Event, EventVisitor, RawEvent};
use baton_sync::lock::RawLock;
use baton_sync::lock::futex::Futex;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const POLICIES: [Wait; 3] = [Wait::Pause, Wait::Futex, Wait::SpinPark(64)];

/// Number of rounds under a policy; few for spinning threads that outnumber the CPUs, because they
/// wait for each other's time slices.
fn rounds(wait: Wait) -> u64 {
    if wait.parks() { 1500 } else { 30 }
}

struct Guarded<T> {
    lock: Futex<Native>,
    value: UnsafeCell<T>,
}
// SAFETY: the value is accessed only under the lock.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    fn new(value: T) -> Self {
        Guarded { lock: Futex::new(), value: UnsafeCell::new(value) }
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.lock.lock(Wait::Futex);
        // SAFETY: this thread holds the lock.
        let result = f(unsafe { &mut *self.value.get() });
        // SAFETY: this thread holds the lock.
        unsafe { self.lock.unlock((), Wait::Futex) };
        result
    }

    /// Waits under the lock until `f` returns a result.
    fn until<E: RawEvent<Native>, R>(&self, event: &E, wait: Wait, mut f: impl FnMut(&mut T) -> Option<R>) -> R {
        self.lock.lock(Wait::Futex);
        // SAFETY: this thread holds the lock, except in `wait`, which takes it again.
        unsafe {
            let result = loop {
                if let Some(result) = f(&mut *self.value.get()) {
                    break result;
                }
                let ((), ended) = event.wait(&self.lock, (), Wait::Futex, wait, None);
                assert_eq!(ended, Ended::Notified);
            };
            self.lock.unlock((), Wait::Futex);
            result
        }
    }
}

fn soon(nanos: u64) -> Deadline {
    Deadline { at: Nanos(Native::now(Clock::Monotonic).0 + nanos), clock: Clock::Monotonic }
}

/// Two producers, two consumers and a buffer of one item: every hand-off needs its notification.
struct Buffer(Wait);

impl EventVisitor<Native> for Buffer {
    type Out = ();
    fn visit<E: RawEvent<Native>>(self) {
        let items = rounds(self.0);
        let (full, free) = (E::new(), E::new());
        let buffer = Guarded::new(None);
        let sum: u64 = std::thread::scope(|s| {
            for p in 0..2 {
                let (buffer, full, free) = (&buffer, &full, &free);
                s.spawn(move || {
                    for i in 0..items {
                        buffer.until(free, self.0, |slot| slot.is_none().then(|| *slot = Some(2 * i + p)));
                        full.notify_one(self.0);
                    }
                });
            }
            let consumers: Vec<_> = (0..2)
                .map(|_| {
                    s.spawn(|| {
                        (0..items)
                            .map(|_| {
                                let item = buffer.until(&full, self.0, |slot| slot.take());
                                free.notify_one(self.0);
                                item
                            })
                            .sum::<u64>()
                    })
                })
                .collect();
            consumers.into_iter().map(|c| c.join().unwrap()).sum()
        });
        assert_eq!(sum, (0..2 * items).sum(), "{} under {}", E::INFO.name, self.0);
        full.settle(self.0);
    }
}

#[test]
fn no_notification_is_lost() {
    for info in EVENTS {
        for wait in POLICIES {
            event::visit::<Native, _>(info.name, Buffer(wait)).unwrap();
        }
    }
}

/// More waiters than a broadcast's batch all wake; a waiter that is not notified gives up at its
/// deadline, not earlier.
struct Broadcast(Wait);

impl EventVisitor<Native> for Broadcast {
    type Out = ();
    fn visit<E: RawEvent<Native>>(self) {
        const WAITERS: u32 = 40;
        let event = E::new();
        let state = Guarded::new((0, false));
        std::thread::scope(|s| {
            for _ in 0..WAITERS {
                s.spawn(|| {
                    state.with(|state| state.0 += 1);
                    state.until(&event, self.0, |state| state.1.then_some(()));
                });
            }
            while state.with(|state| state.0) < WAITERS {
                std::thread::sleep(Duration::from_millis(1));
            }
            state.with(|state| state.1 = true);
            event.notify_all(self.0);
        });
        event.settle(self.0);

        state.lock.lock(Wait::Futex);
        let deadline = soon(3_000_000);
        // SAFETY: this thread holds the lock.
        let ((), ended) = unsafe { event.wait(&state.lock, (), Wait::Futex, self.0, Some(deadline)) };
        assert_eq!(ended, Ended::Expired);
        assert!(Native::now(Clock::Monotonic) >= deadline.at);
        event.settle(self.0);
        event.notify_one(self.0);
    }
}

#[test]
fn a_broadcast_wakes_all_and_a_deadline_ends_a_wait() {
    for info in EVENTS {
        for wait in [Wait::Futex, Wait::SpinPark(64)] {
            event::visit::<Native, _>(info.name, Broadcast(wait)).unwrap();
        }
    }
}

/// The event-count protocol: no lock, and the condition is checked again after `prepare`.
struct PingPong(Wait);

impl EventVisitor<Native> for PingPong {
    type Out = ();
    fn visit<E: RawEvent<Native>>(self) {
        let rounds = rounds(self.0) as u32;
        let turn = AtomicU32::new(0);
        let event = E::new();
        std::thread::scope(|s| {
            for me in 0..2 {
                let (turn, event) = (&turn, &event);
                s.spawn(move || {
                    for round in 0..rounds {
                        let mine = 2 * round + me;
                        while turn.load(Ordering::Acquire) != mine {
                            let waiter = event.prepare(self.0);
                            // SAFETY: this thread prepared the waiter, and retires it once.
                            unsafe {
                                if turn.load(Ordering::Acquire) != mine {
                                    let _ = event.sleep(waiter, self.0, None);
                                }
                                event.retire(waiter, self.0);
                            }
                        }
                        turn.store(mine + 1, Ordering::Release);
                        event.notify_all(self.0);
                    }
                });
            }
        });
        assert_eq!(turn.into_inner(), 2 * rounds);
    }
}

#[test]
fn a_condition_changed_without_a_lock_is_not_missed() {
    for info in EVENTS {
        for wait in POLICIES {
            event::visit::<Native, _>(info.name, PingPong(wait)).unwrap();
        }
    }
}

#[test]
fn the_oldest_waiter_is_notified_and_one_that_left_is_not() {
    let wait = Wait::Futex;
    let event = Event::<Native>::new();
    // SAFETY: every waiter is used as prepared, and retired once.
    unsafe {
        let [a, b, c, d] = [(); 4].map(|()| event.prepare(wait));
        assert!(!event.retire(b, wait), "nobody was notified yet");
        event.notify_one(wait);
        event.notify_one(wait);
        assert_eq!(event.sleep(a, wait, Some(soon(0))), Ended::Notified);
        assert_eq!(event.sleep(c, wait, Some(soon(0))), Ended::Notified);
        assert_eq!(event.sleep(d, wait, Some(soon(0))), Ended::Expired);
        // `a` and `c` learn, as they leave, that they were notified. The test then notifies once
        // more on behalf of one of them, which reaches `d`.
        assert!(event.retire(a, wait) && event.retire(c, wait));
        event.notify_one(wait);
        assert!(event.retire(d, wait));
        event.settle(wait);
    }
    assert_eq!(size_of::<Event<Native>>(), 32, "a condition variable has 48 bytes, and more than the event to keep");
}

#[test]
fn waiters_that_expire_amid_notifications_swallow_none() {
    let (wait, rounds) = (Wait::Futex, 400u32);
    let event = Event::<Native>::new();
    let state = Guarded::new(0u32);
    let taken = AtomicU32::new(0);
    std::thread::scope(|s| {
        for t in 0..3 {
            let (event, state, taken) = (&event, &state, &taken);
            s.spawn(move || {
                while taken.load(Ordering::Relaxed) < rounds {
                    state.lock.lock(Wait::Futex);
                    // SAFETY: this thread holds the lock, except in `wait`, which takes it again.
                    unsafe {
                        if *state.value.get() == 0 {
                            let _ = event.wait(&state.lock, (), Wait::Futex, wait, Some(soon(20_000 * (t + 1))));
                        }
                        if *state.value.get() > 0 {
                            *state.value.get() -= 1;
                            taken.fetch_add(1, Ordering::Relaxed);
                        }
                        state.lock.unlock((), Wait::Futex);
                    }
                }
            });
        }
        for _ in 0..rounds {
            state.with(|tokens| *tokens += 1);
            event.notify_one(wait);
            std::thread::sleep(Duration::from_micros(15));
        }
    });
    assert_eq!((taken.into_inner(), state.value.into_inner()), (rounds, 0));
    event.settle(wait);
}
