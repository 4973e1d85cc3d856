//! Signals: whatever a thread does is interrupted, the thread runs the handler as guest code, and
//! then goes on with what it did.

use crate::common;
use crate::common::{cell, simulation};
use baton_chip::act::{Action, Signal, SignalSet};
use baton_chip::{Chip, Options, Outcome, Reason, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Deadline, Machine, Ordering::*, Wait, WaitResult, units::Cycles};
use baton_units::CoreId;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

pub(super) type Word = common::Shared<common::Alone<u32>>;

/// The price of an interrupt. No two sums of this price and those of the ways into a handler and
/// out of it are alike.
const INTERRUPT: u64 = 130;
const DELIVER: u64 = 700;
const RETURN: u64 = 300;

const PRICES: [&str; 19] = [
    "core.clock_hz=1000000000",
    "os.syscall=500",
    "os.interrupt=130",
    "os.signal_deliver=700",
    "os.signal_return=300",
    "os.time_slice=100000",
    "os.thread_create=100",
    "os.wake_idle=5000",
    "os.wake_polling=5000",
    "wait.monitor=13",
    "wait.umwait.enter=31",
    "wait.umwait.exit=61",
    "wait.mwait.c1.enter=50",
    "wait.mwait.c1.exit=333",
    "wait.mwmon.call=700",
    "wait.mwmon.return=450",
    "wait.halt.enter=900",
    "wait.halt.send=1500",
    "wait.halt.exit=3100",
];

/// A chip of fixed latencies, on which a nanosecond is a cycle.
pub(super) fn chip(cores: u32, settings: &[&str]) -> Chip {
    common::cores(cores, &[&PRICES[..], settings].concat())
}

/// A chip of coherent caches with these prices, on which interrupts are packets.
fn packets(cores: u32, settings: &[&str]) -> Chip {
    let own = ["noise.start=0", "os.ipi=packet", "os.scheduler=fair"];
    let all: Vec<String> = own.iter().chain(&PRICES[1..]).chain(settings).map(|s| (*s).to_owned()).collect();
    Chip::from_toml_at(include_str!("../../../../chips/ocor64.toml"), "ocor64", Some(cores), &all).unwrap()
}

pub(super) fn on(core: u32) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }
}

pub(super) fn stacks_sum(outcome: &Outcome) {
    for thread in &outcome.threads {
        let sum: u64 = thread.cycle_stack(outcome.cycles).iter().map(|(_, cycles)| cycles.0).sum();
        assert_eq!(sum, outcome.cycles.0, "{thread:?}");
    }
}

/// The result of a run in which thread 1, on core 1, did something from the moment 500,000 on.
struct Ran {
    /// For each handler, when it began, counted from its signal, and how long it took.
    handled: Vec<(u64, u64)>,
    /// When thread 1 had done its part, counted from 500,000.
    through: u64,
    outcome: Outcome,
}

/// Thread 1 does `does` from 500,000 on. Thread 0, on core 0, sends it a signal at each of
/// `moments` after that; the handler computes for 1,000 cycles. At 800,000 thread 0 changes the
/// word and wakes its waiters by `wait`.
fn signalled(chip: &Chip, moments: &[u64], wait: Wait, does: impl FnOnce(&Word) + 'static) -> Ran {
    let options = Options { limit: Some(Cycles(20_000_000)), ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).unwrap();
    let word: Word = cell(&mut simulation, 0u32);
    let (sent, handled, through) = <(Rc<Cell<u64>>, Rc<RefCell<Vec<(u64, u64)>>>, Rc<Cell<u64>>)>::default();
    let (of_sender, of_handler, of_thread) = (sent.clone(), handled.clone(), through.clone());
    let moments = moments.to_vec();
    let sender = move || {
        let handler = move |signal| {
            assert_eq!((signal, act::this().unwrap().number()), (Signal::USR1, 1));
            let began = act::time().0;
            Simulated::work(Cycles(1_000));
            of_handler.borrow_mut().push((began - of_sender.get(), act::time().0 - began));
        };
        act::on_signal(Signal::USR1, Action::handle(handler)).unwrap();
        let its = word.clone();
        let thread = act::spawn(on(1), move || {
            Simulated::work(Cycles(500_000 - act::time().0));
            does(&its);
            of_thread.set(act::time().0 - 500_000);
        });
        for moment in moments {
            Simulated::work(Cycles(500_000 + moment - 500 - act::time().0));
            sent.set(500_000 + moment);
            assert!(act::signal(thread, Signal::USR1));
            assert_eq!(act::time().0, 500_000 + moment, "a system call");
        }
        Simulated::work(Cycles(800_000 - act::time().0));
        word.0.store(1, Release);
        Simulated::wake(&raw const word.0, u32::MAX, wait);
        act::join(thread);
    };
    simulation.spawn(on(0), sender).unwrap();
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    assert!(outcome.finished);
    stacks_sum(&outcome);
    let handled = handled.borrow().clone();
    Ran { handled, through: through.get(), outcome }
}

#[test]
fn a_computation_does_its_rest_exactly() {
    let each = INTERRUPT + DELIVER + 1_000 + RETURN;
    for chip in [chip(2, &[]), chip(2, &["os.interrupt_lines=1"])] {
        // The lines that the interrupt's handler touches take time, too.
        let lines = if chip.os.lines.interrupt != 0 { 1..400 } else { 0..1 };
        for moments in [&[1][..], &[4_567], &[9_999], &[100, 4_000, 9_000]] {
            let ran = signalled(&chip, moments, Wait::Pause, |_| Simulated::work(Cycles(10_000)));
            let n = moments.len() as u64;
            assert_eq!(ran.handled.len() as u64, n);
            for &(began, took) in &ran.handled {
                assert!(lines.contains(&(began - INTERRUPT - DELIVER)) && took == 1_000, "{:?}", ran.handled);
            }
            let over = ran.through - 10_000 - n * each;
            assert!(over >= n * lines.start && over < n * lines.end, "{moments:?}: {over} too long");
            let thread = &ran.outcome.threads[1];
            assert_eq!(thread.time(Reason::Work).0, 500_000 - thread.born.0 - started(thread) + 10_000 + n * 1_000);
        }
    }
}

/// How long a thread took from its birth to its first instruction.
fn started(thread: &baton_chip::ThreadFigures) -> u64 {
    [Reason::Ready, Reason::Waking, Reason::Switch, Reason::Asleep].map(|reason| thread.time(reason).0).iter().sum()
}

#[test]
fn the_handler_is_not_early_and_one_that_comes_behind_the_end_changes_nothing_before() {
    let at = |moment| {
        let first = Rc::new(Cell::new(0));
        let its = first.clone();
        let ran = signalled(&chip(2, &[]), &[moment], Wait::Pause, move |_| {
            Simulated::work(Cycles(10_000));
            its.set(act::time().0 - 500_000);
            Simulated::work(Cycles(10_000));
        });
        (first.get(), ran.through)
    };
    let each = INTERRUPT + DELIVER + 1_000 + RETURN;
    assert_eq!(at(9_999), (10_000 + each, 20_000 + each));
    assert_eq!(at(10_001), (10_000, 20_000 + each));
}

#[test]
fn whatever_it_waits_for_is_interrupted_and_goes_on() {
    type Does = (&'static str, Wait, fn(&Word), std::ops::RangeInclusive<u64>);
    const LONG: Option<Deadline> = None;
    fn wait(word: &Word, wait: Wait) {
        assert_eq!(Simulated::wait_while(&word.0, 0, wait, LONG), WaitResult::Changed(1));
        assert!(act::time().0 >= 800_000);
    }
    // What thread 1 does, by which policy it is woken, and how much later than INTERRUPT and
    // DELIVER its handler may begin: by the end of a try, of an idle wait, or of a sleep.
    const DOES: [Does; 11] = [
        ("spins", Wait::Spin, |word| wait(word, Wait::Spin), 0..=20),
        ("pauses", Wait::Pause, |word| wait(word, Wait::Pause), 0..=20),
        ("rests", Wait::Umwait, |word| wait(word, Wait::Umwait), 61..=61),
        ("rests at depth 1", Wait::Mwait(1), |word| wait(word, Wait::Mwait(1)), 333..=333),
        ("rests in a call", Wait::Mwmon, |word| wait(word, Wait::Mwmon), 333 + 450..=333 + 450 + 20),
        ("rests, then sleeps", Wait::UmwaitPark(1_000_000), |word| wait(word, Wait::UmwaitPark(1_000_000)), 61..=61),
        ("is halted", Wait::Halt, |word| wait(word, Wait::Halt), 3_100..=3_500),
        ("sleeps on a cell", Wait::Futex, |word| wait(word, Wait::Futex), 0..=60_000),
        ("tries, then sleeps", Wait::SpinPark(50), |word| wait(word, Wait::SpinPark(50)), 0..=60_000),
        ("adapts", Wait::Adaptive(10_000), |word| wait(word, Wait::Adaptive(10_000)), 0..=60_000),
        ("loads", Wait::Pause, |word| while word.0.load(Acquire) == 0 {}, 0..=20),
    ];
    for futex in [&[][..], &["os.futex_home=bucket"]] {
        for (what, by, does, late) in DOES {
            for moments in [&[100_000][..], &[100_003, 151_007]] {
                let quiet = signalled(&chip(2, futex), &[], by, does);
                let ran = signalled(&chip(2, futex), moments, by, does);
                assert_eq!(ran.handled.len(), moments.len(), "{what}");
                for &(began, took) in &ran.handled {
                    let over = (began - DELIVER).saturating_sub(INTERRUPT);
                    let asleep = matches!(by, Wait::Futex | Wait::SpinPark(_) | Wait::Adaptive(_));
                    assert!(asleep || began >= DELIVER + INTERRUPT, "{what}: {began}");
                    assert!(late.contains(&over), "{what}: {over} later than what it costs");
                    assert_eq!(took, 1_000, "{what}");
                }
                // The thread's wait ended with the word's change, as without signals; a try or an
                // idle wait may shift the end.
                assert!(ran.through.abs_diff(quiet.through) < 1_000, "{what}: {} {}", ran.through, quiet.through);
            }
        }
    }
}

#[test]
fn a_wait_for_a_time_keeps_its_time() {
    let clock = chip(2, &[]).core.clock;
    let deadline = move || Some(Deadline { at: clock.nanos(Cycles(600_000)), clock: Default::default() });
    for wait in [Wait::Futex, Wait::Pause, Wait::Umwait, Wait::Halt] {
        for futex in [&[][..], &["os.futex_home=bucket"]] {
            let waits = move |word: &Word| {
                assert_eq!(Simulated::wait_while(&word.0, 0, wait, deadline()), WaitResult::Expired);
            };
            let [quiet, ran] = [&[][..], &[40_000]].map(|moments| signalled(&chip(2, futex), moments, wait, waits));
            assert_eq!(ran.handled.len(), 1);
            assert!(quiet.through >= 100_000 && ran.through.abs_diff(quiet.through) < 50, "{wait}: {}", ran.through);
        }
    }
    let [quiet, ran] = [&[][..], &[40_000]]
        .map(|moments| signalled(&chip(2, &[]), moments, Wait::Pause, |_| act::delay(Cycles(90_000))));
    assert_eq!((ran.handled.len(), ran.through), (1, quiet.through), "a delay ends when it would have");
}

#[test]
fn a_sleep_tells_what_was_left() {
    let left = Rc::new(Cell::new(u64::MAX));
    let [quiet, ran] = [&[][..], &[40_000]].map(|moments| {
        let left = left.clone();
        signalled(&chip(2, &[]), moments, Wait::Pause, move |_| left.set(act::sleep(Cycles(90_000)).0))
    });
    assert_eq!(ran.handled.len(), 1);
    let slept = 90_000 - left.get();
    // The thread fell asleep 500 cycles after 500,000, and had to wake up for the handler.
    assert!((40_000 - 500..60_000).contains(&slept), "{slept}");
    assert_eq!(ran.through, 500 + slept + DELIVER + 1_000 + RETURN, "and it is over then");
    assert!(quiet.through >= 90_500);
}

#[test]
fn a_join_goes_on_until_its_thread_has_ended() {
    let joins = |_: &Word| act::join(act::spawn(on(1), || act::delay(Cycles(200_000))));
    let [quiet, ran] = [&[][..], &[100_000]].map(|moments| signalled(&chip(2, &[]), moments, Wait::Pause, joins));
    assert_eq!(ran.handled.len(), 1);
    assert!(ran.through >= 200_000 && ran.through.abs_diff(quiet.through) < 1_000, "{} {}", ran.through, quiet.through);
}

#[test]
fn an_interrupt_that_is_a_packet_takes_its_way() {
    let through = |chip: &Chip, moment| {
        let ran = signalled(chip, &[moment], Wait::Pause, |_| Simulated::work(Cycles(10_000)));
        (ran.handled[0].0 - INTERRUPT - DELIVER, ran.through - 10_000 - INTERRUPT - DELIVER - 1_000 - RETURN)
    };
    for moment in [1, 3_456] {
        let (way, over) = through(&packets(4, &[]), moment);
        assert!((2..200).contains(&way), "the packet's way: {way}");
        assert_eq!(over, 0, "nothing but the interrupt and the handler takes the thread's time");
        assert_eq!(through(&packets(4, &["os.ipi=price"]), moment), (0, 0));
    }
    // A thread that has lost its CPU when the packet arrives notices the signal all the same.
    for moment in (1..400).step_by(7) {
        let ran = signalled(&packets(4, &["os.time_slice=1000"]), &[moment], Wait::Pause, |_| {
            let beside = act::spawn(on(1), || Simulated::work(Cycles(20_000)));
            Simulated::work(Cycles(10_000));
            act::join(beside);
        });
        assert_eq!(ran.handled.len(), 1);
    }
}

#[test]
fn a_thread_that_shares_its_cpu_computes_exactly_what_it_was_to() {
    // The signal comes at every stage of the thread's time slices: while it runs, waits for the
    // CPU, and is switched to.
    let ran = |moments: &[u64]| {
        signalled(&chip(2, &["os.time_slice=7000"]), moments, Wait::Pause, |_| {
            let beside = act::spawn(on(1), || Simulated::work(Cycles(30_000)));
            Simulated::work(Cycles(30_000));
            act::join(beside);
        })
    };
    let (quiet, mut preempted) = (ran(&[]), 0);
    for moment in (1_000..41_000).step_by(977) {
        let ran = ran(&[moment]);
        assert_eq!(ran.handled.len(), 1);
        let [computed, before] = [&ran, &quiet].map(|ran| ran.outcome.threads[1].time(Reason::Work).0);
        assert_eq!((computed, ran.outcome.threads[2].time(Reason::Work).0), (before + 1_000, 30_000));
        // The handler runs after the other thread's slice at the latest.
        assert!(ran.handled[0].0 < 20_000, "{:?}", ran.handled);
        preempted += ran.outcome.threads[1].counts.preemptions;
    }
    assert!(preempted > 100, "they take turns: {preempted}");
}

#[test]
fn one_that_has_ended_and_one_that_has_not_begun() {
    let mut simulation = simulation(&chip(3, &[]));
    let log = Rc::new(RefCell::new(Vec::new()));
    let (of_handler, seen) = (log.clone(), log.clone());
    let body = move || {
        let handler = move |_| of_handler.borrow_mut().push((act::this().unwrap().number(), act::time().0));
        act::on_signal(Signal::USR1, Action::handle(handler)).unwrap();
        let ended = act::spawn(on(1), || Simulated::work(Cycles(10)));
        act::join(ended);
        assert!(!act::signal(ended, Signal::USR1) && !act::signal(ended, Signal::KILL));
        let late = Spawn { after: Cycles(300_000), ..on(1) };
        let due = act::time().0 + 300_000;
        let its = log.clone();
        let late = act::spawn(late, move || its.borrow_mut().push((100, act::time().0)));
        assert!(act::signal(late, Signal::USR1) && act::signal(late, Signal::USR1));
        // This thread waits for a CPU from its birth on.
        let busy = act::spawn(on(2), || Simulated::work(Cycles(90_000)));
        act::delay(Cycles(1_000));
        let its = log.clone();
        let ready = act::spawn(on(2), move || its.borrow_mut().push((200, act::time().0)));
        assert!(act::signal(ready, Signal::USR1));
        [ended, late, busy, ready].into_iter().for_each(act::join);
        let log = log.borrow();
        let numbers: Vec<u32> = log.iter().map(|(who, _)| *who).collect();
        assert_eq!(numbers, [ready.number(), 200, late.number(), 100], "handlers come first, once");
        assert!(log[2].1 >= due, "it began when it was to, not before");
    };
    simulation.spawn(on(0), body).unwrap();
    assert!(simulation.run().unwrap().finished);
    assert_eq!(seen.borrow().len(), 4);
}

#[test]
fn nothing_is_delivered_within_the_kernels_own_work() {
    let log = Rc::new(RefCell::new(Vec::new()));
    let (of_work, of_handler) = (log.clone(), log.clone());
    let mut simulation = simulation(&chip(2, &[]));
    let body = move || {
        act::on_signal(Signal::USR1, Action::handle(move |_| of_handler.borrow_mut().push("handler"))).unwrap();
        let thread = act::spawn(on(1), move || {
            act::uninterruptible(|| {
                Simulated::work(Cycles(20_000));
                assert_eq!(act::sleep(Cycles(50_000)), Cycles(0), "no signal ends this sleep");
                of_work.borrow_mut().push("work");
            });
            Simulated::work(Cycles(1_000));
            of_work.borrow_mut().push("more");
        });
        Simulated::work(Cycles(60_000));
        act::signal(thread, Signal::USR1);
        act::join(thread);
    };
    simulation.spawn(on(0), body).unwrap();
    assert!(simulation.run().unwrap().finished);
    assert_eq!(*log.borrow(), ["work", "handler", "more"]);
}

#[test]
fn without_a_signal_nothing_changes() {
    let run = |settings: &[&str], handler: bool| {
        let mut simulation = simulation(&chip(2, settings));
        let word: Word = cell(&mut simulation, 0u32);
        let other = word.clone();
        let waits = move || {
            Simulated::work(Cycles(1_000));
            if handler {
                act::on_signal(Signal::USR1, Action::handle(|_| unreachable!("none is sent"))).unwrap();
                act::block_signals(SignalSet::of(&[Signal::USR2]));
            } else {
                act::pending_signals();
                act::pending_signals();
            }
            let _ = Simulated::wait_while(&other.0, 0, Wait::SpinPark(10), None);
        };
        simulation.spawn(on(0), waits).unwrap();
        let stores = move || {
            act::delay(Cycles(50_000));
            word.0.store(1, Release);
            Simulated::wake(&raw const word.0, 1, Wait::SpinPark(10));
        };
        simulation.spawn(on(1), stores).unwrap();
        simulation.run().unwrap()
    };
    assert_eq!(run(&[], true), run(&[], false));
    assert_eq!(run(&["os.signal_deliver=1", "os.signal_return=1"], true), run(&[], false));
}
