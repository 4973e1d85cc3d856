//! Contracts of an initialization that runs once.

use crate::world::{Scenario, World, share};
use baton_machine::{Machine, Slot, Wait};
use baton_sync::once::Once;

/// An initialization, and what it writes.
struct Table<M: Machine> {
    once: Once<M>,
    runs: M::Slot<u32>,
}

// SAFETY: the slot is written by the initialization, and read by guests that found it done; that
// this is enough is what is tested.
unsafe impl<M: Machine> Sync for Table<M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Send for Table<M> {}

impl<M: Machine> Table<M> {
    fn fill(&self, wait: Wait) {
        // SAFETY: only one guest runs the initialization, which is what is tested.
        let called = self.once.call(wait, || unsafe { self.runs.write(|runs| *runs += 1) });
        assert_eq!(called, Ok(()));
        self.look();
    }

    fn look(&self) {
        // SAFETY: the initialization is done, which is what is tested.
        assert_eq!(unsafe { self.runs.read(|runs| *runs) }, 1, "the initialization did not run once");
    }
}

/// One of the guests that call the initialization runs it, and each guest sees what it wrote.
pub fn runs_once<W: World>() {
    for &crowd in W::CROWDS {
        for &wait in W::WAITS {
            W::sample(move || {
                let shared = share::<W::M, _>(Table::<W::M> { once: Once::new(), runs: Slot::new(0) });
                let all = shared.clone();
                let guest = |_| {
                    let shared = shared.clone();
                    move || (0..crowd.rounds).for_each(|_| shared.fill(wait))
                };
                Scenario::new().guests(crowd.guests, guest).finally(move || all.look())
            });
        }
    }
}

/// A guest that only waits, or that only looks, sees what the initialization wrote.
pub fn awaited<W: World>() {
    for &wait in W::WAITS {
        W::skim(move || {
            let shared = share::<W::M, _>(Table::<W::M> { once: Once::new(), runs: Slot::new(0) });
            let (runs, waits, looks) = (shared.clone(), shared.clone(), shared);
            let all = looks.clone();
            let scenario = Scenario::new()
                .guest(move || runs.fill(wait))
                .guest(move || {
                    assert_eq!(waits.once.wait_for(wait, None), Ok(true));
                    waits.look();
                })
                .guest(move || {
                    if looks.once.is_done() {
                        looks.look();
                    }
                });
            scenario.finally(move || all.look())
        });
    }
}

/// An initialization that fails leaves the next one to another guest, which sees what it wrote.
pub fn forced<W: World>() {
    for &wait in W::WAITS {
        W::sample(move || {
            let shared = share::<W::M, _>(Table::<W::M> { once: Once::new(), runs: Slot::new(0) });
            let all = shared.clone();
            let guest = |_| {
                let shared = shared.clone();
                move || {
                    shared.once.call_anyway(wait, |_| {
                        // SAFETY: one guest at a time runs an initialization.
                        unsafe { shared.runs.write(|runs| *runs += 1) };
                    });
                    shared.look();
                }
            };
            Scenario::new().guests(2, guest).finally(move || all.look())
        });
    }
}
