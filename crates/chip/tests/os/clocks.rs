//! Frequency domains: what scales with a core's clock and what does not, changes while something is
//! under way, and clocks that a chip file or a caller must not ask for.

use crate::common;
use baton_chip::{Chip, Options, Outcome, Reason, Refused, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::*, Owned, Wait, units::Cycles};
use baton_sync::lock::{LockVisitor, RawLock, visit};
use baton_units::{CoreId, Hertz};
use std::cell::RefCell;
use std::rc::Rc;

const BARCELONA: &str = include_str!("../../../../chips/barcelona-amp.toml");
const FAST: Hertz = Hertz(2_300_000_000);
const SLOW: Hertz = Hertz(1_150_000_000);

fn barcelona(clock: Hertz) -> Chip {
    let settings = [format!("core.clocks=0-15:{}", clock.0), "noise.start=0".into(), "os.wake_idle=0".into()];
    Chip::from_toml_with(BARCELONA, "barcelona-amp.toml", &settings).expect("reads")
}

/// How long `f` takes on core 0, after `setup`.
fn took<T: 'static>(chip: &Chip, setup: impl FnOnce() -> T, f: impl FnOnce(&T) + 'static) -> u64 {
    let mut simulation = Simulation::new(chip, &Options::default()).expect("the host has memory");
    let data = simulation.outside(setup);
    let (out, here) = (Rc::new(RefCell::new(0)), Spawn { affinity: vec![CoreId(0)], ..Spawn::default() });
    let result = out.clone();
    let body = move || {
        let began = act::time();
        f(&data);
        *out.borrow_mut() = (act::time() - began).0;
        // Guest memory is freed inside of the simulation.
        drop(data);
    };
    simulation.spawn(here, body).expect("there is a core");
    simulation.run().expect("it ends");
    result.take()
}

#[test]
fn computation_takes_twice_as_long_at_half_the_clock() {
    let work = |chip: &Chip| took(chip, || (), |()| Simulated::work(Cycles(123_456)));
    assert_eq!((work(&barcelona(FAST)), work(&barcelona(SLOW))), (123_456, 2 * 123_456));
    let hits = |clock| {
        let some = |n: u64| {
            let cell = || Owned::<Simulated, common::Cell<u64>>::new(Atomic::new(0));
            took(&barcelona(clock), cell, move |cell| {
                (0..n).for_each(|_| _ = cell.fetch_add(1, Relaxed));
            })
        };
        // The first access, which misses, is subtracted.
        some(101) - some(1)
    };
    assert_eq!(hits(SLOW), 2 * hits(FAST), "hits and atomics in the L1 scale");
}

#[test]
fn a_pointer_chase_over_memory_hardly_notices() {
    let chase = |chip: &Chip| {
        let cells = || {
            let cell = |_| Owned::<Simulated, common::Alone<u32>>::new(common::Alone(Atomic::new(0)));
            let cells: Vec<_> = (0..3000).map(cell).collect();
            // Each cell has the number of the next one, whose line is far away.
            for at in 0..3000usize {
                cells[at * 1009 % 3000].0.store(((at + 1) * 1009 % 3000) as u32, Relaxed);
            }
            cells
        };
        took(chip, cells, |cells| {
            (0..3000).fold(0, |at, _| cells[at as usize].0.load(Acquire));
        })
    };
    let (fast, slow) = (chase(&barcelona(FAST)), chase(&barcelona(SLOW)));
    assert!(slow > fast && slow * 10 < fast * 11, "{fast} and {slow}");
}

/// The time at which, by arithmetic, a computation ends that begins at 0, if the clock changes as
/// `changes` says (when, to how many hertz).
fn ends(cycles: u64, reference: u64, changes: &[(u64, u64)]) -> u64 {
    let mut left = u128::from(cycles) * u128::from(reference);
    let (mut now, mut clock) = (0, reference);
    for &(at, next) in changes {
        let could = u128::from(at - now) * u128::from(clock);
        if could >= left {
            break;
        }
        (left, now, clock) = (left - could, at, next);
    }
    now + left.div_ceil(u128::from(clock)) as u64
}

/// A small generator of numbers, so that schedules differ by seed and are the same in every run.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

/// Threads share a core and take it from each other while its clock changes. All have computed when
/// the core's own cycles amount to the sum of their computations, to the cycle.
#[test]
fn preempted_and_re_rated_computations_end_where_arithmetic_says() {
    let free = ["os.context_switch=0", "os.wake_idle=0", "os.wake_polling=0", "os.time_slice=701"];
    for seed in 1..60 {
        let mut next = numbers(seed);
        let chip = common::cores(1, &free);
        let reference = chip.core.clock.0;
        let threads = 1 + next(4);
        let works: Vec<u64> = (0..threads).map(|_| 1 + next(9000)).collect();
        let mut at = 0;
        let changes: Vec<(u64, u64)> = (0..next(12))
            .map(|_| {
                at += 1 + next(5000);
                (at, 1_000_000 + next(reference - 1_000_000))
            })
            .collect();
        let mut simulation = common::simulation(&chip);
        for &(at, clock) in &changes {
            simulation.set_clock(Cycles(at), CoreId(0), Hertz(clock)).expect("a clock that it can have");
        }
        for &work in &works {
            simulation.spawn(Spawn::default(), move || Simulated::work(Cycles(work))).expect("there is a core");
        }
        let outcome = simulation.run().expect("it ends");
        let sum: u64 = works.iter().sum();
        assert_eq!(outcome.cycles.0, ends(sum, reference, &changes), "seed {seed}: {works:?} {changes:?}");
        for thread in &outcome.threads {
            let stack: u64 = thread.cycle_stack(outcome.cycles).iter().map(|(_, cycles)| cycles.0).sum();
            assert_eq!(stack, outcome.cycles.0);
        }
    }
}

/// A computation that moves from a fast core to a slow one goes on where it was.
#[test]
fn a_migrated_computation_goes_on_at_the_other_clock() {
    let settings = ["os.context_switch=0", "os.wake_idle=0", "os.wake_polling=0", "core.clocks=1:1_000_000_000"];
    let chip = common::cores(2, &settings);
    let (reference, slow) = (chip.core.clock.0, 1_000_000_000);
    let mut simulation = common::simulation(&chip);
    let on = |core| Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
    let work = chip.os.sched.time_slice.0 * 4;
    simulation.spawn(Spawn::default(), move || Simulated::work(Cycles(work))).expect("a core");
    // Core 1 runs dry after it has been at work for a while, and takes the computation over;
    // another thread wants core 0 meanwhile.
    simulation.spawn(on(1), move || Simulated::work(Cycles(work / 7))).expect("a core");
    simulation.spawn(Spawn { after: Cycles(100), ..on(0) }, move || Simulated::work(Cycles(work * 9))).expect("a core");
    let outcome = simulation.run().expect("it ends");
    let (moved, pinned, other) = (&outcome.threads[0], &outcome.threads[1], &outcome.threads[2]);
    if moved.counts.preemptions != 1 || moved.time(Reason::Ready).0 == 0 {
        panic!("the schedule that this test is about did not come about: {moved:?}");
    }
    let first = 100 + other.time(Reason::Ready).0;
    let left = u128::from(work) * u128::from(reference) - u128::from(first) * u128::from(reference);
    assert_eq!(moved.ended.0, pinned.ended.0 + left.div_ceil(slow) as u64);
    assert_eq!(moved.time(Reason::Ready).0, pinned.ended.0 - first);
}

struct Contend<'a> {
    chip: &'a Chip,
    options: Options,
    wait: Wait,
    seed: u64,
}

impl LockVisitor<Simulated> for Contend<'_> {
    type Out = Outcome;

    fn visit<L: RawLock<Simulated>>(self) -> Outcome {
        let mut simulation = Simulation::new(self.chip, &self.options).expect("the host has memory");
        let lock = simulation.outside(|| Rc::new(Owned::<Simulated, L>::new(L::new())));
        let (wait, mut next) = (self.wait, numbers(self.seed));
        for at in 0..60 {
            let clock = Hertz(400_000_000 + next(self.chip.core.clock.0 - 400_000_000));
            simulation.set_clock(Cycles(at * 613 + next(400)), CoreId(next(4) as u32), clock).expect("a clock");
        }
        for id in 0..7 {
            let lock = lock.clone();
            let body = move || {
                for turn in 0..10 {
                    let token = lock.lock(wait);
                    Simulated::work(Cycles(50 + 37 * ((id + turn) % 5)));
                    // SAFETY: locked above with the same policy.
                    unsafe { lock.unlock(token, wait) };
                    Simulated::work(Cycles(100 + 91 * (id % 3)));
                }
            };
            simulation.spawn(Spawn::default(), body).expect("there is room");
        }
        let mut outcome = simulation.run().expect("it ends");
        (outcome.events, outcome.guest_operations) = (0, 0);
        outcome.threads.iter_mut().for_each(|thread| thread.counts.operations = 0);
        outcome
    }
}

/// Spinning waits end at the same cycles whether their tries are counted or simulated one by one,
/// whatever the clocks do meanwhile.
#[test]
fn collapsed_spins_are_re_rated_to_the_cycle() {
    let settings = ["noise.start=500", "os.time_slice=1777", "os.context_switch=97", "core.store_buffer=0"];
    let chip = common::cores(4, &settings);
    for lock in ["tas", "ticket", "mcs"] {
        for wait in [Wait::Spin, Wait::Pause, Wait::SpinPark(9)] {
            for seed in 1..8 {
                let run = |run_ahead, skip_tries| {
                    let options =
                        Options { run_ahead, skip_tries, limit: Some(Cycles(3_000_000)), ..Options::default() };
                    visit(lock, Contend { chip: &chip, options, wait, seed }).expect("there is this lock")
                };
                let fast = run(true, true);
                assert_eq!(fast, run(false, false), "{lock} {wait} seed {seed}");
                assert!(fast == run(false, true), "{lock} {wait} seed {seed}: finishing at once");
            }
        }
    }
}

/// A spinner at half the clock tries half as often.
#[test]
fn a_slow_spinner_tries_less_often() {
    let tries = |slow: bool| {
        let chip = common::cores(2, &["core.clock_hz=2_000_000_000", "os.wake_idle=0", "os.wake_polling=0"]);
        let mut simulation = common::simulation(&chip);
        let cell = common::cell(&mut simulation, 0u32);
        if slow {
            simulation.set_clock(Cycles(0), CoreId(0), Hertz(1_000_000_000)).expect("a clock");
        }
        let waits = cell.clone();
        let on = |core| Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
        let waiter = move || _ = Simulated::wait_while(&waits.0, 0, Wait::Pause, None);
        simulation.spawn(on(0), waiter).expect("a core");
        simulation
            .spawn(on(1), move || {
                Simulated::work(Cycles(1_000_000));
                cell.0.store(1, Release);
            })
            .expect("a core");
        simulation.run().expect("it ends").threads[0].counts.tries
    };
    let (fast, slow) = (tries(false), tries(true));
    assert!(fast.abs_diff(2 * slow) <= 2, "{fast} and {slow}");
}

#[test]
fn a_guest_changes_a_clock_by_system_call() {
    let run = |settings: &[&str]| {
        let chip = common::cores(2, settings);
        let out = Rc::new(RefCell::new(None));
        let result = out.clone();
        let mut simulation = common::simulation(&chip);
        let half = Hertz(chip.core.clock.0 / 2);
        let body = move || {
            let here = act::core();
            let began = act::time().0;
            let answer = act::set_clock(here, half);
            let called = act::time().0 - began;
            Simulated::work(Cycles(1000));
            let worked = act::time().0 - began - called;
            assert!(act::set_clock(CoreId(7), half).is_err());
            *out.borrow_mut() = Some((answer, called, worked, act::clock(here) == half));
        };
        simulation.spawn(Spawn::default(), body).expect("a core");
        simulation.run().expect("it ends");
        result.take().expect("it ran")
    };
    assert_eq!(run(&["core.clock_change=5000"]), (Ok(()), 5000, 2000, true));
    let (answer, _, worked, _) = run(&[]);
    assert!(matches!(&answer, Err(Refused::ClockIsFixed(chip)) if chip == "sample-host"), "{answer:?}");
    assert_eq!(worked, 1000);
}

/// Until the latency is over (of the voltage and the clock generator), the core runs at its old
/// clock, whether a thread or the host asked for the change.
#[test]
fn a_change_takes_effect_after_its_latency() {
    let ends = |latency: u64, by_guest: bool| {
        let latency = format!("core.clock_latency={latency}");
        let settings = ["core.clock_hz=2000000000", "core.clock_change=500", "os.wake_polling=0", &latency];
        let chip = common::cores(1, &settings);
        let mut simulation = common::simulation(&chip);
        let half = Hertz(1_000_000_000);
        if !by_guest {
            simulation.set_clock(Cycles(500), CoreId(0), half).expect("a clock that it can have");
        }
        simulation
            .spawn(Spawn::default(), move || {
                match by_guest {
                    true => act::set_clock(CoreId(0), half).expect("a clock that it can have"),
                    false => Simulated::work(Cycles(500)),
                }
                Simulated::work(Cycles(20_000));
            })
            .expect("there is a core");
        simulation.run().expect("it ends").cycles.0
    };
    for by_guest in [true, false] {
        assert_eq!(ends(0, by_guest), 500 + 40_000);
        assert_eq!(ends(12_345, by_guest), 500 + 12_345 + 2 * (20_000 - 12_345));
        assert_eq!(ends(20_000, by_guest), 500 + 20_000, "not before its time");
    }
}

#[test]
fn a_clock_out_of_range_is_refused() {
    let refused = |line: &str| {
        let text = BARCELONA.replacen("clock_hz = 2_300_000_000\n", &format!("clock_hz = 2_300_000_000\n{line}\n"), 1);
        Chip::from_toml(&text, "x.toml").expect_err("must be refused").to_string()
    };
    for (line, says) in [
        (
            "clocks = \"0-3:2_400_000_000\"",
            "key `core.clocks` is 0-3:2400000000; expected clocks from 1000000 Hz to 2300000000 Hz",
        ),
        ("clocks = \"0-3:1\"", "expected clocks from 1000000 Hz"),
        ("clocks = \"4-16:1_150_000_000\"", "expected cores from 0 to 15"),
        ("clocks = \"3-0:1_150_000_000\"", "expected cores and their clocks in hertz"),
        ("clocks = \"fast\"", "expected cores and their clocks in hertz"),
    ] {
        let text = refused(line);
        let at = BARCELONA.lines().position(|line| line.starts_with("clock_hz")).expect("has a clock") + 2;
        assert!(text.contains(says) && text.starts_with(&format!("x.toml:{at}:")), "{line}: {text}");
    }
    let chip = barcelona(FAST);
    let mut simulation = Simulation::new(&chip, &Options::default()).expect("the host has memory");
    for (core, clock) in [(16, FAST), (0, Hertz(2_300_000_001)), (0, Hertz(0))] {
        let refused = simulation.set_clock(Cycles(0), CoreId(core), clock).expect_err("must be refused");
        assert!(refused.to_string().contains("expected a core from 0 to 15"), "{refused}");
    }
}
