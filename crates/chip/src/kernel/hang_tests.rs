//! The report of a run that hangs because the memory system has lost a message. Only debug builds
//! can lose one.

#![cfg(debug_assertions)]

use crate::{Chip, Options, Simulated, Simulation, Spawn};
use baton_coherence::Kind;
use baton_machine::{Atomic, Machine, Ordering::Relaxed, Owned};
use baton_memory::MemorySystem;
use baton_units::CoreId;
use std::rc::Rc;

/// A chip of 2x2 cores with caches of a few lines.
fn tiny() -> Chip {
    let settings = [
        "core.count=4",
        "core.per_cluster=4",
        "network.width=2",
        "network.height=2",
        "home.banks=4",
        "dram.controllers=2",
        "dram.placement=corners",
        "l1.size_bytes=512",
        "l1.ways=2",
        "l1.mshrs=3",
        "core.atomics=near",
        "shared.size_bytes=512",
        "shared.ways=2",
        "dram.row_hit=9",
        "dram.row_miss=19",
    ];
    let all: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_with(include_str!("../../../../chips/ocor64.toml"), "ocor64.toml", &all).expect("a right chip")
}

const CORES: u32 = 4;

/// Four threads add to four cells of one home, and the memory system loses the next message of this
/// kind. Returns the run's report.
fn hang(kind: Kind, settings: impl Fn(&mut Chip)) -> String {
    let mut chip = tiny();
    settings(&mut chip);
    chip.core.store_buffer = 0;
    let mut simulation = Simulation::new(&chip, &Options::default()).expect("it can be built");
    type Cells = [<Simulated as Machine>::Atomic<u32>; 512];
    let cells = simulation.outside(|| Rc::new(Owned::<Simulated, Cells>::new([const { 0 }; 512].map(Atomic::new))));
    match simulation.memory() {
        MemorySystem::Small(memory) => memory.lose_next(kind),
        _ => unreachable!("a chip of four cores"),
    }
    for core in 0..CORES {
        let cells = cells.clone();
        let spawn = Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
        let body = move || {
            for turn in 0..100 {
                // These lines have the same home: with 4 homes, and 32 cells per line.
                cells[turn % 4 * 128].fetch_add(1, Relaxed);
            }
        };
        simulation.spawn(spawn, body).expect("room for it");
    }
    simulation.run().expect_err("it hangs").to_string()
}

#[test]
fn a_hang_says_who_waits_for_what() {
    let text = hang(Kind::Unblock, |_| {});
    assert!(text.contains("thread 0"), "{text}");
    assert!(text.contains("in state X_U") && text.contains("1 answer(s) awaited"), "{text}");
    assert!(text.contains("GetM of core") && text.contains("in state IM_AD"), "{text}");

    let text = hang(Kind::DataM, |_| {});
    assert!(text.contains("in state IM_AD") && text.contains("in state X_U"), "{text}");

    // The home has one place, which the request that waits for the lost message occupies. The other
    // requests stay in the network.
    let text = hang(Kind::Unblock, |chip| {
        let config = chip.coherent.as_mut().expect("coherent");
        config.home.places = 1;
    });
    assert!(text.contains("packet(s) are in the network") && text.contains("is on its way to Home"), "{text}");
    assert!(text.contains("virtual channel") && text.contains("waits for a credit"), "{text}");
}
