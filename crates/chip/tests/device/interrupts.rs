//! What a device's interrupt takes from the CPU that it comes to, whatever the CPU does: compute,
//! spin, stand still, stall or idle; and where handlers touch memory.

use crate::common;
use crate::common::cell;
use baton_chip::device::{alarm, mailbox};
use baton_chip::{Chip, Options, Outcome, Reason, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::*, Wait, units::Cycles};
use baton_units::CoreId;
use std::cell::Cell;
use std::rc::Rc;

/// A chip with an alarm and a mailbox on wires of 25 cycles, at the cores' clock.
fn chip(settings: &[&str]) -> Chip {
    let clock = format!("device.clock_hz={}", common::chip(&[]).core.clock.0);
    let fixed = [
        &clock,
        "device.kind=alarm mailbox",
        "device.count=2",
        "device.latency=10",
        "device.words=8",
        "device.outstanding=8",
        "device.link=dedicated",
        "device.way=25",
        "device.call=300",
        "device.interrupt=700",
        "os.wake_idle=3000",
        "os.wake_polling=3000",
    ];
    common::cores(4, &[&fixed[..], settings].concat())
}

fn on(core: u32) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }
}

/// Sets alarms that interrupt CPU 1 at these moments, counted from 50,000, while a thread there
/// runs `body`. At 250,000 the thread's word changes, and a letter comes into the mailbox. Returns
/// the outcome.
fn rings(chip: &Chip, options: &Options, at: &'static [u64], body: impl FnOnce(Word) -> Box<dyn FnOnce()>) -> Outcome {
    let mut simulation = Simulation::new(chip, options).expect("the host has memory");
    let word = cell(&mut simulation, 0u32);
    let thread = body(word.clone());
    simulation.spawn(on(1), thread).expect("there is a core");
    let sets = move || {
        let clock = Simulated::device(0).expect("an alarm");
        for at in at {
            // The request takes a cycle to set out and 25 to the alarm; the interrupt takes 25 to
            // the CPU.
            let after = 50_000 + at - act::time().0 - 1 - 25 - 25;
            assert_eq!(clock.request(alarm::SET, [after, 1]).wait().status, 0);
        }
        // The word changes at the same moment in each run, however many alarms were set.
        Simulated::work(Cycles(250_000 - act::time().0));
        word.0.store(1, Release);
        // The letter ends the thread's stall, if the thread waits for one.
        let mail = Simulated::device(1).expect("a mailbox");
        mail.call(mailbox::OPEN, [4, 0]);
        mail.request(mailbox::SEND, [0, 9]).wait();
    };
    simulation.spawn(on(0), sets).expect("there is a core");
    let outcome = simulation.run().expect("it ends");
    for thread in &outcome.threads {
        let sum: u64 = thread.cycle_stack(outcome.cycles).iter().map(|(_, cycles)| cycles.0).sum();
        assert_eq!(sum, outcome.cycles.0, "{thread:?}");
    }
    outcome
}

type Word = common::Shared<common::Alone<u32>>;

fn kernel(outcome: &Outcome) -> u64 {
    outcome.threads[0].time(Reason::Kernel).0
}

#[test]
fn a_computation_pays_for_each() {
    let run = |at| rings(&chip(&[]), &Options::default(), at, |_| Box::new(|| Simulated::work(Cycles(100_000))));
    let (none, three) = (run(&[]), run(&[0, 300, 9_000]));
    assert_eq!((kernel(&none), kernel(&three)), (0, 3 * 700));
    assert_eq!(three.threads[0].ended.0, none.threads[0].ended.0 + 3 * 700);
    assert_eq!(three.threads[0].time(Reason::Work), Cycles(100_000));
}

/// Two interrupts come to a CPU that computes: the second handler runs after the first, and each
/// handler wakes a thread at its end.
#[test]
fn handlers_of_a_cpu_follow_each_other() {
    let woken = Rc::new(Cell::new([0; 2]));
    let mut simulation = Simulation::new(&chip(&[]), &Options::default()).expect("the host has memory");
    simulation.spawn(on(1), || Simulated::work(Cycles(100_000))).expect("there is a core");
    for n in 0..2 {
        let out = woken.clone();
        let waits = move || {
            Simulated::work(Cycles(1_000 * n as u64));
            Simulated::device(0).expect("an alarm").interrupt();
            let mut times = out.get();
            times[n] = act::time().0;
            out.set(times);
        };
        simulation.spawn(on(2 + n as u32), waits).expect("there is a core");
    }
    let came = Rc::new(Cell::new(0));
    let out = came.clone();
    let sets = move || {
        let clock = Simulated::device(0).expect("an alarm");
        Simulated::work(Cycles(10_000));
        let began = act::time().0;
        drop(clock.request(alarm::SET, [20_000, 1]));
        Simulated::work(Cycles(50));
        drop(clock.request(alarm::SET, [20_000 + 300 - (act::time().0 - began), 1]));
        out.set(began + 1 + 25 + 20_000 + 25);
    };
    simulation.spawn(on(0), sets).expect("there is a core");
    let outcome = simulation.run().expect("it ends");
    assert_eq!(outcome.threads[0].time(Reason::Kernel), Cycles(2 * 700));
    let [first, second] = woken.get();
    assert_eq!([first, second], [came.get() + 700 + 3_000, came.get() + 2 * 700 + 3_000]);
}

#[test]
fn a_spinner_does_not_try_while_a_handler_runs() {
    let run = |at, skip_tries| {
        let options = Options { skip_tries, ..Options::default() };
        let spins = |word: Word| {
            Box::new(move || _ = Simulated::wait_while(&word.0, 0, Wait::Pause, None)) as Box<dyn FnOnce()>
        };
        rings(&chip(&[]), &options, at, spins)
    };
    let (none, three) = (run(&[], true), run(&[0, 5_000, 9_001], true));
    assert_eq!((kernel(&none), kernel(&three)), (0, 3 * 700));
    // A turn of the spinning loop takes a hit and a PAUSE. From that follows how many tries would
    // have fitted into the handlers' time.
    let chip = chip(&[]);
    let turn = chip.cache.hit.0 + chip.wait.pause.0;
    let fewer = none.threads[0].counts.tries - three.threads[0].counts.tries;
    assert!((3 * 700 / turn..=3 * 700 / turn + 3).contains(&fewer), "{fewer} tries of {turn} cycles fewer");
    let whole = run(&[0, 5_000, 9_001], false);
    assert_eq!(
        (whole.threads[0].counts.tries, whole.threads[0].ended),
        (three.threads[0].counts.tries, three.threads[0].ended)
    );
}

/// A core that stalls for a device's answer cannot be interrupted: it pays when the answer has
/// come, before its next operation.
#[test]
fn a_stalled_core_pays_when_its_stall_ends() {
    let run = |at: &'static [u64]| {
        let ends = Rc::new(Cell::new(0));
        let out = ends.clone();
        let outcome = rings(&chip(&[]), &Options::default(), at, |_| {
            Box::new(move || {
                act::delay(Cycles(40_000));
                let mail = Simulated::device(1).expect("a mailbox");
                mail.call(mailbox::OPEN, [4, 0]);
                assert_eq!(mail.request(mailbox::RECEIVE, [0, 0]).wait().value, 9);
                Simulated::work(Cycles(1));
                out.set(act::time().0);
            })
        });
        (ends.get(), outcome)
    };
    let ((end, none), (later, two)) = (run(&[]), run(&[0, 5_000]));
    assert_eq!(kernel(&two) - kernel(&none), 2 * 700);
    assert_eq!(later, end + 2 * 700);
    let stall = |outcome: &Outcome| outcome.threads[0].time(Reason::QueueEmpty);
    assert_eq!(stall(&two), stall(&none), "the stall itself is as long as it was");
}

#[test]
fn a_rest_ends_and_pays() {
    let settings = ["wait.umwait.enter=31", "wait.umwait.exit=61"];
    let run = |at| {
        rings(&chip(&settings), &Options::default(), at, |word| {
            Box::new(move || _ = Simulated::wait_while(&word.0, 0, Wait::Umwait, None))
        })
    };
    let (none, two) = (run(&[]), run(&[0, 5_000]));
    assert_eq!((kernel(&none), kernel(&two)), (0, 2 * 700));
}

#[test]
fn where_handlers_touch_memory_this_one_does_too() {
    let lines = ["os.interrupt_lines=3", "os.queue_lines=2"];
    let run = |at| rings(&chip(&lines), &Options::default(), at, |_| Box::new(|| Simulated::work(Cycles(100_000))));
    let (none, three) = (run(&[]), run(&[0, 5_000, 9_000]));
    let cache = chip(&[]).cache;
    // The handler's lines are in the CPU's cache if the handler that woke the CPU for the thread's
    // first step has touched them; the others come from memory now.
    let (first, then) = (none.memory.fetches, three.memory.fetches);
    let lines = 3 * 5 * cache.hit.0 + (then - first) * (cache.memory.0 - cache.hit.0);
    assert_eq!(kernel(&three) - kernel(&none), 3 * 700 + lines);
    assert_eq!(three.threads[0].ended.0 - none.threads[0].ended.0, 3 * 700 + lines);
}

/// A handler on an idle CPU takes no thread's time. At its end it still wakes the thread that waits
/// for the device.
#[test]
fn an_idle_cpu_loses_nothing() {
    let woken = Rc::new(Cell::new(0));
    let out = woken.clone();
    let mut simulation = Simulation::new(&chip(&[]), &Options::default()).expect("the host has memory");
    let waits = move || {
        let clock = Simulated::device(0).expect("an alarm");
        let set = act::time().0;
        drop(clock.request(alarm::SET, [5_000, 3]));
        clock.interrupt();
        out.set(act::time().0 - set);
    };
    simulation.spawn(on(0), waits).expect("there is a core");
    let outcome = simulation.run().expect("it ends");
    assert_eq!(woken.get(), 1 + 25 + 5_000 + 25 + 700 + 3_000);
    assert_eq!(outcome.threads[0].time(Reason::Kernel), Cycles(300), "the call alone");
}
