//! The policies `linux` and `crit` on the chip: small programs, one fast core of four.

use crate::common;
use crate::common::simulation;
use baton_chip::{AmpCounts, Application, Runs, Simulated, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::Release, Wait, WaitResult, units::Cycles};

const UNEQUAL: [&str; 3] = ["core.clocks=1-3:1_500_000_000", "os.time_slice=100000", "os.amp.swap_ticks=1000"];

/// An application that computes and has the fast core first, for so many cycles; beside it a main thread that works alone while two
/// threads wait for it. What both had.
fn beside(policy: &str, solo: u64, wait: Wait) -> [AmpCounts; 2] {
    let policy = format!("os.scheduler={policy}");
    let settings: Vec<&str> = UNEQUAL.iter().copied().chain([policy.as_str()]).collect();
    let mut simulation = simulation(&common::cores(4, &settings));
    let go = common::cell(&mut simulation, 0u32);
    let named = |name: &str| Application { name: name.into(), runs: Runs::Times(1), main: Spawn::default() };
    simulation.application(named("solo"), move || Simulated::work(Cycles(solo))).unwrap();
    let awaited = move || {
        let members = [(); 2].map(|()| {
            let go = go.clone();
            act::spawn(Spawn::default(), move || {
                assert_eq!(Simulated::wait_while(&go.0, 0, wait, None), WaitResult::Changed(1))
            })
        });
        Simulated::work(Cycles(3_000_000));
        go.0.store(1, Release);
        Simulated::wake(&raw const go.0, u32::MAX, wait);
        members.into_iter().for_each(act::join);
    };
    simulation.application(named("awaited"), awaited).unwrap();
    let outcome = simulation.run().unwrap();
    assert!(outcome.finished);
    [0, 1].map(|at: usize| outcome.apps[at].amp.expect("the policy tells cores apart"))
}

/// The main thread comes at once if the others say that they wait; if they only spin, or the policy does not listen, the thread that
/// has the fast core keeps it.
#[test]
fn the_thread_that_others_wait_for_comes_if_they_say_so() {
    for wait in [Wait::SpinNotify(200), Wait::NotifyPark(200)] {
        let [solo, awaited] = beside("crit", 16_000_000, wait);
        assert!(awaited.swaps == 1 && solo.swaps == 1, "{wait}: {solo:?} {awaited:?}");
        assert!(awaited.fast > 2_000_000, "{wait}: {awaited:?}");
    }
    for (policy, wait) in [("crit", Wait::Pause), ("linux", Wait::SpinNotify(200))] {
        let [solo, awaited] = beside(policy, 16_000_000, wait);
        assert_eq!((awaited.fast, awaited.swaps, solo.slow), (0, 0, 0), "{policy}: {solo:?} {awaited:?}");
    }
}

/// Under `linux` a misfit comes when the fast core idles.
#[test]
fn a_misfit_takes_the_fast_core_when_that_idles() {
    let [solo, awaited] = beside("linux", 1_000_000, Wait::Futex);
    assert!(solo.slow == 0 && awaited.fast > 1_000_000 && awaited.migrations >= 1, "{solo:?} {awaited:?}");
}
