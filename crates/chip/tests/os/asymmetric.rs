//! Policies for chips with fast and slow cores at work: classes, swaps and times of each
//! application.

use crate::common;
use crate::common::simulation;
use baton_chip::{AmpCounts, Application, Outcome, Runs, Simulated, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::Release, Wait, WaitResult, units::Cycles};
use std::cell::Cell;
use std::rc::Rc;

/// Core 0 of four is the fast one.
const UNEQUAL: [&str; 4] =
    ["core.clocks=1-3:1_500_000_000", "os.time_slice=100000", "os.amp.boost_ticks=20", "os.amp.swap_ticks=2"];

fn named(name: &str, speedup: Option<u32>) -> Application {
    let main = Spawn { speedup, ..Spawn::default() };
    Application { name: name.into(), runs: Runs::Times(1), start: Cycles(0), main }
}

/// Runs two applications: in the first one, three workers compute and then the main thread alone;
/// the second one is a single thread that computes all the time.
fn run(settings: &[&str], speedups: [Option<u32>; 2]) -> Outcome {
    let chip = common::cores(4, settings);
    let mut simulation = simulation(&chip);
    let phases = || {
        let members: Vec<_> =
            (0..3).map(|_| act::spawn(Spawn::default(), || Simulated::work(Cycles(6_000_000)))).collect();
        members.into_iter().for_each(act::join);
        Simulated::work(Cycles(8_000_000));
    };
    simulation.application(named("phases", speedups[0]), phases).unwrap();
    simulation.application(named("solo", speedups[1]), || Simulated::work(Cycles(16_000_000))).unwrap();
    let outcome = simulation.run().unwrap();
    assert!(outcome.finished);
    outcome
}

fn amp(outcome: &Outcome) -> [AmpCounts; 2] {
    let of = |name: &str| outcome.apps.iter().find(|app| app.name == name).and_then(|app| app.amp);
    [of("phases"), of("solo")].map(|amp| amp.expect("the policy tells cores apart"))
}

fn with(policy: &str, more: &[&str], speedups: [Option<u32>; 2]) -> [AmpCounts; 2] {
    let policy = format!("os.scheduler={policy}");
    let settings: Vec<&str> = UNEQUAL.iter().copied().chain([policy.as_str()]).chain(more.iter().copied()).collect();
    let outcome = run(&settings, speedups);
    for (had, app) in amp(&outcome).iter().zip(&outcome.apps) {
        assert!(had.fast + had.slow <= app.times.on_cpu && had.fast + had.slow > 0, "{had:?}, {:?}", app.times);
        let classes = had.sp + had.mp + had.hp;
        assert!(classes <= outcome.cycles.0, "{classes} of {}", outcome.cycles);
    }
    amp(&outcome)
}

/// The single thread has the fast core while the other application is highly parallel. A sequential
/// phase takes the fast core for the time of its boost, whether slices end by the policy's timer or
/// by ticks.
#[test]
fn pa_gives_the_fast_core_to_sequential_phases_and_single_threads() {
    for tick in [&[][..], &["os.tick=50000"]] {
        let [phases, solo] = with("pa", tick, [None; 2]);
        assert_eq!(phases.demotions, 1, "{phases:?}");
        // The boost of 20 slices of 100,000 cycles, and the moments in which the application's last
        // worker was alone.
        assert!((2_000_000..2_400_000).contains(&phases.sp), "{phases:?}");
        assert!(phases.hp > 5_000_000 && solo.hp == 0 && solo.sp == 0, "{phases:?} {solo:?}");
        assert!(phases.swaps >= 2 && solo.swaps >= 2, "{phases:?} {solo:?}");
        assert!(solo.fast > 5_000_000, "{solo:?}");
        assert!(solo.migrations >= 2, "{solo:?}");
    }
}

/// The stay in the class SP grows by exactly as much as `os.amp.boost_ticks`.
#[test]
fn the_boost_lasts_as_long_as_its_key_says() {
    let sp = |ticks: &str| with("pa", &[ticks], [None; 2])[0].sp;
    assert_eq!(sp("os.amp.boost_ticks=30") - sp("os.amp.boost_ticks=20"), 1_000_000);
}

#[test]
fn known_speedups_decide_under_static_ipc() {
    for (speedups, first) in [([Some(1100), Some(1900)], 1), ([Some(1900), Some(1100)], 0)] {
        let had = with("static-ipc", &[], speedups);
        // The application that gains more has the fast core. The other one has it before the
        // policy's first round and after the end of the application that gains more.
        assert!(had[first].fast > 4_000_000, "{first}: {had:?}");
        assert_eq!(had.map(|had| had.demotions), [0, 0]);
    }
}

#[test]
fn busy_fast_cores_take_running_threads_and_swap_none() {
    let had = with("busy-fcs", &[], [None; 2]);
    assert_eq!(had.map(|had| had.swaps), [0, 0]);
    assert!(had[0].fast + had[1].fast > 5_000_000, "{had:?}");
}

/// Where all clocks are the same, `os.amp.fast_cores` says which cores count as fast, so that the
/// cost of swaps shows by itself.
#[test]
fn swaps_go_on_at_equal_clocks_if_fast_cores_are_named() {
    let settings = ["os.time_slice=100000", "os.amp.swap_ticks=2", "os.scheduler=rr"];
    let equal = amp(&run(&settings, [None; 2]));
    assert_eq!(equal.map(|had| (had.swaps, had.slow)), [(0, 0); 2]);
    let named: Vec<&str> = settings.into_iter().chain(["os.amp.fast_cores=0"]).collect();
    let [phases, solo] = amp(&run(&named, [None; 2]));
    assert!(phases.swaps > 10 && solo.swaps > 5 && solo.slow > solo.fast && solo.fast > 0, "{phases:?} {solo:?}");
}

/// Policies that know nothing of fast cores give no figures of them.
#[test]
fn other_policies_have_no_figures_of_fast_cores() {
    let outcome = run(&["os.scheduler=fair"], [None; 2]);
    assert!(outcome.apps.iter().all(|app| app.amp.is_none()));
}

/// Two threads of an application wait by `wait` for its main thread, which works alone, beside an
/// application of a single thread. Returns what the first application had of fast and slow cores,
/// and when it ended.
fn awaited(wait: Wait, counts: bool) -> (AmpCounts, u64) {
    let counts = format!("os.amp.count_marked={counts}");
    let settings: Vec<&str> = UNEQUAL.iter().copied().chain(["os.scheduler=pa", "os.syscall=200", &counts]).collect();
    let chip = common::cores(4, &settings);
    let mut simulation = simulation(&chip);
    let go = common::cell(&mut simulation, 0u32);
    let ended = Rc::new(Cell::new(0));
    let ends = ended.clone();
    let phases = move || {
        let waits = || {
            let go = go.clone();
            act::spawn(Spawn::default(), move || {
                assert_eq!(Simulated::wait_while(&go.0, 0, wait, None), WaitResult::Changed(1))
            })
        };
        let members = [waits(), waits()];
        Simulated::work(Cycles(3_000_000));
        go.0.store(1, Release);
        Simulated::wake(&raw const go.0, u32::MAX, wait);
        members.into_iter().for_each(act::join);
        ends.set(act::time().0);
    };
    simulation.application(named("phases", None), phases).unwrap();
    simulation.application(named("solo", None), || Simulated::work(Cycles(16_000_000))).unwrap();
    let outcome = simulation.run().unwrap();
    (amp(&outcome)[0], ended.get())
}

/// Threads that spin without telling the policy make their application look highly parallel. If
/// they tell, and threads that tell are not counted, the application is in a sequential phase, and
/// its main thread has the fast core.
#[test]
fn waits_that_tell_show_a_sequential_phase() {
    let (silent, late) = awaited(Wait::Pause, false);
    assert!(silent.sp < 300_000 && silent.hp > 2_000_000, "{silent:?}");
    for wait in [Wait::SpinNotify(200), Wait::NotifyPark(200)] {
        let (told, soon) = awaited(wait, false);
        assert!(told.sp > 1_000_000, "{wait}: {told:?}");
        assert!(soon < late, "{wait}: {soon}, {late} without notices");
    }
    let (counted, _) = awaited(Wait::SpinNotify(200), true);
    assert!(counted.sp < 300_000 && counted.hp > 2_000_000, "{counted:?}");
}
