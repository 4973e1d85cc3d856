//! The kernel path of the paper on the chip: a region that the system allocates, a wait that is a
//! call without an argument, a notice that is a store; each fault of this path, and Baton's form of
//! it, which has none of them.

use super::idle_waits::{PRICES, fixed, on};
use crate::common::{self, simulation};
use baton_chip::{Chip, Outcome, Reason, Simulated, Spawn, Stuck, act};
use baton_machine::{Deadline, Machine, Owned, Wait, WaitResult, units::Cycles, units::Nanos};
use baton_sync::region::printed::{Barrier, Device, ORIGINAL};
use baton_sync::region::{RegionError, Regions};
use baton_units::CoreId;
use std::cell::Cell;
use std::rc::Rc;

/// A thread sleeps in the call that the paper prints, and another one stores to byte `byte` 20,000
/// cycles later. Returns the outcome and the value of byte 0 at the end.
fn printed(byte: usize) -> Result<(Outcome, u8), Stuck> {
    let mut simulation = simulation(&fixed(&[]));
    let device = Rc::new(simulation.outside(|| Device::<Simulated>::load(Wait::Mwmon)));
    let (waits, notifies) = (device.clone(), device.clone());
    let body = move || {
        waits.open();
        waits.sleep();
    };
    simulation.spawn(on(0), body).unwrap();
    let late = Spawn { after: Cycles(20_000), ..on(1) };
    simulation.spawn(late, move || notifies.map().notify(byte, &notifies)).unwrap();
    let outcome = simulation.run()?;
    let first = simulation.outside(|| device.map().byte(0));
    simulation.outside(|| drop(device));
    Ok((outcome, first))
}

#[test]
fn the_wait_is_a_call_and_the_notice_a_store() {
    let (outcome, first) = printed(0).unwrap_or_else(|stuck| panic!("{stuck}"));
    let kernel = [0, 1].map(|thread: usize| outcome.threads[thread].time(Reason::Kernel).0);
    assert_eq!((kernel, first), ([700 + 450, 0], ORIGINAL), "the call there and back; the notifier calls nothing");
    assert_eq!(outcome.threads[1].counts.operations, 1);
}

#[test]
fn a_notice_by_another_byte_is_lost() {
    let stuck = printed(5).map(|_| ()).unwrap_err();
    assert_eq!(stuck.waiting.iter().map(|waiting| waiting.thread).collect::<Vec<_>>(), [0], "{stuck}");
}

/// Whether all threads leave listing 2's barrier. The first comes at cycle 0 and the last at
/// 20,000; of three, the second comes at `late`.
fn listing_2(threads: u32, late: u64) -> Result<(), Stuck> {
    // The call takes 3,000 cycles, so the second waiter can be on its way into the kernel when the
    // first one, which is there already, sets the byte back.
    let chip = common::cores(4, &[&PRICES[..], &["core.clock_hz=1000000000", "wait.mwmon.call=3000"]].concat());
    let mut simulation = simulation(&chip);
    let shared = simulation.outside(|| {
        let device = Device::<Simulated>::load(Wait::Mwmon);
        Rc::new((device, Owned::<Simulated, _>::new(Barrier::<Simulated>::new(threads))))
    });
    for thread in 0..threads {
        let shared = shared.clone();
        let after = Cycles([0, late, 20_000][thread as usize + usize::from(threads == 2 && thread == 1)]);
        simulation.spawn(Spawn { after, ..on(thread) }, move || shared.1.enter(&shared.0)).unwrap();
    }
    let ended = simulation.run().map(|_| ());
    simulation.outside(|| drop(shared));
    ended
}

#[test]
fn a_third_thread_waits_for_ever() {
    let moments = || (17_000..22_000).step_by(250);
    assert!(moments().all(|late| listing_2(2, late).is_ok()));
    let stuck: Vec<_> = moments().filter_map(|late| listing_2(3, late).err()).collect();
    assert!(!stuck.is_empty(), "no moment of the second thread shows the fault");
    assert!(stuck.iter().all(|stuck| stuck.waiting.len() == 1), "the others have left");
}

/// One thread waits by `wait`, and another one kills it after 20,000 cycles. Returns how long the
/// killed thread still lives.
fn killed(wait: impl FnOnce() + 'static) -> Result<u64, Stuck> {
    let mut simulation = simulation(&fixed(&[]));
    let at = Rc::new(Cell::new(0));
    let of_killer = at.clone();
    let body = move || {
        let guest = act::spawn(on(0), wait);
        act::delay(Cycles(20_000));
        act::kill(guest);
        of_killer.set(act::time().0);
        act::join(guest);
    };
    simulation.spawn(on(1), body).unwrap();
    let outcome = simulation.run()?;
    Ok(outcome.threads[1].ended.0 - at.get())
}

#[test]
fn the_printed_wait_cannot_be_killed_and_ours_can() {
    let device = || Owned::<Simulated, _>::new(Device::<Simulated>::load(Wait::Mwmon));
    // The paper's loop in the kernel looks only at the byte, so it does not notice the kill before
    // the call returns.
    let stuck = killed(move || act::uninterruptible(|| device().sleep())).unwrap_err();
    assert!(stuck.waiting.iter().any(|waiting| waiting.thread == 1), "{stuck}");
    // In an ordinary system call of Baton's, the same loop notices the kill within an exit of 333
    // cycles and 50 more.
    let leaves = 333 + 50;
    assert!(killed(move || device().sleep()).unwrap() < leaves);
    let ours = move || {
        let regions = Regions::<Simulated>::new(1, Wait::Mwmon);
        let region = regions.open().unwrap();
        _ = regions.wait(region, regions.seen(region).unwrap(), None);
        unreachable!("no notice comes");
    };
    assert!(killed(ours).unwrap() < leaves);
}

/// Two waiters by Baton's form run on cores 0 and 2, and `other` on core 1. Returns the results of
/// the waits, and the outcome.
fn ours(
    chip: &Chip,
    deadline: Option<u64>,
    other: impl FnOnce(&Regions<Simulated>, baton_sync::region::Region) + 'static,
) -> (Vec<Result<bool, RegionError>>, Outcome) {
    let mut simulation = simulation(chip);
    let regions = Rc::new(simulation.outside(|| Regions::<Simulated>::new(8, Wait::Mwmon)));
    let [_, region] = simulation.outside(|| [(); 2].map(|()| regions.open().unwrap()));
    let results = Rc::new(Cell::new(Vec::new()));
    for core in [0, 2] {
        let (regions, results) = (regions.clone(), results.clone());
        let body = move || {
            let deadline = deadline.map(|at| Deadline { at: Nanos(at), clock: Default::default() });
            let ended = regions.seen(region).and_then(|seen| regions.wait(region, seen, deadline));
            let mut all = results.take();
            all.push(ended.map(|ended| ended != WaitResult::Expired));
            results.set(all);
        };
        simulation.spawn(Spawn { affinity: vec![CoreId(core), CoreId(3)], ..Spawn::default() }, body).unwrap();
    }
    let theirs = regions.clone();
    let late = Spawn { after: Cycles(20_000), ..on(1) };
    simulation.spawn(late, move || other(&theirs, region)).unwrap();
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    simulation.outside(|| drop(regions));
    (results.take(), outcome)
}

#[test]
fn ours_has_any_number_of_waiters_and_each_wait_an_end() {
    let chip = common::cores(4, &[&PRICES[..], &["core.clock_hz=1000000000"]].concat());
    let (results, outcome) = ours(&chip, None, |regions, region| regions.notify(region).unwrap());
    assert_eq!(results, [Ok(true); 2]);
    assert_eq!(outcome.threads[2].time(Reason::Kernel), Cycles(0), "a notice calls nothing");
    // A deadline ends a wait by a timer interrupt.
    let (results, outcome) = ours(&chip, Some(50_000), |_, _| {});
    assert_eq!(results, [Ok(false); 2]);
    assert!((50_000..52_000).contains(&outcome.threads[0].ended.0), "{:?}", outcome.threads[0].ended);
    // The region is closed while threads wait in it, and used after that.
    let (results, _) = ours(&chip, None, |regions, region| {
        regions.close(region).unwrap();
        assert_eq!(regions.notify(region), Err(RegionError::Closed(1)));
        assert_ne!(regions.open().unwrap(), region);
    });
    assert_eq!(results, [Err(RegionError::Closed(1)); 2]);
}

/// A waiter whose core is switched off leaves its idle wait, moves to another core, waits there,
/// and receives the notice.
#[test]
fn a_wait_ends_when_its_core_goes_off_and_goes_on_elsewhere() {
    let chip = common::cores(4, &[&PRICES[..], &["core.clock_hz=1000000000"]].concat());
    let (results, outcome) = ours(&chip, None, |regions, region| {
        act::set_online(CoreId(0), false).unwrap();
        Simulated::work(Cycles(50_000));
        regions.notify(region).unwrap();
    });
    assert_eq!(results, [Ok(true); 2]);
    let off = &outcome.cpus[0];
    assert!(outcome.refused.is_empty() && outcome.threads[0].counts.preemptions == 1, "{off:?}");
}
