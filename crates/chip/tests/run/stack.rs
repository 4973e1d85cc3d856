//! Every cycle of every thread has one reason, on both kinds of chip, for runs that end and runs
//! that are cut off.

use baton_chip::{Chip, Options, Outcome, Simulated, Simulation, Spawn};
use baton_machine::{Atomic, Machine, Ordering::*, Owned, Wait, units::Cycles};
use baton_sync::lock::RawLock;
use baton_sync::lock::ticket::Ticket;
use std::rc::Rc;

const SAMPLE: &str = include_str!("../../../../chips/sample-host.toml");
const OCOR: &str = include_str!("../../../../chips/ocor64.toml");

/// Runs threads that compute, take a lock, write and read shared cells, and now and then read the
/// range of all cells.
fn run(chip: &Chip, wait: Wait, limit: Option<u64>, seed: u64) -> Outcome {
    let options = Options { seed, limit: limit.map(Cycles), ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).unwrap();
    let (lock, cells) = simulation.outside(|| {
        let cell = |_| Owned::<Simulated, <Simulated as Machine>::Atomic<u64>>::new(Atomic::new(0));
        (
            Rc::new(Owned::<Simulated, Ticket<Simulated>>::new(Ticket::new())),
            Rc::new((0..40).map(cell).collect::<Vec<_>>()),
        )
    });
    for thread in 0..6u64 {
        let (lock, cells) = (lock.clone(), cells.clone());
        let range = cells.first().map_or(std::ptr::null_mut(), |cell| cell.as_ptr().cast::<u8>());
        let bytes = cells.last().map_or(0, |cell| cell.as_ptr().addr() - range.addr());
        simulation
            .spawn(Spawn::default(), move || {
                for round in 0..30 {
                    Simulated::work(Cycles(20 + thread * 7));
                    lock.lock(wait);
                    cells[0].fetch_add(1, Relaxed);
                    cells[(round as usize * 3) % 40].store(round, Relaxed);
                    // SAFETY: locked above, with the same policy.
                    unsafe { lock.unlock((), wait) };
                    cells[(round as usize * 7) % 40].load(Acquire);
                    if round % 8 == thread {
                        // SAFETY: the range is the cells' own memory, which is only read.
                        unsafe { Simulated::touch(range, bytes, false) };
                    }
                    Simulated::fence(SeqCst);
                }
            })
            .unwrap();
    }
    simulation.run().unwrap()
}

fn check(outcome: &Outcome) {
    for thread in &outcome.threads {
        let stack = thread.cycle_stack(outcome.cycles);
        let sum: u64 = stack.iter().map(|(_, cycles)| cycles.0).sum();
        assert_eq!(sum, outcome.cycles.0, "{}: {stack:?}", thread.name);
        let mut names: Vec<_> = stack.iter().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), stack.len(), "a reason stands twice: {stack:?}");
    }
}

fn of(outcome: &Outcome, why: &str) -> u64 {
    let threads = outcome.threads.iter();
    threads
        .flat_map(|thread| thread.cycle_stack(outcome.cycles))
        .filter(|(name, _)| *name == why)
        .map(|(_, c)| c.0)
        .sum()
}

#[test]
fn stacks_sum_to_the_run() {
    let fixed = Chip::from_toml(SAMPLE, "sample").unwrap().resized(4).unwrap();
    let settings = ["core.atomics=near".to_owned()];
    let coherent = Chip::from_toml_at(OCOR, "ocor64", Some(4), &settings).unwrap();
    for chip in [&fixed, &coherent] {
        for wait in [Wait::Spin, Wait::SpinPark(8)] {
            let whole = run(chip, wait, None, 1);
            assert!(whole.finished);
            check(&whole);
            assert!(of(&whole, "computing") > 0 && of(&whole, "atomic") > 0, "{whole:?}");
            assert_eq!(of(&whole, "under_way"), 0);
            for cut in 1..9 {
                let part = run(chip, wait, Some(whole.cycles.0 * cut / 10), 1);
                assert!(!part.finished);
                check(&part);
            }
        }
    }
    let whole = run(&coherent, Wait::Spin, None, 1);
    for why in ["l1", "home", "network", "remote_cache", "memory", "store_buffer", "flush"] {
        assert!(of(&whole, why) > 0, "no cycle went to {why}: {whole:?}");
    }
    let accesses: u64 = whole.cores.iter().map(|core| core.hits + core.l2_hits + core.misses + core.upgrades).sum();
    assert!(whole.cores.len() == 4 && accesses >= 6 * 30 * 4, "{:?}", whole.cores);
    assert_eq!(whole.cores.iter().map(|core| core.hits).sum::<u64>(), whole.memory.hits);
}
