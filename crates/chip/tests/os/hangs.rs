//! A run that hangs is reported, whatever timers go on meanwhile: ticks, time slices, or none.

use crate::common;
use crate::common::{cell, simulation};
use baton_chip::{Chip, Options, Simulated, Simulation, Spawn, Stuck, act};
use baton_machine::{Atomic, Deadline, Machine, Ordering::*, Wait, WaitResult, units::Cycles};

const RESTS: [&str; 5] = [
    "wait.umwait.enter=31",
    "wait.umwait.exit=61",
    "wait.halt.enter=900",
    "wait.halt.send=1500",
    "wait.halt.exit=3100",
];

fn chip(settings: &[&str]) -> Chip {
    let all: Vec<&str> = RESTS.iter().chain(settings).copied().collect();
    common::cores(2, &all)
}

/// Runs threads that wait for a store that never comes, and one thread that has nothing to do with
/// them.
fn never(chip: &Chip, wait: Wait, threads: u32) -> Result<(), Stuck> {
    // Without a limit, a run whose hang is not noticed would never end.
    let options = Options { limit: Some(Cycles(50_000_000)), ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).unwrap();
    let (mine, other) = (cell(&mut simulation, 0u32), cell(&mut simulation, 0u32));
    for _ in 0..threads {
        let mine = mine.clone();
        simulation.spawn(Spawn::default(), move || _ = Simulated::wait_while(&mine.0, 0, wait, None)).unwrap();
    }
    // One thread comes late, stores to another cell and ends.
    let late = Spawn { after: Cycles(2_000_000), ..Spawn::default() };
    simulation.spawn(late, move || other.0.store(1, Release)).unwrap();
    simulation.run().map(|outcome| assert!(!outcome.finished))
}

/// Settings of timers: the policy's own alone, which run where threads share a CPU; ticks at a
/// price; ticks without a price.
const TIMERS: [&[&str]; 3] = [
    &["os.time_slice=100000"],
    &["os.tick=100000", "os.tick_cost=500", "os.time_slice=100000"],
    &["os.tick=30000", "os.time_slice=100000"],
];

#[test]
fn a_hang_is_reported_under_all_timers() {
    for timers in TIMERS {
        for wait in [Wait::Spin, Wait::Pause, Wait::Umwait, Wait::Halt, Wait::Futex, Wait::SpinPark(10_000)] {
            for threads in [1, 2, 5] {
                for policy in ["fair", "sticky", "eevdf"] {
                    let policy = format!("os.scheduler={policy}");
                    let settings: Vec<&str> = timers.iter().copied().chain([policy.as_str()]).collect();
                    let says = format!("{threads} by {wait} under {settings:?}");
                    let stuck = never(&chip(&settings), wait, threads).expect_err(&says);
                    let what = format!("{says}: {stuck}");
                    assert_eq!(stuck.waiting.len(), threads as usize, "{what}");
                    assert!((2_000_000..12_000_000).contains(&stuck.at.0), "{what}");
                    assert!(what.contains("on the cell at") && what.contains("written by no thread"), "{what}");
                }
            }
        }
    }
}

#[test]
fn a_wait_that_ends_is_no_hang() {
    for timers in TIMERS {
        for wait in [Wait::Spin, Wait::Umwait, Wait::Halt, Wait::SpinPark(10_000)] {
            let chip = chip(timers);
            let mut simulation = simulation(&chip);
            let (first, second) = (cell(&mut simulation, 0u32), cell(&mut simulation, 0u32));
            for _ in 0..3 {
                let first = first.clone();
                simulation.spawn(Spawn::default(), move || _ = Simulated::wait_while(&first.0, 0, wait, None)).unwrap();
            }
            // The other threads wait for the first cell. This one waits for the second cell up to
            // its deadline, then sleeps, then ends all waits.
            let clock = chip.core.clock;
            simulation
                .spawn(Spawn::default(), move || {
                    let deadline = Deadline { at: clock.nanos(Cycles(5_000_000)), clock: Default::default() };
                    assert_eq!(Simulated::wait_while(&second.0, 0, wait, Some(deadline)), WaitResult::Expired);
                    act::delay(Cycles(5_000_000));
                    first.0.store(1, Release);
                    Simulated::fence(SeqCst);
                    Simulated::wake::<u32>(&first.0, 3, wait);
                })
                .unwrap();
            let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{wait} under {timers:?}: {stuck}"));
            assert!(outcome.finished && outcome.cycles.0 > 10_000_000, "{wait}: {}", outcome.cycles);
        }
    }
}

#[test]
fn a_signal_that_is_blocked_stands_in_the_report_and_one_that_helps_is_no_hang() {
    use baton_chip::act::{Action, Signal, SignalSet};
    let run = |timers: &[&str], wait, blocks: bool, helps: bool| {
        let mut simulation = simulation(&chip(timers));
        let (word, of_handler) = {
            let word = cell(&mut simulation, 0u32);
            (word.clone(), word)
        };
        let body = move || {
            let handler = move |_| {
                if !helps {
                    return;
                }
                of_handler.0.store(1, Release);
                Simulated::wake(&raw const of_handler.0, u32::MAX, wait);
            };
            act::on_signal(Signal::USR1, Action::handle(handler)).unwrap();
            if blocks {
                act::block_signals(SignalSet::of(&[Signal::USR1]));
            }
            let other = word.clone();
            let threads = [word, other]
                .map(|word| act::spawn(Spawn::default(), move || _ = Simulated::wait_while(&word.0, 0, wait, None)));
            // The sleep is far longer than a hang would need to be noticed, but while it lasts the
            // run does not hang.
            act::delay(Cycles(3_000_000));
            act::signal(threads[0], Signal::USR1);
            threads.into_iter().for_each(act::join);
        };
        simulation.spawn(Spawn::default(), body).unwrap();
        simulation.run().map(|outcome| assert!(outcome.finished))
    };
    for timers in TIMERS {
        for wait in [Wait::Pause, Wait::Umwait, Wait::Halt, Wait::Futex] {
            run(timers, wait, false, true).unwrap_or_else(|stuck| panic!("{wait} under {timers:?}: {stuck}"));
            // A handler that stores nothing leaves the waits as they were, so the run hangs.
            let stuck = run(timers, wait, false, false).map(|_| ()).expect_err("no thread stores");
            assert_eq!(stuck.to_string().matches("on the cell at").count(), 2, "{wait}: {stuck}");
            assert!(stuck.waiting.iter().all(|waiting| waiting.blocked.is_empty()), "{stuck}");
            let stuck = run(timers, wait, true, true).expect_err("no thread stores");
            assert_eq!(stuck.waiting.len(), 3);
            let says: Vec<_> = stuck.waiting.iter().map(|waiting| waiting.blocked.len()).collect();
            assert_eq!(says, [0, 1, 0], "{stuck}");
            assert!(stuck.to_string().contains("signal 10 has come, which it blocks"), "{stuck}");
            assert!(stuck.to_string().matches("on the cell at").count() == 2, "{stuck}");
        }
    }
}
