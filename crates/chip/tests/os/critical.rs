//! The policies `linux` and `crit` on the chip: small programs, one fast core of four.

use crate::common;
use crate::common::simulation;
use baton_chip::{AmpCounts, Application, Runs, Simulated, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::Release, Owned, Wait, WaitResult, units::Cycles};
use baton_sync::lock::RawLock;
use baton_sync::lock::known::Known;
use std::rc::Rc;

const UNEQUAL: [&str; 3] = ["core.clocks=1-3:1_500_000_000", "os.time_slice=100000", "os.amp.swap_ticks=1000"];

/// Runs two applications. The first one has the fast core at the start and computes for `solo`
/// cycles. The main thread of the second one works while its two other threads wait for it by
/// `wait`. Returns what each application had of the fast and slow cores.
fn beside(policy: &str, solo: u64, wait: Wait) -> [AmpCounts; 2] {
    let policy = format!("os.scheduler={policy}");
    let settings: Vec<&str> = UNEQUAL.iter().copied().chain([policy.as_str()]).collect();
    let mut simulation = simulation(&common::cores(4, &settings));
    let go = common::cell(&mut simulation, 0u32);
    let named =
        |name: &str| Application { name: name.into(), runs: Runs::Times(1), start: Cycles(0), main: Spawn::default() };
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

/// The main thread gets the fast core at once if the others say that they wait for it. If they only
/// spin, or the policy does not listen, the thread that has the fast core keeps it.
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

/// Threads that sleep for a lock say nothing by themselves. With a lock that the policy knows, the
/// lock's holder gets the fast core at once; under a policy that does not listen, the run is the
/// same as with a plain lock.
#[test]
fn the_holder_of_a_lock_that_sleepers_wait_for_comes_if_the_lock_is_known() {
    let [solo, team] = holder::<Known<Simulated, FutexLock>>("crit");
    assert!(team.swaps >= 1 && team.swaps == solo.swaps && team.fast > 2_000_000, "{solo:?} {team:?}");
    let [_, plain] = holder::<FutexLock>("crit");
    assert_eq!((plain.swaps, plain.fast), (0, 0));
    let [known, plain] = [holder::<Known<Simulated, FutexLock>>("pa"), holder::<FutexLock>("pa")];
    assert_eq!(known, plain);
}

type FutexLock = baton_sync::lock::futex::Futex<Simulated>;

/// Runs a team of which one thread computes in a lock while two others sleep for it; another
/// application has the fast core first. Returns what both applications had of the cores.
fn holder<L: RawLock<Simulated>>(policy: &str) -> [AmpCounts; 2] {
    let policy = format!("os.scheduler={policy}");
    let settings: Vec<&str> = UNEQUAL.iter().copied().chain([policy.as_str()]).collect();
    let mut simulation = simulation(&common::cores(4, &settings));
    let lock = Rc::new(simulation.outside(|| Owned::<Simulated, L>::new(L::new())));
    let kept = lock.clone();
    let named =
        |name: &str| Application { name: name.into(), runs: Runs::Times(1), start: Cycles(0), main: Spawn::default() };
    simulation.application(named("solo"), move || Simulated::work(Cycles(16_000_000))).unwrap();
    let team = move || {
        let section = |lock: &L, cycles: u64| {
            let token = lock.lock(Wait::Futex);
            Simulated::work(Cycles(cycles));
            // SAFETY: taken above, with the same policy.
            unsafe { lock.unlock(token, Wait::Futex) };
        };
        let members = [50_000, 60_000].map(|think: u64| {
            let lock = lock.clone();
            act::spawn(Spawn::default(), move || {
                Simulated::work(Cycles(think));
                section(&lock, 1_000);
            })
        });
        section(&lock, 3_000_000);
        members.into_iter().for_each(act::join);
    };
    simulation.application(named("team"), team).unwrap();
    let outcome = simulation.run().unwrap();
    assert!(outcome.finished);
    simulation.outside(|| drop(kept));
    [0, 1].map(|at: usize| outcome.apps[at].amp.expect("the policy tells cores apart"))
}

/// Under `linux`, a thread that is too busy for its slow core (a misfit) moves to the fast core
/// when the fast core idles.
#[test]
fn a_misfit_takes_the_fast_core_when_that_idles() {
    let [solo, awaited] = beside("linux", 1_000_000, Wait::Futex);
    assert!(solo.slow == 0 && awaited.fast > 1_000_000 && awaited.migrations >= 1, "{solo:?} {awaited:?}");
}
