//! What every lock must do.

use super::mortal::Mortal;
use super::{Guarded, explore, waits};
use crate::world::{Crowd, Scenario, World, share};
use baton_machine::{Atomic, Machine, Wait};
use baton_sync::lock::RawLock;

/// One guest at a time is inside, each gets in, and what it wrote there is seen by the next.
pub fn exclusion<W: World, L: RawLock<W::M>>() {
    for &crowd in W::CROWDS {
        for wait in waits::<W>(&L::INFO) {
            exclude::<W, L>(crowd, wait, L::new);
        }
    }
}

/// The same when the lock's counters wrap.
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

/// A guest holds two locks at a time and gives them back in the order in which it took them.
pub fn nesting<W: World, L: RawLock<W::M>>() {
    let crowd = W::few();
    for wait in waits::<W>(&L::INFO) {
        let plan = move || {
            // One by one: a guest's stack is small.
            let shared = [(); 2].map(|()| share::<W::M, _>(Guarded::<W::M, L>::new(L::new())));
            let all = shared.clone();
            let guest = |_| {
                let shared = shared.clone();
                move || {
                    for _ in 0..crowd.rounds.min(100) {
                        let [outer, inner] = &shared;
                        let first = outer.lock.lock(wait);
                        let second = inner.lock.lock(wait);
                        // SAFETY: both are held, each by its own token.
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
        // Threads that enrol take many steps at their start and end, and here at two locks.
        if L::ENROLS { W::skim(plan) } else { W::run(plan) }
    }
}

/// Guests end and others come, under the same numbers: nothing of the dead is left in the lock.
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

/// The last one out may free the lock's memory at once, while the one before is still on its way out of `unlock`.
pub fn freed_by_the_last<W: World, L: RawLock<W::M>>() {
    let guests = W::few().guests;
    for wait in waits::<W>(&L::INFO) {
        W::run(move || {
            let shared = share::<W::M, _>(Mortal::<W::M, _>::new(Guarded::<W::M, L>::new(L::new())));
            let all = shared.clone();
            let guest = |_| {
                let shared = shared.clone();
                move || {
                    // SAFETY: the lock is freed by the last guest to have been inside, so it is alive until we are in; `unlock`
                    // itself must not touch it after the release, which is what is tested.
                    let before = unsafe {
                        let guarded = shared.alive();
                        let token = guarded.lock.lock(wait);
                        let before = guarded.count();
                        guarded.lock.unlock(token, wait);
                        before
                    };
                    if before + 1 == guests as u64 {
                        // SAFETY: every guest has been inside, so no thread needs the lock any more.
                        unsafe { shared.free() };
                    }
                }
            };
            // SAFETY: the guests have ended.
            Scenario::new().guests(guests, guest).finally(move || assert!(unsafe { all.is_freed() }, "guests missing"))
        });
    }
}

/// Wake-ups for no reason: one guest keeps waking those that sleep on a word of the lock.
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

/// Wakes the thread that sleeps on a word of `lock`.
fn wake_all<M: Machine, L>(lock: &L) {
    let start: *const u8 = core::ptr::from_ref(lock).cast();
    for offset in (0..size_of::<L>()).step_by(align_of::<u32>()) {
        // Only the address of the cell is used.
        let cell: *const M::Atomic<u32> = start.wrapping_add(offset).cast();
        M::wake::<u32>(cell, u32::MAX, Wait::Futex);
    }
}

/// A flag by which guests of a test tell each other how far they are.
pub(super) struct Stage<M: Machine>(M::Atomic<u32>);

impl<M: Machine> Stage<M> {
    pub(super) fn new() -> Self {
        Stage(M::Atomic::new(0))
    }

    /// One more step is done.
    pub(super) fn step(&self) {
        self.0.fetch_add(1, baton_machine::Ordering::AcqRel);
    }

    /// Waits until `steps` steps are done.
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
