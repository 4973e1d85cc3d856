//! Contracts of every lock.

use super::mortal::Mortal;
use super::{Guarded, explore, waits};
use crate::world::{Crowd, Scenario, World, share};
use baton_machine::{Atomic, Machine, Wait};
use baton_sync::lock::RawLock;

/// Only one guest at a time is inside, each gets in, and the next guest sees what it wrote there.
pub fn exclusion<W: World, L: RawLock<W::M>>() {
    for &crowd in W::CROWDS {
        for wait in waits::<W>(&L::INFO) {
            exclude::<W, L>(crowd, wait, L::new);
        }
    }
}

/// The contract `exclusion`, at an age at which the lock's counters wrap.
pub fn long_life<W: World, L: RawLock<W::M>>() {
    for wait in waits::<W>(&L::INFO) {
        exclude::<W, L>(W::few(), wait, L::aged);
    }
}

fn exclude<W: World, L: RawLock<W::M>>(crowd: Crowd, wait: Wait, new: fn() -> L) {
    explore::<W, L>(crowd, move || {
        let shared = share::<W::M, _>(Guarded::<W::M, L>::new(new()));
        assert!(L::provide(|layout| W::M::keep(layout).as_ptr()), "`keep` returns memory");
        let all = shared.clone();
        let guest = |_| {
            let shared = shared.clone();
            move || (0..crowd.rounds).for_each(|_| shared.enter(wait))
        };
        Scenario::new().guests(crowd.guests, guest).finally(move || {
            assert_eq!(all.total(), (crowd.guests * crowd.rounds) as u64, "critical sections lost");
        })
    });
}

/// A guest holds two locks at a time and releases them in the order in which it took them.
pub fn nesting<W: World, L: RawLock<W::M>>() {
    let crowd = W::few();
    for wait in waits::<W>(&L::INFO) {
        let plan = move || {
            // The locks are made one by one, because a guest's stack is small.
            let shared = [(); 2].map(|()| share::<W::M, _>(Guarded::<W::M, L>::new(L::new())));
            let all = shared.clone();
            let guest = |_| {
                let shared = shared.clone();
                move || {
                    for _ in 0..crowd.rounds.min(100) {
                        let [outer, inner] = &shared;
                        let first = outer.lock.lock(wait);
                        let second = inner.lock.lock(wait);
                        // SAFETY: both locks are held, each by its own token.
                        unsafe {
                            outer.count();
                            outer.lock.unlock(first, wait);
                            inner.count();
                            inner.lock.unlock(second, wait);
                        }
                    }
                }
            };
            Scenario::new().guests(2, guest).finally(move || {
                let each = 2 * crowd.rounds.min(100) as u64;
                assert_eq!([all[0].total(), all[1].total()], [each, each], "critical sections lost");
            })
        };
        // Threads that enrol take many steps at their start and end, and in this test at two locks.
        if L::ENROLS { W::skim(plan) } else { W::run(plan) }
    }
}

/// Guests end and others come under the same numbers: nothing of the guests that ended is left in
/// the lock.
pub fn comings_and_goings<W: World, L: RawLock<W::M>>() {
    for wait in waits::<W>(&L::INFO) {
        W::run(move || {
            let shared = share::<W::M, _>(Guarded::<W::M, L>::new(L::new()));
            let all = shared.clone();
            let guest = |_| {
                let shared = shared.clone();
                move || shared.enter(wait)
            };
            let scenario = Scenario::new().guests(2, guest).then().guests(2, guest);
            scenario.finally(move || assert_eq!(all.total(), 4, "critical sections lost"))
        });
    }
}

/// The last guest may free the lock's memory at once, while the previous one is still inside
/// `unlock`.
pub fn freed_by_the_last<W: World, L: RawLock<W::M>>() {
    let guests = W::few().guests;
    for wait in waits::<W>(&L::INFO) {
        W::run(move || {
            let shared = share::<W::M, _>(Mortal::<W::M, _>::new(Guarded::<W::M, L>::new(L::new())));
            let all = shared.clone();
            let guest = |_| {
                let shared = shared.clone();
                move || {
                    // SAFETY: the last guest to have been inside frees the lock, so it is alive
                    // until this guest is in. `unlock` itself must not touch the lock after the
                    // release, which is what is tested.
                    let before = unsafe {
                        let guarded = shared.alive();
                        let token = guarded.lock.lock(wait);
                        let before = guarded.count();
                        guarded.lock.unlock(token, wait);
                        before
                    };
                    if before + 1 == guests as u64 {
                        // SAFETY: every guest has been inside, so no thread needs the lock any
                        // more.
                        unsafe { shared.free() };
                    }
                }
            };
            // SAFETY: the guests have ended, so no guest accesses the owner's slot.
            Scenario::new().guests(guests, guest).finally(move || assert!(unsafe { all.is_freed() }, "guests missing"))
        });
    }
}

/// Wake-ups without a reason: one guest keeps waking the guests that sleep on words of the lock.
pub fn false_wakeups<W: World, L: RawLock<W::M>>() {
    const WAKES: usize = 20;
    let crowd = W::few();
    for wait in waits::<W>(&L::INFO).into_iter().filter(|wait| wait.parks()) {
        W::run(move || {
            let shared = share::<W::M, _>(Guarded::<W::M, L>::new(L::new()));
            let all = shared.clone();
            let pest = shared.clone();
            let guest = |_| {
                let shared = shared.clone();
                move || (0..crowd.rounds).for_each(|_| shared.enter(wait))
            };
            let scenario = Scenario::new().guests(crowd.guests, guest).guest(move || {
                for _ in 0..WAKES {
                    wake_all::<W::M, L>(&pest.lock);
                    W::M::relax();
                }
            });
            scenario.finally(move || {
                assert_eq!(all.total(), (crowd.guests * crowd.rounds) as u64, "critical sections lost");
            })
        });
    }
}

/// Wakes all threads that sleep on words of `lock`.
fn wake_all<M: Machine, L>(lock: &L) {
    let start: *const u8 = core::ptr::from_ref(lock).cast();
    for offset in (0..size_of::<L>()).step_by(align_of::<u32>()) {
        // Only the address of the cell is used.
        let cell: *const M::Atomic<u32> = start.wrapping_add(offset).cast();
        M::wake::<u32>(cell, u32::MAX, Wait::Futex);
    }
}

/// A counter by which the guests of a test tell each other how far they are.
pub(super) struct Stage<M: Machine>(M::Atomic<u32>);

impl<M: Machine> Stage<M> {
    pub(super) fn new() -> Self {
        Stage(M::Atomic::new(0))
    }

    /// Counts one more step as done.
    pub(super) fn step(&self) {
        self.0.fetch_add(1, baton_machine::Ordering::AcqRel);
    }

    pub(super) fn wait_for(&self, steps: u32) {
        let mut now = self.0.load(baton_machine::Ordering::Acquire);
        while now < steps {
            match M::wait_while(&self.0, now, Wait::Pause, None) {
                baton_machine::WaitResult::Changed(seen) => now = seen,
                baton_machine::WaitResult::Expired => unreachable!("no deadline was given"),
            }
        }
    }
}
