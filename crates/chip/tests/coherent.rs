//! The coherent memory system under load: every lock runs on it, nothing is left over, and the same seed gives the same
//! history. In debug builds the memory system itself checks each value read against a golden memory.

mod common;

use baton_chip::{Chip, Options, Outcome, Simulated, Simulation, Spawn};
use baton_machine::{Atomic, Machine, Ordering::*, Owned, Wait, units::Cycles};
use baton_sync::lock::{LOCKS, LockVisitor, RawLock, visit};
use std::rc::Rc;

fn ocor(settings: &[&str]) -> Chip {
    let all: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_with(include_str!("../../../chips/ocor64.toml"), "ocor64.toml", &all).expect("a right chip")
}

struct Contend<'a> {
    chip: &'a Chip,
    threads: u32,
    turns: u32,
    wait: Wait,
}

impl LockVisitor<Simulated> for Contend<'_> {
    type Out = Outcome;

    fn visit<L: RawLock<Simulated>>(self) -> Outcome {
        let options = Options { threads: self.threads as usize, ..Options::default() };
        let mut simulation = Simulation::new(self.chip, &options).unwrap();
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
    let chip = ocor(&[]);
    for lock in LOCKS {
        for wait in [Wait::Spin, Wait::SpinPark(9)] {
            if lock.wait(Some(wait)).is_err() {
                continue;
            }
            let run = || visit(lock.name, Contend { chip: &chip, threads: 16, turns: 4, wait }).unwrap();
            let outcome = run();
            assert!(outcome.finished && outcome.memory.flit_hops > 0, "{}", lock.name);
            assert!(outcome == run(), "{} {wait}: the same history", lock.name);
        }
    }
}
