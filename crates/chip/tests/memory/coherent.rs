//! The coherent memory system under load: every lock runs on it, nothing is left over, and the same
//! seed gives the same history. In debug builds the memory system itself checks each value read
//! against a golden memory.

use crate::common;
use baton_chip::{Chip, Options, Outcome, Simulated, Simulation, Spawn};
use baton_machine::{Atomic, Machine, Ordering::*, Owned, Wait, units::Cycles};
use baton_sync::lock::{LOCKS, LockVisitor, RawLock, visit};
use std::rc::Rc;

fn ocor(settings: &[&str]) -> Chip {
    let all: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_with(include_str!("../../../../chips/ocor64.toml"), "ocor64.toml", &all).expect("a right chip")
}

struct Contend<'a> {
    chip: &'a Chip,
    options: Options,
    threads: u32,
    turns: u32,
    wait: Wait,
}

impl LockVisitor<Simulated> for Contend<'_> {
    type Out = Outcome;

    fn visit<L: RawLock<Simulated>>(self) -> Outcome {
        let mut simulation = Simulation::new(self.chip, &self.options).unwrap();
        let lock = simulation.outside(|| Rc::new(Owned::<Simulated, L>::new(L::new())));
        let count = common::cell(&mut simulation, 0u64);
        let (wait, turns) = (self.wait, self.turns);
        for id in 0..self.threads {
            let (lock, count) = (lock.clone(), count.clone());
            let body = move || {
                for _ in 0..turns {
                    let token = lock.lock(wait);
                    let seen = count.0.load(Relaxed);
                    Simulated::work(Cycles(20));
                    count.0.store(seen + 1, Relaxed);
                    // SAFETY: locked above with the same policy.
                    unsafe { lock.unlock(token, wait) };
                    Simulated::work(Cycles(50 + u64::from(id % 7) * 13));
                }
            };
            simulation.spawn(Spawn::default(), body).unwrap();
        }
        let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
        let sum = simulation.outside(|| count.0.load(Relaxed));
        assert_eq!(sum, u64::from(self.threads * turns), "a critical section was not alone");
        outcome
    }
}

#[test]
fn every_lock_runs_on_it() {
    let chip = ocor(&SIXTEEN);
    for lock in LOCKS {
        for wait in [Wait::Spin, Wait::SpinPark(9)] {
            if lock.wait(Some(wait)).is_err() {
                continue;
            }
            let options = Options::default();
            let contend = || Contend { chip: &chip, options: options.clone(), threads: 8, turns: 4, wait };
            let run = || visit(lock.name, contend()).unwrap();
            let outcome = run();
            assert!(outcome.finished && outcome.network.flit_hops > 0, "{}", lock.name);
            assert!(outcome == run(), "{} {wait}: the same history", lock.name);
        }
    }
}

/// A chip of 16 cores, few enough for threads to outnumber them.
const SIXTEEN: [&str; 6] = [
    "core.count=16",
    "core.per_cluster=16",
    "network.width=4",
    "network.height=4",
    "home.banks=16",
    "dram.controllers=2",
];

#[test]
fn shortcuts_change_nothing() {
    let preempted = ["os.time_slice=3000", "os.context_switch=97", "os.wakeup_granularity=500", "noise.start=300"];
    for more in [&["core.atomics=near"][..], &["core.atomics=far", "home.places=2"]] {
        let settings: Vec<&str> = SIXTEEN.iter().chain(&preempted).chain(more).copied().collect();
        let chip = ocor(&settings);
        for name in ["ticket", "mcs"] {
            for wait in [Wait::Spin, Wait::SpinPark(9)] {
                if LOCKS.iter().all(|lock| lock.name != name || lock.wait(Some(wait)).is_err()) {
                    continue;
                }
                let run = |run_ahead, skip_tries| {
                    let options = Options { run_ahead, skip_tries, ..Options::default() };
                    let mut outcome =
                        visit(name, Contend { chip: &chip, options, threads: 17, turns: 2, wait }).unwrap();
                    (outcome.events, outcome.guest_operations) = (0, 0);
                    outcome.threads.iter_mut().for_each(|thread| thread.counts.operations = 0);
                    outcome
                };
                let fast = run(true, true);
                assert!(fast == run(false, true), "{name} {wait}: finishing at once");
                assert!(fast == run(false, false), "{name} {wait}: counted tries");
            }
        }
    }
}

#[test]
fn pages_belong_to_whom_touched_them_first() {
    let settings = ["home.placement=first-touch"];
    let chip = Chip::from_toml_with(
        include_str!("../../../../chips/opteron6272x4.toml"),
        "opteron6272x4.toml",
        &settings.map(str::to_owned),
    )
    .expect("a right chip");
    let nodes = chip.numa_nodes();
    assert!(nodes > 1, "several sockets");
    let far_core = chip.core.count / nodes * (nodes - 1);
    // How long core 0 takes to read a line of a page that core `first` has touched first.
    let read = |first: u32| {
        let mut simulation = Simulation::new(&chip, &Options::default()).unwrap();
        let lines = common::share(&mut simulation, || Lines([const { [0u8; 64] }; 128].map(Line::new)));
        let took = Rc::new(std::cell::Cell::new(0));
        let (one, two, out) = (lines.clone(), lines, took.clone());
        let on = |core: u32, after| Spawn { affinity: vec![baton_units::CoreId(core)], after, ..Spawn::default() };
        simulation.spawn(on(first, Cycles(0)), move || _ = one.0[64].0.load(Relaxed)).unwrap();
        let body = move || {
            // The line lies on the same page, and no core has it.
            let start = baton_chip::act::time();
            let _ = two.0[65].0.load(Relaxed);
            out.set((baton_chip::act::time() - start).0);
        };
        simulation.spawn(on(0, Cycles(100_000)), body).unwrap();
        simulation.run().unwrap();
        took.get()
    };
    let (near, far) = (read(0), read(far_core));
    assert!(near < far, "own page {near} cycles, another socket's {far}");
}

#[repr(C, align(64))]
struct Line(common::Cell<u64>, [u8; 56]);

impl Line {
    fn new(_: [u8; 64]) -> Line {
        Line(Atomic::new(0), [0; 56])
    }
}

/// Two pages.
#[repr(C, align(4096))]
struct Lines([Line; 128]);
