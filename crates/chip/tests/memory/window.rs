//! The window: accesses that do not depend on each other are under way at once, as many as there
//! are entries for; accesses that depend on each other are not. Stores ask for their lines ahead,
//! and are seen in order all the same.

use crate::common::{Alone, Shared, cell, cores};
use baton_chip::{Chip, Options, Outcome, Reason, Simulated, Simulation, Spawn, WindowSize, act};
use baton_machine::{Atomic, Machine, Ordering::*, Owned, OwnedSlice, units::Cycles};
use baton_units::CoreId;
use std::cell::Cell;
use std::rc::Rc;

const LINE: usize = 128;

/// `ocor64` with 16 cores.
fn coherent(settings: &[&str]) -> Chip {
    let all: Vec<String> = ["noise.start=0"].iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_at(include_str!("../../../../chips/ocor64.toml"), "ocor64", Some(16), &all).expect("a right chip")
}

fn on(core: u32) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }
}

/// How long a guest that runs alone takes for `act` on a range of `lines` lines that no cache
/// holds.
fn alone(chip: &Chip, lines: usize, act: impl FnOnce(*mut u8) + 'static) -> (u64, Outcome) {
    let mut simulation = Simulation::new(chip, &Options::default()).unwrap();
    let took = Rc::new(Cell::new(0));
    let out = took.clone();
    let body = move || {
        let range = OwnedSlice::<Simulated, [u64; 16]>::new(lines + 1, |_| [0; 16]);
        // The range begins at the beginning of a line.
        let start = range.as_ptr().cast::<u8>().cast_mut();
        let start = start.wrapping_add(
            act::offset_of(start).next_multiple_of(LINE as u64) as usize - act::offset_of(start) as usize,
        );
        let begin = act::time();
        act(start);
        out.set((act::time() - begin).0);
    };
    simulation.spawn(on(0), body).unwrap();
    let outcome = simulation.run().unwrap();
    (took.get(), outcome)
}

fn read(lines: usize) -> impl FnOnce(*mut u8) {
    // SAFETY: `alone` gives a range of as many lines.
    move |start| unsafe { Simulated::touch(start, lines * LINE, false) }
}

/// On a chip where every miss takes the same time, a walk takes, to the cycle, what its entries
/// allow: a load issues each cycle while there is room, and the oldest load leaves first.
#[test]
fn a_walk_takes_what_its_entries_allow() {
    const LINES: usize = 100;
    for (rob, load_queue, most) in [(4, 64, 1), (7, 64, 1), (8, 64, 2), (64, 64, 16), (64, 5, 5), (4096, 4096, LINES)] {
        let settings = ["cache.line_bytes=128", &format!("core.rob={rob}"), &format!("core.load_queue={load_queue}")];
        let chip = cores(2, &settings);
        let memory = chip.cache.memory.0;
        let (took, outcome) = alone(&chip, LINES, read(LINES));
        let mut due: Vec<u64> = Vec::new();
        let mut now = 0;
        for load in 0..LINES {
            if most == 1 {
                // With one load at a time, issuing takes no cycle of its own.
                now += memory;
            } else {
                now = now.max(if load < most { 0 } else { due[load - most] }) + 1;
                due.push(now + memory);
            }
        }
        assert_eq!(took, due.last().copied().unwrap_or(now), "rob {rob}, load queue {load_queue}");
        let thread = &outcome.threads[0];
        let stack: u64 = thread.cycle_stack(outcome.cycles).iter().map(|(_, cycles)| cycles.0).sum();
        assert_eq!(stack, outcome.cycles.0);
        assert_eq!(
            thread.time(Reason::Memory).0 + thread.time(Reason::Work).0,
            outcome.cycles.0 - thread.born.0 - switch(&outcome)
        );
    }
}

fn switch(outcome: &Outcome) -> u64 {
    let thread = &outcome.threads[0];
    [Reason::Switch, Reason::Asleep, Reason::Waking, Reason::Ready, Reason::Kernel]
        .iter()
        .map(|&why| thread.time(why).0)
        .sum()
}

#[test]
fn each_resource_bounds_a_walk_of_missing_lines() {
    let took = |settings: &[&str]| alone(&coherent(settings), 256, read(256)).0;
    for key in ["core.rob", "core.load_queue", "l1.mshrs"] {
        // Each load takes four entries of the reorder buffer, for itself and three other
        // instructions.
        let scale = if key == "core.rob" { 4 } else { 1 };
        let times: Vec<u64> = [1, 2, 4, 8, 16]
            .iter()
            .map(|entries| {
                took(&["core.rob=512", "core.load_queue=128", "l1.mshrs=64", &format!("{key}={}", entries * scale)])
            })
            .collect();
        for pair in times.windows(2) {
            // With twice the entries, the walk takes about half the time.
            assert!(10 * pair[1] < 7 * pair[0] && 10 * pair[1] > 4 * pair[0], "{key}: {times:?}");
        }
    }
}

/// The window sizes under which studies report: the smallest behaves like single entries, and the
/// largest has more entries of each kind than `ocor64`.
#[test]
fn sizes_of_windows() {
    let chip = coherent(&[]);
    let took = |chip: &Chip| alone(chip, 256, read(256)).0;
    let smallest = chip.clone().with_window(WindowSize::Smallest);
    assert_eq!(took(&smallest), took(&coherent(&["core.rob=1", "core.load_queue=1", "core.store_queue=1"])));
    let largest = chip.clone().with_window(WindowSize::Largest);
    assert!(took(&largest) <= took(&chip) && 4 * took(&chip) < took(&smallest));
    for (own, larger) in [(&chip.core, &largest.core), (&smallest.core, &chip.core)] {
        assert!(own.rob < larger.rob && own.load_queue < larger.load_queue && own.store_queue < larger.store_queue);
    }
    // Numbers of entries above the largest size's stay, and a chip of fixed latencies gets no
    // entries that it cannot use.
    let beyond = coherent(&["core.rob=2000", "l1.mshrs=100"]);
    let same = beyond.clone().with_window(WindowSize::Largest);
    assert_eq!((same.core.rob, same.coherent.map(|coherent| coherent.l1.mshrs)), (2000, Some(100)));
    let fixed = cores(2, &[]).with_window(WindowSize::Largest);
    assert_eq!((fixed.core.store_queue, fixed.core.store_buffer), (0, 0));
    assert!(WindowSize::NAMES.iter().all(|name| WindowSize::named(name).is_some()));
}

#[test]
fn what_depends_on_the_access_before_is_serial() {
    let took = |rob: u32| {
        let walk = |start: *mut u8| {
            for line in 0..64 {
                // SAFETY: `alone` gives a range of as many lines.
                unsafe { Simulated::touch(start.add(line * LINE), 8, false) };
            }
        };
        alone(&coherent(&[&format!("core.rob={rob}")]), 64, walk).0
    };
    assert_eq!(took(4), took(512));
}

#[test]
fn stores_ask_for_their_lines_ahead() {
    // SAFETY: `alone` gives a range of as many lines.
    let write = |start: *mut u8| unsafe {
        Simulated::touch(start, 64 * LINE, true);
        Simulated::fence(SeqCst);
    };
    let took = |queue: u32| alone(&coherent(&[&format!("core.store_queue={queue}")]), 64, write).0;
    let times: Vec<u64> = [1, 2, 4, 8, 16].map(took).to_vec();
    for pair in times.windows(2) {
        assert!(10 * pair[1] < 7 * pair[0] && 10 * pair[1] > 4 * pair[0], "{times:?}");
    }
    assert_eq!(took(0), took(1), "none is the oldest alone");
}

/// Stores of one thread are seen in order by other threads, in whatever order their lines arrive
/// (x86-TSO).
#[test]
fn stores_that_asked_ahead_are_seen_in_order() {
    for seed in 0..12 {
        let chip = coherent(&["core.store_queue=8", "core.store_buffer=8"]);
        let options = Options { seed, ..Options::default() };
        let mut simulation = Simulation::new(&chip, &options).unwrap();
        let cells: Vec<Shared<Alone<u32>>> = (0..6).map(|_| cell(&mut simulation, 0u32)).collect();
        let theirs = cells.clone();
        simulation
            .spawn(on(seed as u32 % 16), move || {
                for round in 1..=60 {
                    theirs.iter().for_each(|cell| cell.0.store(round, Release));
                    Simulated::work(Cycles(u64::from(round) * (7 + seed) % 100));
                }
            })
            .unwrap();
        for reader in 0..3u64 {
            let cells = cells.clone();
            simulation
                .spawn(on((seed as u32 + 5 + 3 * reader as u32) % 16), move || {
                    let mut before = 0;
                    while before < 60 {
                        Simulated::work(Cycles(before as u64 * 3 % (11 + 20 * reader)));
                        for cell in cells.iter().rev() {
                            let seen = cell.0.load(Acquire);
                            assert!(seen >= before, "seed {seed}: {seen} after {before}");
                            before = seen;
                        }
                        before = cells[5].0.load(Acquire);
                    }
                })
                .unwrap();
        }
        simulation.run().unwrap();
    }
}

/// The bytes per cycle that all cores together read from memory, or write if `write`.
fn bandwidth(chip: &Chip, write: bool) -> f64 {
    const BYTES: usize = 32 * 1024;
    let mut simulation = Simulation::new(chip, &Options::default()).unwrap();
    for core in 0..16 {
        let body = move || {
            let range = Owned::<Simulated, [u64; BYTES / 8]>::new([0; BYTES / 8]);
            // SAFETY: the range is this guest's own.
            unsafe { Simulated::touch(range.as_ptr().cast(), BYTES, write) };
        };
        simulation.spawn(on(core), body).unwrap();
    }
    let outcome = simulation.run().unwrap();
    16.0 * BYTES as f64 / outcome.cycles.0 as f64
}

#[test]
fn a_stream_saturates_the_controllers() {
    let reach = |controllers: u32, write| {
        // Waking up takes no time on this chip, so that every core streams from the beginning.
        let chip = coherent(&[&format!("dram.controllers={controllers}"), "dram.placement=corners", "os.wake_idle=0"]);
        let most =
            f64::from(controllers) * chip.coherent.as_ref().map_or(0.0, |coherent| coherent.dram.bytes_per_cycle);
        (bandwidth(&chip, write), most)
    };
    for write in [false, true] {
        for controllers in [2, 4] {
            let (got, most) = reach(controllers, write);
            assert!(
                got <= most && got > 0.85 * most,
                "{controllers} controllers give {got:.2} of {most:.2} bytes a cycle"
            );
        }
    }
}
