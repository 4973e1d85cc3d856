//! Two shortcuts of the engine change nothing: finishing operations at once, and counting tries of
//! spinning waits without simulating them. Every lock, with ten wait policies and with more threads
//! than cores too, gives the same figures and the same order of events with and without them. The
//! same seed gives the same history, and another seed another history.

use crate::common;
use baton_chip::{Options, Outcome, Simulated, Simulation, Spawn, act};
use baton_machine::{Deadline, Machine, Owned, Wait, WaitResult, units::Cycles, units::Nanos};
use baton_sync::lock::{LOCKS, LockVisitor, RawLock, visit};
use baton_trace::{Lock, Mode, SiteId, What};
use std::rc::Rc;

struct Contend<'a> {
    chip: &'a baton_chip::Chip,
    options: Options,
    threads: u64,
    wait: Wait,
}

impl LockVisitor<Simulated> for Contend<'_> {
    type Out = (Outcome, Vec<baton_trace::Event>);

    fn visit<L: RawLock<Simulated>>(self) -> Self::Out {
        let mut simulation = Simulation::new(self.chip, &self.options).unwrap();
        let lock = simulation.outside(|| Rc::new(Owned::<Simulated, L>::new(L::new())));
        let wait = self.wait;
        for id in 0..self.threads {
            let lock = lock.clone();
            let body = move || {
                for turn in 0..12 {
                    let token = lock.lock(wait);
                    act::record(
                        act::time(),
                        What::Acquire { lock: Lock::mutex(0), mode: Mode::Exclusive, site: SiteId(turn) },
                    );
                    Simulated::work(Cycles(50 + 37 * ((id + u64::from(turn)) % 5)));
                    // SAFETY: locked above with the same policy.
                    unsafe { lock.unlock(token, wait) };
                    Simulated::work(Cycles(100 + 91 * (id % 3)));
                }
            };
            simulation.spawn(Spawn::default(), body).unwrap();
        }
        let outcome = simulation.run().unwrap();
        drop(lock);
        (outcome, simulation.into_trace().events().collect())
    }
}

/// The history without the counts of the engine's own steps.
fn history(mut outcome: (Outcome, Vec<baton_trace::Event>)) -> (Outcome, Vec<baton_trace::Event>) {
    outcome.0.events = 0;
    outcome.0.guest_operations = 0;
    outcome.0.threads.iter_mut().for_each(|thread| thread.counts.operations = 0);
    outcome
}

#[test]
fn shortcuts_change_nothing() {
    shortcuts("core.store_buffer=0");
}

#[test]
fn shortcuts_change_nothing_with_store_buffers() {
    shortcuts("core.store_buffer=3");
}

#[test]
fn shortcuts_change_nothing_with_flushes_and_instructions() {
    shortcuts("core.flush=23 core.width=2");
}

/// The shortcuts change nothing for four locks on a coherent chip, where a message tells a core
/// that it loses a line.
#[test]
fn shortcuts_change_nothing_on_a_coherent_chip() {
    let settings =
        ["os.time_slice=1777", "os.context_switch=97", "noise.start=500", "core.flush=23"].map(str::to_owned);
    let chip = baton_chip::Chip::from_toml_at(OCOR, "ocor64", Some(4), &settings).unwrap();
    compare(&chip, &["tas", "ttas", "ticket", "mcs"], &[Wait::Spin, Wait::SpinPark(9)]);
}

const OCOR: &str = include_str!("../../../../chips/ocor64.toml");

/// The contexts of a core take window, slots and store buffer from each other, and the core changes
/// its mode.
#[test]
fn shortcuts_change_nothing_with_siblings() {
    shortcuts(
        "core.count=2 core.per_cluster=2 core.contexts=2 core.store_buffer=6 core.rob=64 core.width=2 \
         core.result_latency=3.5 core.mode_change=7 core.flush=11",
    );
}

fn shortcuts(setting: &str) {
    // A short slice, so that spinners are preempted in the middle of their tries.
    let mut settings = vec![
        "noise.latency=0.05",
        "noise.start=500",
        "os.time_slice=1777",
        "os.context_switch=97",
        "wait.tpause=70",
        "wait.umwait.enter=30",
        "wait.umwait.exit=60",
        "wait.mwait.c1.enter=11",
        "wait.mwait.c1.exit=90",
        "wait.halt.enter=70",
        "wait.halt.send=110",
        "wait.halt.exit=130",
    ];
    settings.extend(setting.split(' '));
    let chip = common::cores(4, &settings);
    let names: Vec<&str> = LOCKS.iter().map(|lock| lock.name).collect();
    let waits = [
        Wait::Spin,
        Wait::Pause,
        Wait::SpinPark(9),
        Wait::Futex,
        Wait::Tpause,
        Wait::Umwait,
        Wait::Mwait(1),
        Wait::Halt,
        Wait::MwaitPark(700),
        Wait::SpinFor(300),
    ];
    compare(&chip, &names, &waits);
}

fn compare(chip: &baton_chip::Chip, names: &[&str], waits: &[Wait]) {
    for lock in LOCKS.iter().filter(|lock| names.contains(&lock.name)) {
        for &wait in waits {
            if lock.wait(Some(wait)).is_err() {
                continue;
            }
            for threads in [3, 7] {
                let run = |run_ahead, skip_tries| {
                    let limit = Some(Cycles(3_000_000));
                    let options = Options { run_ahead, skip_tries, limit, record: true, ..Options::default() };
                    history(visit(lock.name, Contend { chip, options, threads, wait }).unwrap())
                };
                let fast = run(true, true);
                let what = format!("{} {wait} {threads} threads", lock.name);
                assert!(fast.0 == run(false, true).0, "{what}: finishing at once");
                let slow = run(false, false);
                assert_eq!(fast.0, slow.0, "{what}: counted tries");
                assert!(fast.1 == slow.1, "{what}: events");
            }
        }
    }
}

#[test]
fn a_seed_is_a_history() {
    let chip = common::cores(4, &["noise.latency=0.05", "noise.start=500"]);
    let run = |seed| {
        let options = Options { seed, record: true, ..Options::default() };
        visit("mcs", Contend { chip: &chip, options, threads: 6, wait: Wait::SpinPark(9) }).unwrap()
    };
    assert!(run(1) == run(1));
    assert!(run(1).0.cycles != run(2).0.cycles);
}

#[test]
fn a_deadline_ends_a_spinning_wait_at_the_same_try() {
    let chip = common::cores(2, &[]);
    for wait in [Wait::Spin, Wait::Pause, Wait::SpinPark(50)] {
        for until in 990..1050 {
            let run = |skip_tries| {
                let options = Options { skip_tries, ..Options::default() };
                let mut simulation = Simulation::new(&chip, &options).unwrap();
                let cell = common::cell(&mut simulation, 1u32);
                let body = move || {
                    let deadline = Deadline { at: Nanos(until), ..deadline_zero() };
                    assert_eq!(Simulated::wait_while(&cell.0, 1, wait, Some(deadline)), WaitResult::Expired);
                    assert!(Simulated::now(deadline.clock) >= deadline.at, "never early");
                };
                simulation.spawn(Spawn::default(), body).unwrap();
                history((simulation.run().unwrap(), Vec::new())).0
            };
            assert_eq!(run(true), run(false), "{wait} until {until}");
        }
    }
}

fn deadline_zero() -> Deadline {
    Deadline { at: Nanos(0), clock: baton_machine::Clock::Monotonic }
}
