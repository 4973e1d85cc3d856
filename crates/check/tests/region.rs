//! The faults of the monitored region as its paper prints it, found by the checkers, and the proof
//! that Baton's form has none of them. The chip, whose threads can be killed, shows that a wait
//! cannot be killed: `crates/chip/tests/waiting/region.rs`.

use baton_check::world::{Loom, Scenario, Shuttle, World, share};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Wait, WaitResult};
use baton_sync::region::printed::{Barrier, Device, NOTIFIED, ORIGINAL};
use baton_sync::region::{RegionError, Regions};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[track_caller]
fn assert_objects(what: &str, test: impl FnOnce()) {
    let panic = catch_unwind(AssertUnwindSafe(test)).expect_err("no objection");
    let text = panic.downcast_ref::<String>().cloned();
    let said = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default();
    assert!(said.contains(what), "expected an objection about `{what}`, got: {said}");
}

/// Runs the printed form between two threads: one sleeps, the other stores to a byte.
fn by_byte<W: World>(byte: usize, wait: Wait) {
    W::run(move || {
        let device = share::<W::M, _>(Device::<W::M>::load(wait));
        device.open();
        let (waits, after) = (device.clone(), device.clone());
        let notifies = move || device.map().notify(byte, &device);
        let set_back = move || {
            assert_eq!(after.map().byte(0), ORIGINAL);
            after.map().notify(1, &after);
            assert_eq!(after.map().byte(1), NOTIFIED);
            after.close();
            assert_eq!(after.map().byte(1), ORIGINAL);
        };
        Scenario::new().guest(move || waits.sleep()).guest(notifies).finally(set_back)
    });
}

#[test]
fn a_notice_by_another_byte_is_lost() {
    by_byte::<Shuttle>(0, Wait::Futex);
    assert_objects("deadlock", || by_byte::<Shuttle>(5, Wait::Futex));
    by_byte::<Loom>(0, Wait::Pause);
    assert_objects("stuck", || by_byte::<Loom>(5, Wait::Pause));
}

/// Runs the barrier of listing 2 in Anastopoulos and Koziris' paper: no thread may enter an episode
/// before all have left the previous one.
fn listing_2<W: World>(threads: usize, episodes: u32, wait: Wait) {
    type Shared<M> = (Device<M>, Barrier<M>, <M as Machine>::Atomic<u32>);
    W::skim(move || {
        let (device, barrier) = (Device::load(wait), Barrier::new(threads as u32));
        let shared = share::<W::M, Shared<W::M>>((device, barrier, <W::M as Machine>::Atomic::new(0)));
        Scenario::new().guests(threads, |_| {
            let shared = shared.clone();
            move || {
                for episode in 0..episodes {
                    shared.2.fetch_add(1, Relaxed);
                    shared.1.enter(&shared.0);
                    let came = shared.2.load(Relaxed);
                    assert!(came >= (episode + 1) * threads as u32, "{came} arrivals behind episode {episode}");
                }
            }
        })
    });
}

#[test]
fn the_printed_barrier_is_one_for_two_threads_and_not_for_three() {
    listing_2::<Shuttle>(2, 3, Wait::Futex);
    assert_objects("deadlock", || listing_2::<Shuttle>(3, 1, Wait::Futex));
}

/// `waiters` threads wait for a word; another thread writes it and notifies them. Then the region
/// is closed under a waiting thread.
fn mended<W: World>(waiters: usize, wait: Wait) {
    W::skim(move || {
        let shared = share::<W::M, _>((Regions::<W::M>::new(2, wait), <W::M as Machine>::Atomic::<u32>::new(0)));
        let [other, region] = [(); 2].map(|()| shared.0.open().unwrap());
        let until = |value: u32| {
            let shared = shared.clone();
            move || loop {
                let seen = shared.0.seen(region)?;
                if shared.1.load(Acquire) == value {
                    return Ok::<_, RegionError>(());
                }
                let WaitResult::Changed(_) = shared.0.wait(region, seen, None)? else { panic!("no deadline") };
            }
        };
        let notifier = shared.clone();
        let scenario = Scenario::new().guests(waiters, |_| {
            let waits = until(1);
            move || assert_eq!(waits(), Ok(()))
        });
        let scenario = scenario.guest(move || {
            notifier.1.store(1, Release);
            notifier.0.notify(region).unwrap();
            assert_eq!(notifier.0.close(other), Ok(()));
        });
        let (never, closes, last) = (until(2), shared.clone(), shared);
        let closed = Err(RegionError::Closed(1));
        let scenario = scenario.then().guest(move || assert_eq!(never(), closed));
        let closes = move || assert_eq!((closes.0.close(region), closes.0.close(region)), (Ok(()), closed));
        scenario.guest(closes).finally(move || assert_eq!(last.0.seen(region).map(|_| ()), closed))
    });
}

#[test]
fn ours_loses_no_notice_has_any_number_of_waiters_and_ends_when_it_is_closed() {
    for wait in [Wait::Futex, Wait::Pause] {
        mended::<Shuttle>(3, wait);
    }
    mended::<Loom>(1, Wait::Pause);
}
