//! Each kind of transaction takes, on an idle chip, exactly the cycles that the chip file and the
//! distance say.
//!
//! The tests have the formulas of `Prices` once more, written out by hand; `docs/reference/chip.md`
//! and `docs/reference/memory.md` list them.

use crate::common;
use baton_chip::{Chip, Options, Prices, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::*, Owned, units::Cycles};
use baton_units::CoreId;
use std::cell::Cell;
use std::rc::Rc;

/// `ocor64` on a mesh of 4x4, with buffers that hold a packet, stores that are waited for, and no
/// instructions between accesses.
fn chip(settings: &[&str]) -> Chip {
    let fixed = [
        "core.count=16",
        "core.per_cluster=16",
        "network.width=4",
        "network.height=4",
        "network.buffer=8",
        "home.banks=16",
        "dram.controllers=2",
        "dram.placement=corners",
        "noise.start=0",
        "core.store_buffer=0",
        "core.width=0",
        "core.atomics=near",
        "cache.atomic=7",
        "directory.latency=5",
        "network.local=3",
        "home.atomic=4",
    ];
    let all: Vec<String> = fixed.iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_with(include_str!("../../../../chips/ocor64.toml"), "ocor64.toml", &all).expect("a right chip")
}

/// The chip above, and the same with a private second level, in which every miss of the first is
/// looked up, too.
fn both(settings: &[&str]) -> [Chip; 2] {
    let l2 = ["l2.size_bytes=65536", "l2.ways=8", "l2.latency=9", "l2.replacement=lru", "l2.mshrs=16"];
    [chip(settings), chip(&[settings, &l2].concat())]
}

/// The chip file's latencies, and the formula of one message.
struct Formula {
    l1: u64,
    /// The latencies of all private levels together.
    lookup: u64,
    directory: u64,
    bank: u64,
    atomic: u64,
    home_atomic: u64,
    local: u64,
    control: u64,
    data: u64,
    row_miss: u64,
    row_hit: u64,
    transfer: u64,
}

impl Formula {
    fn of(chip: &Chip) -> Formula {
        let coherent = chip.coherent.as_ref().expect("coherent");
        let l2 = coherent.l2.map_or(0, |l2| l2.latency.0);
        Formula {
            l1: coherent.l1.latency.0,
            lookup: coherent.l1.latency.0 + l2,
            directory: coherent.directory.latency.0,
            bank: coherent.shared.expect("a shared level").bank.latency.0,
            atomic: chip.cache.atomic.0,
            home_atomic: coherent.home.atomic.0,
            local: coherent.network.local.0,
            control: u64::from(coherent.network.control_flits),
            data: u64::from(coherent.network.data_flits),
            row_miss: coherent.dram.row_miss.0,
            row_hit: coherent.dram.row_hit.0,
            transfer: (f64::from(chip.cache.line_bytes) / coherent.dram.bytes_per_cycle).ceil() as u64,
        }
    }

    /// A message from node to node: a cycle to the network interface, one into the network, one out
    /// of it and one to the arrival, two cycles a router (allocation, traversal), one a link, and
    /// one for each further flit.
    fn way(&self, from: u64, to: u64, flits: u64) -> u64 {
        if from == to {
            return self.local;
        }
        let routers = (from % 4).abs_diff(to % 4) + (from / 4).abs_diff(to / 4) + 1;
        1 + 1 + 2 * routers + (routers - 1) + 1 + 1 + (flits - 1)
    }

    fn ask(&self, from: u64, to: u64) -> u64 {
        self.way(from, to, self.control)
    }

    fn line(&self, from: u64, to: u64) -> u64 {
        self.way(from, to, self.data)
    }
}

type Data = common::Cell<u32>;

/// A cell alone in its line. There are more of them than a core's caches hold.
#[repr(align(128))]
struct Apart(Data);

/// The core on which an act runs, and what the act does with the cells.
type Act = (u32, fn(&[Apart], usize));

const LINES: usize = 4096;

/// Runs `before` one after the other, far apart in time, then `then`. Returns how long `then`
/// takes, and the number of the line that the acts use: the first one of the array whose home is
/// `home`.
fn timed(chip: &Chip, home: u64, before: &[Act], then: Act) -> (u64, u64) {
    let options = Options { heap_bytes: 8 << 20, ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).unwrap();
    let cells = simulation.outside(|| {
        let cells: Vec<Apart> = (0..LINES).map(|_| Apart(Atomic::new(0))).collect();
        let cells: Box<[Apart; LINES]> = cells.try_into().unwrap_or_else(|_| panic!("as many as asked for"));
        Rc::new(Owned::<Simulated, [Apart; LINES]>::new(*cells))
    });
    let first = simulation.outside(|| act::offset_of(&raw const cells[0])) / 128;
    let at = (0..16).find(|at| (first + at) % 16 == home).expect("a home every 16 lines") as usize;
    let took = Rc::new(Cell::new(0));
    for (turn, &(core, acts)) in before.iter().chain([&then]).enumerate() {
        let (cells, took) = (cells.clone(), took.clone());
        let spawn = Spawn { affinity: vec![CoreId(core)], after: Cycles(50_000 * turn as u64), ..Spawn::default() };
        let body = move || {
            let start = act::time();
            acts(&cells[..], at);
            took.set((act::time() - start).0);
        };
        simulation.spawn(spawn, body).unwrap();
    }
    simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    (took.get(), first + at as u64)
}

fn load(cells: &[Apart], at: usize) {
    let _ = cells[at].0.load(Relaxed);
}
fn store(cells: &[Apart], at: usize) {
    cells[at].0.store(1, Relaxed);
}
fn add(cells: &[Apart], at: usize) {
    let _ = cells[at].0.fetch_add(1, Relaxed);
}
/// Reads other lines of the same set until the cell's line is gone from the private caches.
fn push_out(cells: &[Apart], at: usize) {
    for turn in 1..24 {
        let _ = cells[(at + turn * 64) % LINES].0.load(Relaxed);
    }
}
fn load_twice(cells: &[Apart], at: usize) {
    load(cells, at);
    Simulated::work(Cycles(2_000));
}

#[test]
fn hits() {
    let chip = chip(&[]);
    let f = Formula::of(&chip);
    fn one_then(first: fn(&[Apart], usize), second: fn(&[Apart], usize), cells: &[Apart], at: usize) {
        first(cells, at);
        let start = act::time();
        second(cells, at);
        HIT.set((act::time() - start).0);
    }
    thread_local!(static HIT: Cell<u64> = const { Cell::new(0) });
    let cases: [(Act, u64); 4] = [
        ((2, |cells, at| one_then(load, load, cells, at)), f.l1),
        ((2, |cells, at| one_then(load, store, cells, at)), f.l1),
        ((2, |cells, at| one_then(store, load, cells, at)), f.l1),
        ((2, |cells, at| one_then(store, add, cells, at)), f.l1 + f.atomic),
    ];
    for (then, price) in cases {
        timed(&chip, 5, &[], then);
        assert_eq!(HIT.get(), price);
    }
}

#[test]
fn a_hit_in_the_second_level() {
    let [_, chip] = both(&["l1.replacement=lru"]);
    let f = Formula::of(&chip);
    thread_local!(static HIT: Cell<u64> = const { Cell::new(0) });
    let then: fn(&[Apart], usize) = |cells, at| {
        // The first level has four ways: four other lines of its set push the line out, and the
        // second keeps it.
        (0..5).for_each(|turn| load(cells, (at + turn * 64) % LINES));
        let start = act::time();
        load(cells, at);
        HIT.set((act::time() - start).0);
    };
    timed(&chip, 5, &[], (2, then));
    assert_eq!(HIT.get(), f.lookup);
    assert!(f.lookup > f.l1);
}

#[test]
fn memory_and_bank() {
    for chip in &both(&[]) {
        let f = Formula::of(chip);
        for (core, home) in [(0, 5), (15, 0), (7, 7), (3, 12)] {
            for (then, atomic) in [(load as fn(&[Apart], usize), 0), (store, 0), (add, f.atomic)] {
                let (took, line) = timed(chip, home, &[], (core, then));
                let controller = [0, 15][line as usize % 2];
                let memory = f.ask(home, controller) + f.row_miss + f.transfer + f.line(controller, home);
                let core = u64::from(core);
                let price = f.lookup + f.ask(core, home) + f.directory + memory + f.line(home, core) + atomic;
                assert_eq!(took, price, "memory: core {core}, home {home}");
            }
            // The line is in its home's bank, and in no core's cache.
            let (took, _) = timed(chip, home, &[(1, load), (1, push_out)], (core, load));
            let core = u64::from(core);
            assert_eq!(
                took,
                f.lookup + f.ask(core, home) + f.bank + f.line(home, core),
                "bank: core {core}, home {home}"
            );
        }
    }
}

#[test]
fn three_hops() {
    for chip in &both(&[]) {
        let f = Formula::of(chip);
        for (core, home, owner) in [(0, 5, 10), (15, 0, 3), (7, 7, 2), (3, 12, 12), (4, 9, 9)] {
            for first in [load as fn(&[Apart], usize), store] {
                for (then, atomic) in [(load as fn(&[Apart], usize), 0), (store, 0), (add, f.atomic)] {
                    let (took, _) = timed(chip, home, &[(owner, first)], (core as u32, then));
                    let owner = u64::from(owner);
                    let way = f.ask(core, home) + f.directory + f.ask(home, owner) + f.lookup + f.line(owner, core);
                    assert_eq!(took, f.lookup + way + atomic, "core {core}, home {home}, owner {owner}");
                }
            }
        }
    }
}

#[test]
fn upgrades() {
    for chip in &both(&[]) {
        let f = Formula::of(chip);
        for (core, home, other) in [(0u64, 5u64, 10u64), (15, 0, 3), (7, 7, 2), (1, 14, 14)] {
            // `other` is the owner, `core` a sharer; the upgrade tells `core` to await one
            // acknowledgement.
            thread_local!(static UPGRADE: Cell<u64> = const { Cell::new(0) });
            let then: fn(&[Apart], usize) = |cells, at| {
                load_twice(cells, at);
                let start = act::time();
                store(cells, at);
                UPGRADE.set((act::time() - start).0);
            };
            timed(chip, home, &[(other as u32, load)], (core as u32, then));
            // The core found the line in its nearest level before it asked for the upgrade.
            let asked = f.l1 + f.ask(core, home) + f.directory;
            // The home's node sends one flit a cycle: first the count of acknowledgements, then the
            // invalidation.
            let second = u64::from(home != core && home != other);
            let acknowledged = second + f.ask(home, other) + f.lookup + f.ask(other, core);
            let price = asked + f.ask(home, core).max(acknowledged);
            assert_eq!(UPGRADE.get(), price, "core {core}, home {home}, other {other}");
        }
    }
}

#[test]
fn far_atomics() {
    for chip in &both(&["core.atomics=far"]) {
        let f = Formula::of(chip);
        for (core, home, owner) in [(0u64, 5u64, 10u64), (15, 0, 3), (7, 7, 2)] {
            let ask = f.lookup + f.ask(core, home);
            let done = f.bank + f.home_atomic + f.ask(home, core);
            let (took, _) = timed(chip, home, &[(1, load), (1, push_out)], (core as u32, add));
            assert_eq!(took, ask + done, "at the home: core {core}, home {home}");
            // A dirty copy is first recalled to the home.
            let (took, _) = timed(chip, home, &[(owner as u32, store)], (core as u32, add));
            let recall = f.directory + f.ask(home, owner) + f.lookup + f.line(owner, home);
            assert_eq!(took, ask + recall + done, "recalled: core {core}, home {home}, owner {owner}");
        }
    }
}

#[test]
fn an_open_row_is_nearer() {
    for chip in &both(&["dram.controllers=1", "dram.banks=1"]) {
        let f = Formula::of(chip);
        let near: fn(&[Apart], usize) = |cells, at| load(cells, at + 16);
        let (took, _) = timed(chip, 6, &[(9, load)], (2, near));
        let memory = f.ask(6, 0) + f.row_hit + f.transfer + f.line(0, 6);
        assert_eq!(took, f.lookup + f.ask(2, 6) + f.directory + memory + f.line(6, 2));
    }
}

#[test]
fn links() {
    let chip = chip(&["core.atomics=llsc"]);
    let f = Formula::of(&chip);
    thread_local!(static LINK: [Cell<u64>; 2] = const { [Cell::new(0), Cell::new(0)] });
    let then: fn(&[Apart], usize) = |cells, at| {
        store(cells, at);
        let start = act::time();
        add(cells, at);
        let middle = act::time();
        let _ = cells[at].0.compare_exchange(77, 1, Relaxed, Relaxed);
        LINK.with(|took| {
            took[0].set((middle - start).0);
            took[1].set((act::time() - middle).0);
        });
    };
    timed(&chip, 5, &[], (2, then));
    assert_eq!(LINK.with(|took| took[0].get()), 2 * f.l1, "a read and a write that hit");
    assert_eq!(LINK.with(|took| took[1].get()), f.l1, "a compare-exchange that fails only reads");
    // Another core owns the line: the load-linked takes three hops, and the store-conditional an
    // upgrade.
    let (core, home, owner) = (0, 5, 10);
    let (took, _) = timed(&chip, home, &[(owner as u32, store)], (core as u32, add));
    let read = f.l1 + f.ask(core, home) + f.directory + f.ask(home, owner) + f.lookup + f.line(owner, core);
    let ask = f.l1 + f.ask(core, home) + f.directory;
    // The load's unblock leaves the core a cycle before the upgrade's request, and the count of
    // acknowledgements leaves the home a cycle before the invalidation.
    let write = 1 + ask + f.ask(home, core).max(1 + f.ask(home, owner) + f.lookup + f.ask(owner, core));
    assert_eq!(took, read + write);
}

#[test]
fn prices_are_the_formulas() {
    for chip in &both(&[]) {
        let f = Formula::of(chip);
        let prices = Prices::of(chip).unwrap();
        let mean = |way: &dyn Fn(u64) -> u64| Cycles(((0..16).map(way).sum::<u64>() + 8) / 16);
        assert_eq!((prices.hit, prices.l2), (Cycles(f.l1), (f.lookup > f.l1).then_some(Cycles(f.lookup))));
        let bank = mean(&|home| f.lookup + f.ask(0, home) + f.bank + f.line(home, 0));
        assert_eq!(prices.bank, Some(bank));
        let transfer = mean(&|home| f.lookup + f.ask(0, home) + f.directory + f.ask(home, 1) + f.lookup + f.line(1, 0));
        assert_eq!(prices.transfer.same_cluster, transfer);
        let upgrade = mean(&|home| {
            let second = u64::from(home > 1);
            let acknowledged = second + f.ask(home, 1) + f.lookup + f.ask(1, 0);
            f.l1 + f.ask(0, home) + f.directory + f.ask(home, 0).max(acknowledged)
        });
        assert_eq!(prices.upgrade.same_cluster, upgrade);
    }
}

/// `Prices` gives for transfer and upgrade what the simulation takes, as the mean over all homes,
/// with one private level and with two.
#[test]
fn prices_are_what_the_simulation_takes() {
    thread_local!(static TOOK: Cell<u64> = const { Cell::new(0) });
    let loads: fn(&[Apart], usize) = load;
    let upgrades: fn(&[Apart], usize) = |cells, at| {
        load_twice(cells, at);
        let start = act::time();
        store(cells, at);
        TOOK.set((act::time() - start).0);
    };
    for chip in &both(&[]) {
        let prices = Prices::of(chip).unwrap();
        let (mut transfer, mut upgrade) = (0, 0);
        for home in 0..16 {
            transfer += timed(chip, home, &[(1, load)], (0, loads)).0;
            timed(chip, home, &[(1, load)], (0, upgrades));
            upgrade += TOOK.get();
        }
        let simulated = (Cycles((transfer + 8) / 16), Cycles((upgrade + 8) / 16));
        assert_eq!((prices.transfer.same_cluster, prices.upgrade.same_cluster), simulated);
    }
}

/// On the coherent sample a hit, a line in another core's cache and memory cost what the fixed
/// sample's keys say; the second level and the bank cost what its own comments say.
#[test]
fn prices_of_the_samples() {
    let text = |name| std::fs::read_to_string(format!("{}/../../chips/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let sample = |name| Prices::of(&Chip::from_toml(&text(name), name).unwrap()).unwrap();
    let (coherent, fixed) = (sample("sample-host-coherent.toml"), sample("sample-host.toml"));
    assert_eq!((coherent.hit, coherent.memory), (fixed.hit, fixed.memory));
    assert_eq!(coherent.transfer.same_cluster, fixed.transfer.same_cluster);
    assert_eq!((coherent.l2, coherent.bank), (Some(Cycles(14)), Some(Cycles(50))));
}

/// The directory is slower than the bank: a request that the bank answers takes the bank's time,
/// any other the directory's.
#[test]
fn a_far_directory() {
    let chip = chip(&["directory.latency=90"]);
    let f = Formula::of(&chip);
    let (took, _) = timed(&chip, 5, &[(1, load), (1, push_out)], (0, load));
    assert_eq!(took, f.l1 + f.ask(0, 5) + f.bank + f.line(5, 0), "bank");
    let (took, _) = timed(&chip, 5, &[(10, store)], (0, load));
    assert_eq!(took, f.l1 + f.ask(0, 5) + 90 + f.ask(5, 10) + f.lookup + f.line(10, 0), "another cache");
}
