//! Signals that are blocked, handlers within handlers, and applications that end by signals.

use super::signals::{chip, on, stacks_sum};
use crate::common::{cell, simulation};
use baton_chip::act::{Action, Signal, SignalSet};
use baton_chip::{Application, Options, Refused, Runs, Simulated, Simulation, Spawn, act};
use baton_machine::{Machine, Wait, units::Cycles};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

type Log = Rc<RefCell<Vec<String>>>;

fn say(log: &Log, what: impl Into<String>) {
    log.borrow_mut().push(what.into());
}

/// A handler that logs when it begins and when it ends, and calls `does` between.
fn says(log: &Log, does: impl Fn() + 'static) -> impl Fn(Signal) + 'static {
    let log = log.clone();
    move |signal| {
        say(&log, format!("{} in", signal.number()));
        does();
        say(&log, format!("{} out", signal.number()));
    }
}

/// Runs one thread. Returns what it logged.
fn alone(body: impl FnOnce(&Log) + 'static) -> Vec<String> {
    let log = Log::default();
    let its = log.clone();
    let mut simulation = simulation(&chip(2, &[]));
    simulation.spawn(on(0), move || body(&its)).unwrap();
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    assert!(outcome.finished);
    stacks_sum(&outcome);
    log.take()
}

fn me() -> act::Guest {
    act::this().expect("a guest")
}

#[test]
fn blocked_ones_wait_and_two_of_a_number_are_one() {
    let said = alone(|log| {
        for signal in [Signal::USR1, Signal::USR2, Signal::TERM] {
            act::on_signal(signal, Action::handle(says(log, || {}))).unwrap();
        }
        let both = SignalSet::of(&[Signal::USR1, Signal::USR2]);
        assert_eq!(act::block_signals(both), SignalSet::NONE);
        for signal in [Signal::USR2, Signal::USR1, Signal::USR1, Signal::TERM, Signal::USR2] {
            assert!(act::signal(me(), signal));
        }
        say(log, "sent");
        assert_eq!(act::pending_signals(), both);
        // A new thread blocks the signals that its creator blocks, but has none of its creator's
        // pending signals.
        let its = log.clone();
        act::join(act::spawn(on(1), move || {
            assert_eq!(act::pending_signals(), SignalSet::NONE);
            assert_eq!(act::block_signals(SignalSet::NONE), both);
            say(&its, "child");
        }));
        assert_eq!(act::block_signals(SignalSet::of(&[Signal::USR2])), both);
        say(log, "unblocked");
        assert_eq!(act::block_signals(SignalSet::NONE), SignalSet::of(&[Signal::USR2]));
        say(log, "all");
        assert_eq!(act::pending_signals(), SignalSet::NONE);
    });
    let right = ["15 in", "15 out", "sent", "child", "10 in", "10 out", "unblocked", "12 in", "12 out", "all"];
    assert_eq!(said, right);
}

#[test]
fn a_handler_blocks_its_own_number_and_what_it_is_to() {
    for (blocks, right) in [
        (SignalSet::NONE, ["10 in", "12 in", "12 out", "10 out", "10 in", "12 in", "12 out", "10 out"]),
        (SignalSet::of(&[Signal::USR2]), ["10 in", "10 out", "10 in", "10 out", "12 in", "12 out", "", ""]),
    ] {
        let said = alone(move |log| {
            act::on_signal(Signal::USR2, Action::handle(says(log, || Simulated::work(Cycles(100))))).unwrap();
            let again = Rc::new(Cell::new(true));
            let handler = says(log, move || {
                if again.take() {
                    act::signal(me(), Signal::USR1);
                }
                act::signal(me(), Signal::USR2);
                // The signals that a handler blocks are unblocked again when the handler is over.
                act::block_signals(act::block_signals(SignalSet::ALL).with(Signal::TERM));
            });
            act::on_signal(Signal::USR1, Action::Handle(Rc::new(handler), blocks)).unwrap();
            act::signal(me(), Signal::USR1);
            assert_eq!(act::block_signals(SignalSet::NONE), SignalSet::NONE);
        });
        assert_eq!(said, right.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>());
    }
}

#[test]
fn handlers_nest_in_each_others_waits() {
    let log = Log::default();
    let mut simulation = simulation(&chip(3, &[]));
    let word = cell(&mut simulation, 0u32);
    let its = log.clone();
    let body = move || {
        let (first, second) = (word.clone(), word.clone());
        let wait = |word: &super::signals::Word, value| _ = Simulated::wait_while(&word.0, value, Wait::Futex, None);
        act::on_signal(Signal::USR1, Action::handle(says(&its, move || wait(&first, 0)))).unwrap();
        act::on_signal(Signal::USR2, Action::handle(says(&its, move || wait(&second, 0)))).unwrap();
        let (third, log) = (word.clone(), its.clone());
        let thread = act::spawn(on(1), move || {
            wait(&third, 0);
            say(&log, "through");
        });
        for signal in [Signal::USR1, Signal::USR2] {
            act::delay(Cycles(100_000));
            act::signal(thread, signal);
        }
        act::delay(Cycles(100_000));
        baton_machine::Atomic::store(&word.0, 1, baton_machine::Ordering::Release);
        Simulated::wake(&raw const word.0, u32::MAX, Wait::Futex);
        act::join(thread);
    };
    simulation.spawn(on(0), body).unwrap();
    assert!(simulation.run().unwrap_or_else(|stuck| panic!("{stuck}")).finished);
    assert_eq!(*log.borrow(), ["10 in", "12 in", "12 out", "10 out", "through"]);
}

#[test]
fn some_are_ignored_and_disturb_nothing() {
    let run = |sends: Option<(Signal, Option<Action>)>| {
        let mut simulation = simulation(&chip(2, &[]));
        let body = move || {
            let thread = act::spawn(on(1), || Simulated::work(Cycles(100_000)));
            let signal = sends.as_ref().map_or(Signal::URG, |(signal, _)| *signal);
            act::on_signal(signal, sends.and_then(|(_, action)| action).unwrap_or_default()).unwrap();
            Simulated::work(Cycles(10_000));
            act::signal(thread, signal);
            act::join(thread);
        };
        simulation.spawn(on(0), body).unwrap();
        simulation.run().unwrap()
    };
    let quiet = run(None);
    assert!(quiet.deaths.is_empty());
    for sends in [(Signal::CHLD, None), (Signal::WINCH, None), (Signal::TERM, Some(Action::Ignore))] {
        assert_eq!(run(Some(sends)), quiet);
    }
    assert_eq!(run(Some((Signal::TERM, None))).deaths.len(), 1, "which is no matter of course");
}

#[test]
fn which_numbers_are_signals() {
    let signals: Vec<u32> = (0..70).filter(|&number| Signal::new(number).is_ok()).collect();
    assert_eq!(signals, (1..=18).chain(23..=31).collect::<Vec<_>>());
    let refused = Signal::new(19).unwrap_err().to_string();
    assert!(refused.contains("signal 19") && refused.contains("1 to 31"), "{refused}");
    alone(|_| {
        assert_eq!(act::on_signal(Signal::KILL, Action::Ignore).unwrap_err(), Refused::Kill);
        act::block_signals(SignalSet::ALL);
        assert!(!act::block_signals(SignalSet::NONE).has(Signal::KILL));
    });
}

/// Runs an application of threads that sleep, spin, compute and wait for a CPU. The thread that
/// computes gets the signal; if `blocks`, it blocks all signals for its first 300,000 cycles.
/// Another application runs beside it and must go on. Returns the cycles from the signal to the end
/// of the first application's last thread.
fn ended_by(signal: Signal, blocks: bool) -> u64 {
    let options = Options { limit: Some(Cycles(20_000_000)), ..Options::default() };
    let mut simulation = Simulation::new(&chip(4, &[]), &options).unwrap();
    let word = cell(&mut simulation, 0u32);
    let sent = Rc::new(Cell::new(0));
    let (at, victim) = (sent.clone(), Rc::new(Cell::new(None)));
    let its = victim.clone();
    let main = move || {
        let (sleeps, spins) = (word.clone(), word.clone());
        let wait = |word: &super::signals::Word, wait| _ = Simulated::wait_while(&word.0, 0, wait, None);
        act::spawn(on(1), move || wait(&sleeps, Wait::Futex));
        act::spawn(on(2), move || wait(&spins, Wait::Pause));
        let third = move || {
            if blocks {
                act::block_signals(SignalSet::ALL);
                Simulated::work(Cycles(300_000));
                act::block_signals(SignalSet::NONE);
            }
            Simulated::work(Cycles(1 << 40));
        };
        its.set(Some(act::spawn(on(3), third)));
        act::spawn(on(3), || Simulated::work(Cycles(1 << 40)));
        act::delay(Cycles(1 << 40));
    };
    let app = Application { name: "victim".into(), start: Cycles(0), runs: Runs::Times(1), main: on(1) };
    simulation.application(app, main).unwrap();
    let other = move || {
        Simulated::work(Cycles(200_000));
        assert!(act::signal(victim.get().expect("it was started"), signal));
        at.set(act::time().0);
        Simulated::work(Cycles(1_000_000));
    };
    simulation.spawn(on(0), other).unwrap();
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    assert!(outcome.finished);
    stacks_sum(&outcome);
    let [death] = &outcome.deaths[..] else { panic!("{:?}", outcome.deaths) };
    assert_eq!((death.app.as_str(), death.signal), ("victim", signal));
    let victims: Vec<_> = outcome.threads.iter().filter(|thread| thread.ended.0 - sent.get() < 900_000).collect();
    assert_eq!(victims.len(), 5, "all of its threads, and not the other's");
    victims.iter().map(|thread| thread.ended.0 - sent.get()).max().unwrap_or_default()
}

#[test]
fn a_signal_without_a_handler_ends_its_application() {
    for signal in [Signal::TERM, Signal::KILL, Signal::USR1] {
        let took = ended_by(signal, false);
        assert!(took < 60_000, "{took}");
    }
    assert!(ended_by(Signal::KILL, true) < 60_000, "it cannot be blocked");
    let took = ended_by(Signal::TERM, true);
    assert!((300_000..700_000).contains(&took), "it waits until it is unblocked: {took}");
}

#[test]
fn an_application_that_begins_anew_has_its_default_actions() {
    let log = Log::default();
    let its = log.clone();
    let mut simulation = simulation(&chip(2, &[]));
    let main = move || {
        let first = its.borrow().is_empty();
        say(&its, "begins");
        if first {
            act::on_signal(Signal::TERM, Action::handle(says(&its, || {}))).unwrap();
        }
        act::signal(me(), Signal::TERM);
        say(&its, "ends");
    };
    let app = Application { name: "again".into(), start: Cycles(0), runs: Runs::Times(2), main: Spawn::default() };
    simulation.application(app, main).unwrap();
    let outcome = simulation.run().unwrap();
    assert_eq!(*log.borrow(), ["begins", "15 in", "15 out", "ends", "begins"]);
    assert_eq!((outcome.deaths.len(), outcome.apps[0].runs.len()), (1, 2));
}
