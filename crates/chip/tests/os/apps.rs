//! Applications, cores that are switched off and on, and threads that are moved: no thread loses a
//! cycle of work.

use crate::common;
use crate::common::simulation;
use baton_chip::{Application, Chip, Options, Reason, Refused, Runs, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering, Wait, units::Cycles};
use baton_units::{CoreId, CpuId};
use proptest::prelude::*;

fn named(name: &str, runs: Runs) -> Application {
    Application { name: name.into(), runs, start: Cycles(0), main: Spawn::default() }
}

/// A main thread that starts `n` others, which compute, and waits for their end.
fn team(n: u64, cycles: u64) -> impl Fn() + 'static {
    move || {
        let members: Vec<_> =
            (0..n).map(|_| act::spawn(Spawn::default(), move || Simulated::work(Cycles(cycles)))).collect();
        members.into_iter().for_each(act::join);
    }
}

#[test]
fn applications_run_side_by_side_and_again() {
    let chip = common::cores(4, &[]);
    let mut simulation = simulation(&chip);
    simulation.application(named("three", Runs::Times(3)), team(2, 1_000_000)).unwrap();
    simulation.application(named("once", Runs::Times(1)), team(4, 6_000_000)).unwrap();
    simulation.application(named("behind", Runs::Background), team(1, 50_000)).unwrap();
    let outcome = simulation.run().unwrap();
    assert!(outcome.finished);
    let [three, once, behind] = &outcome.apps[..] else { panic!("{:?}", outcome.apps) };
    assert_eq!((three.name.as_str(), three.runs.len(), three.counts.forks), ("three", 3, 9));
    assert_eq!((once.runs.len(), once.counts.forks, once.most_runnable), (1, 5, 5));
    assert!(behind.runs.len() > 10, "{}", behind.runs.len());
    // The run ends with the last of the applications that it waits for, wherever the background one
    // is.
    let last = three.runs.iter().map(|run| run.0).sum::<u64>().max(once.runs[0].0);
    assert!(outcome.cycles.0 >= last && outcome.cycles.0 < last + 200_000, "{} after {last}", outcome.cycles);
    for app in &outcome.apps {
        assert!(
            app.times.on_cpu <= app.runnable.0 && app.runnable.0 <= u64::from(app.most_runnable) * outcome.cycles.0
        );
    }
    assert!(once.times.on_cpu >= 24_000_000);
    let names: Vec<_> = outcome.threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!(outcome.threads.len() as u64, outcome.apps.iter().map(|app| app.counts.forks).sum::<u64>(), "{names:?}");
}

fn later(name: &str, runs: Runs, start: u64) -> Application {
    Application { start: Cycles(start), ..named(name, runs) }
}

/// An application that begins later has no thread and takes no time before its start. Its runs are
/// measured from there on, and the chip idles while no application is there.
#[test]
fn applications_come_and_go() {
    let chip = common::cores(4, &["noise.start=0"]);
    let mut simulation = simulation(&chip);
    let there = |at: u64, name: &'static str| {
        move || {
            let now = act::time().0;
            assert!(now >= at && now < at + 100_000, "{name} began at {now}");
            team(2, 1_000_000)();
        }
    };
    simulation.application(later("second", Runs::Times(1), 5_000_000), there(5_000_000, "second")).unwrap();
    simulation.application(later("first", Runs::Times(1), 3_000), there(3_000, "first")).unwrap();
    simulation.application(later("third", Runs::Times(1), 5_000_000), there(5_000_000, "third")).unwrap();
    let outcome = simulation.run().unwrap();
    assert!(outcome.finished && outcome.refused.is_empty());
    let [second, first, third] = &outcome.apps[..] else { panic!("{:?}", outcome.apps) };
    assert_eq!([second, first, third].map(|app| app.start.0), [5_000_000, 3_000, 5_000_000]);
    for app in &outcome.apps {
        assert_eq!((app.runs.len(), app.counts.forks, app.counts.exits), (1, 3, 3), "{}", app.name);
        assert!((1_000_000..1_300_000).contains(&app.runs[0].0), "{}: {}", app.name, app.runs[0]);
        // The application's times have nothing from before its start.
        let times = app.times.on_cpu + app.times.ready + app.times.switching + app.times.asleep;
        assert!(times <= 3 * app.runs[0].0, "{}: {times}", app.name);
    }
    assert!((6_000_000..6_400_000).contains(&outcome.cycles.0), "{}", outcome.cycles);
    let busy: u64 = outcome.cpus.iter().map(|cpu| cpu.time("busy").0).sum();
    assert!(busy < 3 * 3_000_000, "{busy}");
}

/// `start` is the beginning of an application's first run alone: the application runs again at
/// once. An application with a start after the end of the run never begins. If the run is cut off
/// before an application begins, the figures have it, with no thread.
#[test]
fn a_start_is_the_first_runs_alone() {
    let chip = common::cores(2, &["noise.start=0"]);
    let run = |limit: Option<u64>| {
        let options = Options { limit: limit.map(Cycles), ..Options::default() };
        let mut simulation = Simulation::new(&chip, &options).unwrap();
        simulation.application(later("thrice", Runs::Times(3), 400_000), || Simulated::work(Cycles(100_000))).unwrap();
        simulation
            .application(later("behind", Runs::Background, 9_000_000), || Simulated::work(Cycles(1_000)))
            .unwrap();
        simulation.run().unwrap()
    };
    let outcome = run(None);
    let [thrice, behind] = &outcome.apps[..] else { panic!("{:?}", outcome.apps) };
    assert_eq!((thrice.runs.len(), thrice.counts.restarts, behind.counts.forks), (3, 2, 0));
    assert!(outcome.finished && (700_000..900_000).contains(&outcome.cycles.0), "{}", outcome.cycles);
    let cut = run(Some(200_000));
    let names: Vec<_> = cut.apps.iter().map(|app| (app.name.as_str(), app.counts.forks)).collect();
    assert_eq!((cut.finished, names), (false, vec![("thrice", 0), ("behind", 0)]));
}

/// Core 1 is switched off while no thread lives. An application that can run nowhere when its time
/// comes is refused then, and the run does not wait for it.
#[test]
fn what_keeps_an_application_from_coming_is_said() {
    let chip = common::cores(2, &[]);
    let mut simulation = simulation(&chip);
    let main = Spawn { name: "pinned".into(), affinity: vec![CoreId(1)], ..Spawn::default() };
    let pinned = Application { main, ..later("pinned", Runs::Together(2), 2_000_000) };
    simulation.application(pinned, || unreachable!("its core is off")).unwrap();
    simulation.application(named("short", Runs::Times(1)), || Simulated::work(Cycles(1_000))).unwrap();
    simulation.set_online(Cycles(1_000_000), CoreId(1), false).unwrap();
    let outcome = simulation.run().unwrap();
    let [(at, refused)] = &outcome.refused[..] else { panic!("{:?}", outcome.refused) };
    let says = "thread `pinned` may run only on cores [1], which are off: switched off while the chip ran";
    assert_eq!((at.0, refused.to_string().as_str()), (2_000_000, says));
    assert!(outcome.finished);
}

/// Threads that wait are not stuck while an application that may wake them is still to begin, with
/// timers as well as without.
#[test]
fn who_waits_for_one_that_comes_is_not_stuck() {
    for settings in [&[][..], &["os.tick=50000", "os.tick_cost=10"], &["os.scheduler=pa", "os.time_slice=20000"]] {
        let chip = common::cores(2, settings);
        let mut simulation = simulation(&chip);
        let flag = common::cell(&mut simulation, 0u32);
        let waiter = flag.clone();
        let wait = move || _ = Simulated::wait_while(&waiter.0, 0, Wait::Pause, None);
        simulation.application(named("waiter", Runs::Times(1)), wait).unwrap();
        let wakes = move || flag.0.store(1, Ordering::Release);
        simulation.application(later("waker", Runs::Times(1), 30_000_000), wakes).unwrap();
        let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{settings:?}: {stuck}"));
        assert!(outcome.finished && outcome.cycles.0 >= 30_000_000);
    }
}

/// Eight applications arrive at times that the seed draws, and run once each. The same seed gives
/// the same figures, and another seed other figures.
#[test]
fn the_same_seed_gives_the_same_history() {
    let chip = common::cores(4, &["os.scheduler=pa", "os.time_slice=50000"]);
    let run = |seed: u64| {
        let mut simulation = Simulation::new(&chip, &Options { seed, ..Options::default() }).unwrap();
        for (number, start) in baton_chip::arrivals(seed, 0, Cycles(300_000), 8).into_iter().enumerate() {
            let application = later(&format!("job {number}"), Runs::Times(1), start.0);
            simulation.application(application, team(3, 400_000)).unwrap();
        }
        simulation.run().unwrap()
    };
    let [once, again, other] = [1, 1, 2].map(run);
    assert_eq!(once.apps, again.apps);
    assert_ne!(once.apps, other.apps);
    assert!(once.apps.iter().all(|app| app.runs.len() == 1));
    assert!(once.apps.iter().any(|app| app.start.0 > 400_000));
}

#[test]
fn the_count_of_runnable_threads_is_right() {
    let chip = common::cores(4, &[]);
    let mut simulation = simulation(&chip);
    simulation
        .application(named("app", Runs::Times(1)), || {
            assert_eq!(act::runnable(), 1);
            let work = || act::spawn(Spawn::default(), || Simulated::work(Cycles(2_000_000)));
            let sleeper = act::spawn(Spawn::default(), || act::delay(Cycles(10_000_000)));
            let workers = [work(), work()];
            Simulated::work(Cycles(1_000_000));
            assert_eq!(act::runnable(), 3, "the sleeper does not count");
            workers.into_iter().for_each(act::join);
            assert_eq!(act::runnable(), 1);
            act::join(sleeper);
        })
        .unwrap();
    simulation.run().unwrap();
}

fn off(settings: &[&str]) -> Chip {
    let text = include_str!("../../../../chips/sample-host.toml")
        .replace("thread_create = 40_000\n", "thread_create = 40_000\noff = \"1 2\"\n");
    let mut all = vec!["core.count=4".to_owned(), "core.per_cluster=4".into()];
    all.extend(settings.iter().map(|&setting| setting.to_owned()));
    Chip::from_toml_with(&text, "my.toml", &all).unwrap()
}

#[test]
fn a_core_that_is_off_runs_nothing_and_affinity_to_it_is_refused() {
    let chip = off(&[]);
    let mut simulation = simulation(&chip);
    let line = chip.to_toml().lines().count();
    assert!(line > 10);
    for _ in 0..6 {
        simulation.spawn(Spawn::default(), || assert!([0, 3].contains(&act::core().0))).unwrap();
    }
    let pinned = |cores: Vec<CoreId>| Spawn { name: "pinned".into(), affinity: cores, ..Spawn::default() };
    simulation.spawn(pinned(vec![CoreId(1), CoreId(3)]), || assert_eq!(act::core(), CoreId(3))).unwrap();
    let refused = simulation.spawn(pinned(vec![CoreId(1), CoreId(2)]), || {}).unwrap_err().to_string();
    let says = "thread `pinned` may run only on cores [1, 2], which are off: my.toml:51: key `os.off` is 1 2; expected one \
                of them to be on";
    assert_eq!(refused, says);
    let outcome = simulation.run().unwrap();
    for cpu in &outcome.cpus {
        let is_off = [1, 2].contains(&cpu.cpu.0);
        assert_eq!(cpu.time("off"), if is_off { outcome.cycles } else { Cycles(0) });
    }
    let all_off = Options { cpus: Some(2), ..Options::default() };
    let refused = Simulation::new(&off(&["os.off=0 1"]), &all_off).err().unwrap().to_string();
    assert_eq!(refused, "all of the 2 CPUs in use are off: --set: key `os.off` is 0 1; expected one of them to be on");
}

#[test]
fn switching_off_the_last_core_of_a_thread_is_refused() {
    let chip = common::cores(2, &[]);
    let mut simulation = simulation(&chip);
    let pinned = Spawn { name: "pinned".into(), affinity: vec![CoreId(1)], ..Spawn::default() };
    simulation.spawn(pinned, || Simulated::work(Cycles(1_000_000))).unwrap();
    simulation
        .spawn(Spawn::default(), || {
            let refused = act::set_online(CoreId(1), false).unwrap_err();
            let says = "thread `pinned` may run only on cores [1], which are off: switched off while the chip ran";
            assert_eq!(refused.to_string(), says);
            act::set_online(CoreId(0), false).unwrap();
            act::set_online(CoreId(0), true).unwrap();
            assert!(matches!(act::set_online(CoreId(7), false), Err(Refused::Cores { .. })));
            assert!(matches!(
                act::set_affinity(act::this().unwrap(), &[], &[CpuId(7)]),
                Err(Refused::Affinity { has: 2, .. })
            ));
        })
        .unwrap();
    simulation.run().unwrap();
}

#[test]
fn keys_that_do_not_fit_are_refused() {
    let set = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
        let sample = include_str!("../../../../chips/sample-host.toml");
        Chip::from_toml_with(sample, "x.toml", &settings).unwrap_err().to_string()
    };
    for (settings, says) in [
        (
            &["os.scheduler=fairest"][..],
            "--set: key `os.scheduler` is the text \"fairest\"; expected \"fair\" or \"sticky\" or",
        ),
        (&["os.off=1 x"], "expected the cores as in \"1 4-7\""),
        (&["os.off=0-1"], "key `os.off` is 0 1; expected fewer cores than core.count, 2: one must be on"),
        (&["os.off=5"], "key `os.off` is 5; expected cores from 0 to 1 (core.count)"),
        (&["os.idle_states=5:x"], "expected states as in"),
        (&["os.wake_spread=50:1000 10:500"], "expected percentiles as in"),
        (&["os.idle_states=10:40"], "key `os.idle_states` is 10:40; expected states that begin after os.idle_poll"),
        (&["os.tick=100", "os.tick_cost=100"], "key `os.tick_cost` is 100; expected less than os.tick, 100"),
        (&["os.ipi=packet"], "key `os.ipi` says nothing on a chip of `memory.model = \"fixed\"`"),
        (&["os.time_slice=0"], "key `os.time_slice` is 0; expected at least 1"),
        (&["os.kernel_lines=65"], "expected a whole number from 0 to 64"),
    ] {
        let error = set(settings);
        assert!(error.contains(says), "{settings:?}: {error}");
    }
}

/// An act of a thread by which it disturbs the others.
#[derive(Clone, Debug)]
enum Act {
    Off(u32),
    On(u32),
    Move(usize, u32),
    Pause(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        (0u32..4).prop_map(Act::Off),
        (0u32..4).prop_map(Act::On),
        (any::<usize>(), 0u32..16).prop_map(|(thread, set)| Act::Move(thread, set)),
        (1u64..200_000).prop_map(Act::Pause),
    ];
    prop::collection::vec(act, 0..40)
}

proptest! {
    #![proptest_config(baton_needs::property!(96))]
    /// Computations that are preempted, moved, interrupted and driven off their cores take exactly
    /// their cycles, under each of four policies; and every cycle of every thread and CPU has a
    /// reason.
    #[test]
    fn nobody_loses_a_cycle_of_work(
        works in prop::collection::vec((1u64..400_000, 0u64..60_000, 1u64..12), 1..9),
        acts in acts(),
        slice in 500u64..60_000,
        tick in prop_oneof![Just(0u64), 5_000u64..50_000],
        policy in prop_oneof![Just("fair"), Just("sticky"), Just("eevdf"), Just("eevdf-guest")],
        balance in prop_oneof![Just(0u64), 20_000u64..200_000],
        lines in prop_oneof![Just(0u32), 1u32..5],
    ) {
        let settings = [
            format!("os.time_slice={slice}"),
            format!("os.scheduler={policy}"),
            format!("os.balance_interval={balance}"),
            format!("os.tick={tick}"),
            format!("os.interrupt_lines={lines}"),
            format!("os.queue_lines={}", lines / 2),
            "os.tick_cost=321".into(),
            "os.interrupt=99".into(),
            "os.migrate=1234".into(),
            "os.wakeup_granularity=1000".into(),
            "os.syscall=50".into(),
        ];
        let chip = common::cores(4, &settings.iter().map(String::as_str).collect::<Vec<_>>());
        let mut simulation = Simulation::new(&chip, &Options::default()).unwrap();
        let mut guests = Vec::new();
        for &(work, pause, turns) in &works {
            let body = move || for _ in 0..turns {
                Simulated::work(Cycles(work));
                act::delay(Cycles(pause));
            };
            guests.push(simulation.spawn(Spawn::default(), body).unwrap());
        }
        simulation.spawn(Spawn::default(), move || {
            for act in &acts {
                // An act that is not possible is refused, and changes nothing.
                let _ = match *act {
                    Act::Off(core) => act::set_online(CoreId(core), false),
                    Act::On(core) => act::set_online(CoreId(core), true),
                    Act::Move(thread, set) => {
                        let cpus: Vec<CpuId> = (0..4).filter(|cpu| set >> cpu & 1 == 1).map(CpuId).collect();
                        act::set_affinity(guests[thread % guests.len()], &[], &cpus)
                    }
                    Act::Pause(cycles) => {
                        act::delay(Cycles(cycles));
                        Ok(())
                    }
                };
            }
        }).unwrap();
        let outcome = simulation.run().unwrap();
        for (thread, &(work, pause, turns)) in outcome.threads.iter().zip(&works) {
            prop_assert_eq!(thread.time(Reason::Work), Cycles(work * turns));
            prop_assert!(thread.time(Reason::Asleep) >= Cycles(pause * turns));
            let sum: u64 = thread.times.iter().map(|(_, cycles)| cycles.0).sum();
            prop_assert_eq!(sum, (thread.ended - thread.born).0);
        }
        for cpu in &outcome.cpus {
            let sum: u64 = cpu.times.iter().map(|(_, time)| time.0).sum();
            prop_assert_eq!(sum, outcome.cycles.0);
        }
        let busy: u64 = outcome.cpus.iter().map(|cpu| cpu.time("busy").0).sum();
        let on_cpu: u64 = outcome.apps.iter().map(|app| app.times.on_cpu).sum();
        prop_assert_eq!(busy, on_cpu);
    }
}
