//! Contracts of locks that can be tried, whose waiters can give up, or that serve in order.

use super::lock::Stage;
use super::{Guarded, explore, waits};
use crate::watch::Watched;
use crate::world::{Scenario, Shared, World, share};
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Clock, Deadline, Machine, Ordering, Slot, Wait};
use baton_sync::lock::{Fifo, HandOver, RawLock, TimedLock, Token, TryLock};

/// A try takes a free lock, and fails on a held one without waiting for its holder.
pub fn tries<W: World, L: TryLock<W::M>>() {
    for wait in waits::<W>(&L::INFO) {
        W::run(move || {
            let shared = share::<W::M, _>((Guarded::<W::M, L>::new(L::new()), Stage::<W::M>::new()));
            let (holder, other, all) = (shared.clone(), shared.clone(), shared);
            let scenario = Scenario::new()
                .guest(move || {
                    let (guarded, stage) = &**holder;
                    let token = guarded.lock.try_lock().expect("a free lock can be had by a try");
                    stage.step();
                    stage.wait_for(2);
                    // SAFETY: this guest took the lock above.
                    unsafe {
                        guarded.count();
                        guarded.lock.unlock(token, wait);
                    }
                })
                .guest(move || {
                    let (guarded, stage) = &**other;
                    stage.wait_for(1);
                    assert!(guarded.lock.try_lock().is_none(), "a held lock was had by a try");
                    stage.step();
                    guarded.enter(wait);
                });
            scenario.finally(move || assert_eq!(all.0.total(), 2, "a failed try has left a trace"))
        });
    }
}

/// Some guests wait and others only try: whichever gets in is alone, and sees what the previous
/// holder wrote.
pub fn tries_among_waiters<W: World, L: TryLock<W::M>>() {
    for &crowd in W::CROWDS {
        for wait in waits::<W>(&L::INFO) {
            explore::<W, L>(crowd, move || {
                assert!(L::provide(|layout| W::M::keep(layout).as_ptr()), "`keep` returns memory");
                let shared = share::<W::M, _>(Tally::<W::M, L>::new());
                let all = shared.clone();
                let guest = |i| {
                    let shared = shared.clone();
                    move || {
                        for _ in 0..crowd.rounds {
                            match i % 2 {
                                0 => shared.enter(Some(shared.guarded.lock.lock(wait)), wait),
                                _ => shared.enter(shared.guarded.lock.try_lock(), wait),
                            }
                        }
                    }
                };
                Scenario::new().guests(crowd.guests, guest).finally(move || all.assert_complete())
            });
        }
    }
}

/// A guarded count, and a count of the guests that say they have entered.
struct Tally<M: Machine, L> {
    guarded: Guarded<M, L>,
    entered: M::Atomic<u64>,
}

impl<M: Machine, L: RawLock<M>> Tally<M, L> {
    fn new() -> Self {
        Tally { guarded: Guarded::new(L::new()), entered: M::Atomic::new(0) }
    }

    /// Runs a critical section, if the guest got the lock.
    fn enter(&self, token: Option<L::Token>, wait: Wait) {
        let Some(token) = token else { return };
        // SAFETY: a token means that this guest holds the lock.
        unsafe {
            self.guarded.count();
            self.guarded.lock.unlock(token, wait);
        }
        self.entered.fetch_add(1, Ordering::Relaxed);
    }

    fn assert_complete(&self) {
        assert_eq!(self.guarded.total(), self.entered.load(Ordering::Relaxed), "critical sections lost");
    }
}

/// A deadline that has already passed.
const PAST: Deadline = Deadline { at: Nanos(1), clock: Clock::Monotonic };

fn after<W: World>(time: Nanos) -> Deadline {
    let clock = Clock::Monotonic;
    Deadline { at: W::M::now(clock) + time, clock }
}

/// A waiter gives up when its deadline has passed, and the lock works on as if the waiter had not
/// come.
pub fn giving_up<W: World, L: TimedLock<W::M>>() {
    for wait in waits::<W>(&L::INFO) {
        W::run(move || {
            let shared = share::<W::M, _>((Guarded::<W::M, L>::new(L::new()), Stage::<W::M>::new()));
            let (holder, other, all) = (shared.clone(), shared.clone(), shared);
            let scenario = Scenario::new()
                .with_deadlines()
                .guest(move || {
                    let (guarded, stage) = &**holder;
                    let token = guarded.lock.lock_until(wait, PAST).expect("a free lock is had after the deadline too");
                    stage.step();
                    stage.wait_for(2);
                    // SAFETY: this guest took the lock above.
                    unsafe {
                        guarded.count();
                        guarded.lock.unlock(token, wait);
                    }
                })
                .guest(move || {
                    let (guarded, stage) = &**other;
                    stage.wait_for(1);
                    assert!(guarded.lock.lock_until(wait, PAST).is_none(), "a held lock was had");
                    assert!(guarded.lock.lock_until(wait, after::<W>(W::SOON)).is_none(), "a held lock was had");
                    stage.step();
                    guarded.enter(wait);
                });
            scenario.finally(move || assert_eq!(all.0.total(), 2, "giving up has left a trace"))
        });
    }
}

/// Waiters behind one holder give up at the same time: when the holder has left, the lock is free,
/// whichever waiter left first.
pub fn giving_up_together<W: World, L: TimedLock<W::M>>() {
    for wait in waits::<W>(&L::INFO) {
        W::run(move || {
            assert!(L::provide_timed(|layout| W::M::keep(layout).as_ptr()), "`keep` returns memory");
            let guarded = share::<W::M, _>(Guarded::<W::M, L>::new(L::new()));
            let token = guarded.lock.try_lock().expect("a new lock is free").to_word();
            let all = guarded.clone();
            let guest = |_| {
                let guarded = guarded.clone();
                move || assert!(guarded.lock.lock_until(wait, PAST).is_none(), "a held lock was had")
            };
            Scenario::new().guests(2, guest).finally(move || {
                // SAFETY: `token` was returned when this lock was taken above.
                unsafe { all.lock.unlock(L::Token::from_word(token), wait) };
                assert!(all.lock.try_lock().is_some(), "giving up has left a trace");
            })
        });
    }
}

/// Tests waiters with and without deadlines together: waiters that give up block no thread and take
/// no wake-up away.
pub fn giving_up_among_waiters<W: World, L: TimedLock<W::M>>() {
    for &crowd in W::CROWDS {
        for wait in waits::<W>(&L::INFO) {
            explore::<W, L>(crowd, move || {
                assert!(L::provide_timed(|layout| W::M::keep(layout).as_ptr()), "`keep` returns memory");
                let shared = share::<W::M, _>(Tally::<W::M, L>::new());
                let all = shared.clone();
                let guest = |i| {
                    let shared = shared.clone();
                    move || {
                        for round in 0..crowd.rounds {
                            match i % 2 {
                                0 => shared.enter(Some(shared.guarded.lock.lock(wait)), wait),
                                _ => {
                                    // Some of these deadlines pass at once, some while other guests
                                    // are inside, some never.
                                    let time = Nanos(W::SOON.0 * (round % 8) as u64 / 1_000);
                                    shared.enter(shared.guarded.lock.lock_until(wait, after::<W>(time)), wait);
                                }
                            }
                        }
                    }
                };
                let scenario = Scenario::new().with_deadlines().guests(crowd.guests, guest);
                scenario.finally(move || {
                    all.assert_complete();
                    assert!(all.guarded.lock.try_lock().is_some(), "giving up has left a trace");
                })
            });
        }
    }
}

/// First come, first served, if each holder hands the lock over. While the lock is held, guests come one after another, each when the
/// previous one has begun to wait. They get in in that order, and after them the holder, which asks
/// for the lock again at once.
pub fn order<W: World, L: HandOver<Watched<W::M>>>() {
    for wait in waits::<W>(&L::INFO) {
        W::run(move || {
            let shared = share::<W::M, _>(Queue::<W::M, L>::new());
            let (holder, all) = (shared.clone(), shared.clone());
            let comer = |i| {
                let shared = shared.clone();
                move || Queue::come(&shared, i, wait)
            };
            let scenario = Scenario::new().guest(move || holder.hold(W::COMERS, wait)).guests(W::COMERS, comer);
            let expected: Vec<_> = (0..=W::COMERS).collect();
            scenario.finally(move || assert_eq!(all.served(), expected, "served out of order"))
        });
    }
}

/// A guest that finds the lock free after another guest took it finds that the other guest has left
/// it, and sees what the other guest wrote inside.
pub fn free_once_left<W: World, L: RawLock<W::M> + Fifo>() {
    for wait in waits::<W>(&L::INFO) {
        W::run(move || {
            let shared = share::<W::M, _>((Guarded::<W::M, L>::new(L::new()), Stage::<W::M>::new()));
            let (holder, other, all) = (shared.clone(), shared.clone(), shared);
            let scenario = Scenario::new()
                .guest(move || {
                    let (guarded, stage) = &**holder;
                    let token = guarded.lock.lock(wait);
                    stage.step();
                    // SAFETY: this guest took the lock above.
                    unsafe {
                        guarded.count();
                        guarded.lock.unlock(token, wait);
                    }
                })
                .guest(move || {
                    let (guarded, stage) = &**other;
                    stage.wait_for(1);
                    if guarded.lock.is_free() {
                        assert_eq!(guarded.total(), 1, "free, and its holder has not left it");
                    }
                });
            scenario.finally(move || assert!(all.0.lock.is_free(), "no guest is left, and the lock is not free"))
        });
    }
}

struct Queue<M: Machine, L> {
    lock: L,
    /// Becomes 1 when the lock is held; then each guest that has begun to wait adds one.
    stage: Stage<M>,
    served: M::Slot<Vec<usize>>,
}

// SAFETY: the list is accessed only under the lock, or after the guests have ended.
unsafe impl<M: Machine, L: Sync> Sync for Queue<M, L> {}
// SAFETY: the list is accessed only under the lock, or after the guests have ended.
unsafe impl<M: Machine, L: Send> Send for Queue<M, L> {}

impl<M: Machine, L: HandOver<Watched<M>>> Queue<M, L> {
    fn new() -> Self {
        Queue { lock: L::new(), stage: Stage::new(), served: M::Slot::new(Vec::new()) }
    }

    fn hold(&self, comers: usize, wait: Wait) {
        let token = self.lock.lock(wait);
        self.stage.step();
        self.stage.wait_for(1 + comers as u32);
        // SAFETY: this guest took the lock above.
        unsafe { self.lock.unlock_fair(token, wait) };
        self.enter(comers, self.lock.lock(wait), wait);
    }

    fn come(queue: &Shared<M, Self>, i: usize, wait: Wait) {
        queue.stage.wait_for(1 + i as u32);
        let me = queue.clone();
        let token = Watched::<M>::watching(move || me.stage.step(), || queue.lock.lock(wait));
        queue.enter(i, token, wait);
    }

    fn enter(&self, i: usize, token: L::Token, wait: Wait) {
        // SAFETY: the token means that this guest holds the lock.
        unsafe {
            self.served.write(|served| (*served).push(i));
            self.lock.unlock_fair(token, wait);
        }
    }

    fn served(&self) -> Vec<usize> {
        // SAFETY: this is called after the guests have ended, so no guest accesses the list any
        // more.
        unsafe { self.served.read(|served| (*served).clone()) }
    }
}
