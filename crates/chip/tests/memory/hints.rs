//! Prefetches and pushes: where they bring a line, to the cycle, and that nothing goes wrong when
//! they race with misses, evictions and upgrades. (Debug builds check every value that is read and,
//! at the end, which cache holds which line.)

use crate::common;
use crate::common::Cell as Data;
use baton_chip::{Chip, Options, Outcome, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::*, Owned, PushTo, units::Cycles};
use baton_units::CoreId;
use std::cell::Cell;
use std::rc::Rc;

/// `ocor64` with 16 cores and caches of 4 KiB, which evict soon.
fn chip(settings: &[&str]) -> Chip {
    let fixed = ["noise.start=0", "core.width=0", "core.atomics=near", "l1.size_bytes=4096", "l1.ways=2"];
    let all: Vec<String> = fixed.iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_at(include_str!("../../../../chips/ocor64.toml"), "ocor64", Some(16), &all).expect("a right chip")
}

fn on(core: u32, after: u64) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], after: Cycles(after), ..Spawn::default() }
}

#[repr(align(128))]
struct Apart(Data<u64>);

/// What a guest does with the lines.
type Act = fn(&[Apart; 64]);

type Lines = Rc<Owned<Simulated, [Apart; 64]>>;

fn lines(simulation: &mut Simulation) -> Lines {
    common::share(simulation, || std::array::from_fn(|_| Apart(Atomic::new(0))))
}

fn at(line: &Apart) -> *const u8 {
    std::ptr::from_ref(line).cast()
}

/// Runs acts one after the other on their cores, far apart in time. Returns how long the last one
/// took, and the outcome.
fn sequence(chip: &Chip, acts: &[(u32, Act)]) -> (u64, Outcome) {
    let mut simulation = Simulation::new(chip, &Options::default()).unwrap();
    let lines = lines(&mut simulation);
    let took = Rc::new(Cell::new(0));
    for (turn, &(core, act)) in acts.iter().enumerate() {
        let (lines, took) = (lines.clone(), took.clone());
        let body = move || {
            let start = act::time();
            act(&lines);
            took.set((act::time() - start).0);
        };
        simulation.spawn(on(core, 50_000 * turn as u64), body).unwrap();
    }
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    (took.get(), outcome)
}

fn load(lines: &[Apart; 64]) {
    let _ = lines[3].0.load(Acquire);
}
fn store(lines: &[Apart; 64]) {
    lines[3].0.store(7, Relaxed);
    Simulated::fence(SeqCst);
}

#[test]
fn a_prefetched_line_is_there() {
    let chip = chip(&[]);
    let hit = chip.coherent.as_ref().unwrap().l1.latency.0;
    let fetch: Act = |lines| Simulated::prefetch(at(&lines[3]), 8, false);
    let own: Act = |lines| Simulated::prefetch(at(&lines[3]), 8, true);
    let add: Act = |lines| _ = lines[3].0.fetch_add(1, Relaxed);
    let (took, outcome) = sequence(&chip, &[(2, fetch), (2, load)]);
    assert_eq!((took, outcome.memory.misses), (hit, 1), "read");
    assert_eq!(sequence(&chip, &[(2, own), (2, add)]).0, hit + chip.cache.atomic.0, "written");
    // A copy that was prefetched for reading is not enough to write if another core has a copy,
    // too: the addition needs an upgrade.
    let (took, outcome) = sequence(&chip, &[(5, load), (2, fetch), (2, add)]);
    assert!(took > 2 * hit && outcome.memory.upgrades == 1, "{took} {:?}", outcome.memory);
    // A hint takes a cycle per line and waits for nothing.
    let range: Act = |lines| Simulated::prefetch(at(&lines[3]).wrapping_add(100), 29, false);
    assert_eq!(sequence(&chip, &[(2, range)]).0, 2, "29 bytes on two lines");
    assert_eq!(sequence(&chip, &[(2, |lines| Simulated::prefetch(at(&lines[3]), 0, true))]).0, 0);
}

#[test]
fn a_range_of_prefetches_hides_its_misses() {
    let read: Act = |lines| (0..16).for_each(|line| _ = lines[line].0.load(Acquire));
    let ahead: Act = |lines| {
        Simulated::prefetch(at(&lines[0]), 16 * 128, false);
        (0..16).for_each(|line| _ = lines[line].0.load(Acquire));
    };
    let chip = chip(&["core.rob=4"]);
    let (serial, overlapped) = (sequence(&chip, &[(2, read)]).0, sequence(&chip, &[(2, ahead)]).0);
    assert!(3 * overlapped < serial, "{overlapped} against {serial}");
}

#[test]
fn a_pushed_line_is_where_it_was_pushed_to() {
    let chip = chip(&[]);
    let hit = chip.coherent.as_ref().unwrap().l1.latency.0;
    let home: Act = |lines| Simulated::prepush(at(&lines[3]), 8, PushTo::SharedLevel);
    let there: Act = |lines| Simulated::prepush(at(&lines[3]), 8, PushTo::Core(CoreId(9)));
    // Core 9 reads a line that core 2 has written: in three hops without a push, from the home's
    // bank after a push home, and from its own cache after a push to core 9.
    let (three, without) = sequence(&chip, &[(2, store), (9, load)]);
    let (bank, with) = sequence(&chip, &[(2, store), (2, home), (9, load)]);
    assert!(without.memory.transfers == 1 && with.memory.transfers == 0 && bank < three, "{bank} against {three}");
    assert_eq!(with.memory.shared_hits, without.memory.shared_hits + 1);
    let (near, pushed) = sequence(&chip, &[(2, store), (2, there), (9, load)]);
    assert_eq!(near, hit);
    assert_eq!(pushed.cores[9].misses, 0);
    // The core that pushed the line has given it up, and misses.
    let (again, outcome) = sequence(&chip, &[(2, store), (2, home), (2, load)]);
    assert!(again > hit && outcome.cores[2].misses == 2, "{again}");
}

/// A push takes effect after the stores before it: the line has their values when it is given up.
#[test]
fn a_push_waits_for_the_stores_before_it() {
    let both: Act = |lines| {
        lines[3].0.store(9, Relaxed);
        Simulated::prepush(at(&lines[3]), 8, PushTo::SharedLevel);
    };
    let seen: Act = |lines| assert_eq!(lines[3].0.load(Acquire), 9);
    let (_, outcome) = sequence(&chip(&[]), &[(2, both), (9, seen)]);
    assert_eq!((outcome.memory.transfers, outcome.memory.shared_hits), (0, 1), "{:?}", outcome.memory);
    // Without a store buffer, the store is complete when the push begins.
    let (_, outcome) = sequence(&chip(&["core.store_buffer=0"]), &[(2, both), (9, seen)]);
    assert_eq!((outcome.memory.transfers, outcome.memory.shared_hits), (0, 1), "{:?}", outcome.memory);
}

#[test]
fn pushes_that_cannot_be_do_nothing() {
    for to in [CoreId(2), CoreId(16), CoreId(u32::MAX)] {
        thread_local!(static TO: Cell<CoreId> = const { Cell::new(CoreId(0)) });
        TO.set(to);
        let act: Act = |lines| {
            Simulated::prepush(at(&lines[3]), 8, PushTo::Core(TO.get()));
            Simulated::fence(SeqCst);
        };
        let (_, outcome) = sequence(&chip(&[]), &[(2, store), (2, act), (2, load)]);
        assert_eq!(outcome.cores[2].misses, 1, "to {to}");
    }
}

/// Every core reads, writes, adds to, prefetches and pushes the same lines at once. There are more
/// lines than its cache holds, so pushes meet misses, evictions, upgrades and each other.
fn storm(settings: &[&str], seed: u64) -> Outcome {
    let chip = chip(settings);
    let mut simulation = Simulation::new(&chip, &Options { seed, ..Options::default() }).unwrap();
    let cells = lines(&mut simulation);
    const ROUNDS: u64 = 60;
    for core in 0..16u32 {
        let cells = cells.clone();
        let body = move || {
            let mut state = seed * 977 + u64::from(core) * 0x9e37_79b9 + 1;
            let mut next = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            for _ in 0..ROUNDS {
                // Few lines are hot, and others evict them.
                let line = if next(3) == 0 { next(63) } else { next(6) } as usize;
                let cell = &cells[line];
                match next(10) {
                    0 | 1 => _ = cell.0.load(Acquire),
                    2 => cell.0.store(cell.0.load(Relaxed), Release),
                    3 => Simulated::prefetch(at(cell), 256.min((64 - line) * 128), false),
                    4 => Simulated::prefetch(at(cell), 8, true),
                    5 => Simulated::prepush(at(cell), 8, PushTo::SharedLevel),
                    6 | 7 => Simulated::prepush(at(cell), 8, PushTo::Core(CoreId(next(16) as u32))),
                    // SAFETY: the range lies within the lines, and is only read.
                    8 => unsafe { Simulated::touch(at(cell).cast_mut(), (64 - line).min(12) * 128, false) },
                    _ => {}
                }
                // No addition to the last line is lost, though this line is prefetched and read as
                // part of ranges, too.
                cells[63].0.fetch_add(1, AcqRel);
            }
        };
        simulation.spawn(on(core, 0), body).unwrap();
    }
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("seed {seed}: {stuck}"));
    let counted = simulation.outside(|| cells[63].0.load(Relaxed));
    assert_eq!(counted, 16 * ROUNDS, "seed {seed}");
    outcome
}

#[test]
fn pushes_race_with_everything() {
    for (settings, seeds) in [
        (&[][..], 2),
        (&["home.policy=nonblocking", "network.vcs=1"][..], 2),
        (&["core.atomics=far", "l1.mshrs=2"][..], 2),
        (&["core.atomics=llsc", "core.store_queue=8"][..], 2),
        (&["shared.inclusion=inclusive", "directory.kind=pointers(2)"][..], 2),
    ] {
        for seed in 1..=seeds {
            let outcome = storm(settings, seed);
            assert!(outcome.finished && outcome.memory.evictions > 0, "{settings:?}");
        }
    }
}

#[test]
fn hints_take_a_cycle_on_a_chip_of_fixed_latencies() {
    let chip = common::cores(2, &["core.store_buffer=4"]);
    let acts: [Act; 2] = [
        |lines| Simulated::prefetch(at(&lines[3]), 128, true),
        |lines| Simulated::prepush(at(&lines[3]), 128, PushTo::SharedLevel),
    ];
    let lines = 128 / u64::from(chip.cache.line_bytes);
    for act in acts {
        let (took, outcome) = sequence(&chip, &[(0, act)]);
        assert_eq!((took, outcome.memory.fetches), (lines, 0));
    }
}
