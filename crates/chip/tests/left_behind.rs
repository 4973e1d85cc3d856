//! What a simulation leaves mapped if its guests are cut short: the guest memory that they held,
//! and nothing else of what it had reserved; nothing at all if it is discarded. (A sweep makes
//! thousands of runs in one process.) The test is alone in its program, because it reads what the
//! process has mapped.

use baton_chip::{Chip, Options, Simulated, Simulation, Spawn};
use baton_machine::Ordering::Relaxed;
use baton_machine::{Atomic, Machine, Owned};
use baton_units::Cycles;
use std::fs;
use std::rc::Rc;

const RUNS: u64 = 200;
/// The most bytes that a run may leave mapped. The word, the heap's other blocks and the kernel's
/// memory are far less; a single stack with its guard page is a quarter of a mebibyte.
const MOST_BYTES: u64 = 128 * 1024;

type Word = Owned<Simulated, <Simulated as Machine>::Atomic<u64>>;

/// Cuts off a run of three guests that share a word and work for ever. Returns the word too.
fn cut_short(chip: &Chip) -> (Simulation, Rc<Word>) {
    let options = Options { limit: Some(Cycles(100_000)), threads: 1000, ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).expect("the chip has cores");
    let word = simulation.outside(|| Rc::new(Word::new(Atomic::new(0))));
    for _ in 0..3 {
        let word = word.clone();
        let guest = move || {
            loop {
                word.fetch_add(1, Relaxed);
                Simulated::work(Cycles(100));
            }
        };
        simulation.spawn(Spawn::default(), guest).expect("there is room for a stack");
    }
    let outcome = simulation.run().expect("guests that work are not stuck");
    assert!(!outcome.finished && simulation.outside(|| word.load(Relaxed)) > 100);
    (simulation, word)
}

/// The number of the process's mappings, and their bytes of address space.
fn mapped() -> (u64, u64) {
    let maps = fs::read_to_string("/proc/self/maps").expect("Linux tells what is mapped");
    let bytes = |line: &str| {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        u64::from_str_radix(to, 16).unwrap() - u64::from_str_radix(from, 16).unwrap()
    };
    (maps.lines().count() as u64, maps.lines().map(bytes).sum())
}

#[test]
fn guests_that_are_cut_short_leave_what_they_held_and_no_more() {
    let chip = Chip::from_toml(include_str!("../../../chips/sample-host.toml"), "sample-host.toml").unwrap();
    drop(cut_short(&chip));
    let before = mapped();
    let held: Vec<_> = (0..RUNS).map(|_| cut_short(&chip).1).collect();
    let after = mapped();
    assert!(after.0 <= before.0 + RUNS + 16, "mappings: {} became {}", before.0, after.0);
    assert!(after.1 <= before.1 + RUNS * MOST_BYTES, "bytes mapped: {} became {}", before.1, after.1);
    // The guests' three references to the word are never dropped.
    assert!(held.iter().all(|word| Rc::strong_count(word) == 4));

    for _ in 0..RUNS {
        let (mut simulation, word) = cut_short(&chip);
        simulation.outside(|| drop(word));
        // SAFETY: the word was the only guest memory that is known here.
        unsafe { simulation.discard() };
    }
    let discarded = mapped();
    assert!(discarded.0 <= after.0 + 16, "mappings: {} became {}", after.0, discarded.0);
    assert!(discarded.1 <= after.1 + (16 << 20), "bytes mapped: {} became {}", after.1, discarded.1);
}
