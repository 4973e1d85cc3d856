//! The faults of 1spinner as its paper prints it, each found by a checker, and the proof that
//! Baton's form has none of them.

use baton_check::contract::{Guarded, lock};
use baton_check::watch::Watched;
use baton_check::world::{Crowd, Loom, Scenario, Shuttle, World, share};
use baton_machine::Ordering::Release;
use baton_machine::{Atomic, Machine, Wait};
use baton_sync::lock::RawLock;
use baton_sync::lock::one_spinner::OneSpinner;
use baton_sync::lock::one_spinner_paper::OneSpinnerPaper;
use std::panic::{AssertUnwindSafe, catch_unwind};

type M = <Shuttle as World>::M;

#[track_caller]
fn assert_objects(what: &str, test: impl FnOnce()) {
    let panic = catch_unwind(AssertUnwindSafe(test)).expect_err("no objection");
    let text = panic.downcast_ref::<String>().cloned();
    let said = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default();
    assert!(said.contains(what), "expected an objection about `{what}`, got: {said}");
}

/// A guest uses one lock once and another one `others` times; then a newcomer wants the first lock,
/// which is free.
fn newcomer<W: World, L: RawLock<W::M>>(others: usize, wait: Wait) {
    W::glance(move || {
        let [first, other] = [(); 2].map(|()| share::<W::M, _>(Guarded::<W::M, L>::new(L::new())));
        let stage = share::<W::M, _>(<W::M as Machine>::Atomic::<u32>::new(0));
        let (here, newcomer, last) = (stage.clone(), first.clone(), (first.clone(), other.clone(), stage.clone()));
        let scenario = Scenario::new().guest(move || {
            // Both guests have their numbers before either ends.
            let _ = (W::M::local(), W::M::wait_while(&stage, 0, Wait::Pause, None));
            first.enter(wait);
            (0..others).for_each(|_| other.enter(wait));
            stage.store(2, Release);
        });
        let waits = scenario.guest(move || {
            let _ = W::M::local();
            here.store(1, Release);
            let _ = W::M::wait_while(&here, 1, Wait::Pause, None);
            newcomer.enter(wait);
        });
        waits.finally(move || assert_eq!((last.0.total(), last.1.total()), (2, others as u64)))
    });
}

#[test]
fn a_stale_generation_on_a_free_lock() {
    type Paper = OneSpinnerPaper<M>;
    newcomer::<Shuttle, Paper>(254, Wait::Futex);
    assert_objects("deadlock", || newcomer::<Shuttle, Paper>(255, Wait::Futex));
    newcomer::<Shuttle, OneSpinner<M>>(255, Wait::Futex);
}

#[test]
fn loom_finds_it_too() {
    assert_objects("stuck", newcomer_under_loom::<OneSpinnerPaper<<Loom as World>::M>>);
    newcomer_under_loom::<OneSpinner<<Loom as World>::M>>();
}

fn newcomer_under_loom<L: RawLock<<Loom as World>::M>>() {
    newcomer::<Loom, L>(255, Wait::Pause);
}

/// Runs two guests whose ids are given.
fn by_ids(ids: [u8; 2]) {
    Shuttle::run(move || {
        let shared = share::<M, _>(Guarded::<M, OneSpinnerPaper<M>>::new(OneSpinnerPaper::new()));
        let all = shared.clone();
        let guest = |i: usize| {
            let shared = shared.clone();
            move || {
                shared.lock.acquire(ids[i], Wait::Pause);
                // SAFETY: the lock is held; whether it really excludes the other guest is what is
                // tested.
                unsafe { shared.count() };
                shared.lock.release();
            }
        };
        Scenario::new().guests(2, guest).finally(move || assert_eq!(all.total(), 2, "critical sections lost"))
    });
}

#[test]
fn two_threads_with_one_id_are_inside_together() {
    by_ids([1, 2]);
    assert_objects("critical sections lost", || by_ids([1, 1]));
}

/// One guest holds a lock, a second waits for it, and a third comes behind. While the second waits,
/// a handler interrupts it and takes another lock.
fn with_a_handler<L: RawLock<Watched<M>>>(handles: bool) {
    Shuttle::run(move || {
        let shared = share::<M, _>((Guarded::<Watched<M>, L>::new(L::new()), L::new()));
        let all = shared.clone();
        let guest = |i: usize| {
            let (shared, handler) = (shared.clone(), shared.clone());
            let enter = move || {
                let token = shared.0.lock.lock(Wait::Pause);
                // SAFETY: the lock is held; whether it really excludes the other guests is what is
                // tested.
                unsafe { shared.0.count() };
                (0..6).for_each(|_| M::relax());
                // SAFETY: the lock is held; whether it really excludes the other guests is what is
                // tested.
                unsafe {
                    shared.0.count();
                    shared.0.lock.unlock(token, Wait::Pause);
                }
            };
            let comes = move || {
                let token = handler.1.lock(Wait::Pause);
                // SAFETY: the lock was taken just above.
                unsafe { handler.1.unlock(token, Wait::Pause) };
            };
            move || if handles && i == 1 { Watched::<M>::watching(comes, enter) } else { enter() }
        };
        Scenario::new().guests(3, guest).finally(move || assert_eq!(all.0.total(), 6, "critical sections lost"))
    });
}

#[test]
fn a_handler_that_locks_lets_the_next_one_in_out_of_turn() {
    type Paper = OneSpinnerPaper<Watched<M>>;
    with_a_handler::<Paper>(false);
    assert_objects("a race on a slot", || with_a_handler::<Paper>(true));
    with_a_handler::<OneSpinner<Watched<M>>>(true);
}

/// Within its limits, the paper's form is a lock.
#[test]
fn it_excludes_as_long_as_no_counter_wraps() {
    lock::exclusion::<Shuttle, OneSpinnerPaper<M>>();
    assert_eq!(
        (size_of::<OneSpinnerPaper<baton_machine::Native>>(), Shuttle::few()),
        (4, Crowd { guests: 2, rounds: 3 })
    );
}
