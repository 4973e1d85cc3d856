//! Where the spin row of table 1 of Anastopoulos and Koziris comes from: the paper's own work, a
//! matrix multiplication whose loads are made here one by one, and what each mechanism has to do
//! with the worker's slowdown and with the spinner's wake-up. Nothing here is fitted;
//! `docs/results/waiting.md` shows the tables and says what they rule out.

use crate::common;
use crate::common::cell;
use baton_chip::{Chip, Reason, Simulated, Spawn, act};
use baton_machine::{Atomic, Clock, Machine, Ordering::*, Wait, units::Cycles};
use baton_units::CpuId;
use std::cell::Cell;
use std::rc::Rc;

/// The paper's matrices: 512 by 512 numbers of eight bytes.
const ORDER: usize = 512;
/// The number of inner products that are computed here; the paper has 512 times 512.
const PRODUCTS: usize = 6;

fn chip(settings: &[&str]) -> Chip {
    let settings: Vec<String> = ["noise.start=0"].iter().chain(settings).map(|&setting| setting.to_owned()).collect();
    Chip::from_toml_with(include_str!("../../../../chips/netburst-ht.toml"), "netburst-ht.toml", &settings)
        .expect("right")
}

fn on(cpu: u32) -> Spawn {
    Spawn { cpus: vec![CpuId(cpu)], ..Spawn::default() }
}

/// How long a worker takes for `work` beside a sibling that waits by `wait`.
fn beside(chip: &Chip, wait: Wait, work: impl FnOnce() + 'static) -> u64 {
    let mut simulation = common::simulation(chip);
    let done = cell(&mut simulation, 0u32);
    let took = Rc::new(Cell::new(0));
    let (waits, result) = (done.clone(), took.clone());
    simulation.spawn(on(1), move || _ = Simulated::wait_while(&waits.0, 0, wait, None)).unwrap();
    let worker = move || {
        act::delay(Cycles(1_000_000));
        let start = act::time().0;
        work();
        result.set(act::time().0 - start);
        done.0.store(1, Release);
        Simulated::wake(&raw const done.0, 1, wait);
    };
    simulation.spawn(on(0), worker).unwrap();
    simulation.run().unwrap_or_else(|stuck| panic!("{wait}: {stuck}"));
    took.get()
}

/// Computes inner products of a row with columns. An iteration of the loop has two loads and takes
/// `entries` entries of the reorder buffer. All lines of a column fall into one set of the L1,
/// `sets` sets behind that of the cell on which the sibling waits.
fn products(entries: u32, sets: usize) {
    let layout = std::alloc::Layout::from_size_align(2 * ORDER * ORDER * 8 + 4096, 4096).expect("a layout");
    let row = Simulated::alloc(layout).as_ptr().addr();
    let columns = row + ORDER * ORDER * 8 + sets * 64;
    for column in 0..PRODUCTS {
        let turn = |k: usize| [row + k * 8, columns + (k * ORDER + column) * 8];
        act::load_all((0..ORDER).flat_map(turn).map(|at| at as *const f64), entries / 2);
    }
}

/// For loops whose iteration takes 6 to 12 entries of the reorder buffer: the cycles of an
/// iteration beside a sibling that sleeps, and how much longer it takes beside a sibling that spins
/// with PAUSE and beside one with a monitor.
#[test]
fn the_papers_work_is_slowed_down_by_what_it_needs_of_the_window() {
    let (mut rows, mut slowdowns) = (String::new(), Vec::new());
    let chip = chip(&[]);
    for entries in [6, 8, 10, 12] {
        let took = |wait| beside(&chip, wait, move || products(entries, 16)) as f64;
        let alone = took(Wait::Futex);
        let [pause, mwmon] = [Wait::Pause, Wait::Mwmon].map(|wait| took(wait) / alone);
        rows += &format!("| {entries} | {:.0} | {pause:.2} | {mwmon:.2} |\n", alone / (PRODUCTS * ORDER) as f64);
        assert!((mwmon - 1.0).abs() < 0.05, "who stands still gives everything back: {mwmon}");
        slowdowns.push(pause);
    }
    println!("{rows}");
    assert!(
        include_str!("../../../../docs/results/waiting.md").contains(&rows),
        "docs/results/waiting.md has no\n{rows}"
    );
    // A computation that only the window bounds becomes √2 times as long. The paper's work is
    // slowed down less than that, and its slowdown grows with the entries that an iteration takes.
    assert!(slowdowns.is_sorted() && slowdowns.iter().all(|&slowdown| slowdown < 1.41), "{slowdowns:?}");
    // A column in the set of the monitored line evicts this line: the idle wait ends again and
    // again, and the core changes its mode each time.
    let took = |wait| beside(&chip, wait, move || products(8, 0));
    assert!(took(Wait::Mwmon) > took(Wait::Pause), "{} {}", took(Wait::Mwmon), took(Wait::Pause));
}

/// The time from the worker's time stamp before its store to the waiter's after its wait, as the
/// paper measures it, and the waiter's time in flushes. Both read the clock if `stamps`; after its
/// wait the waiter reads `cold` lines that no cache has.
fn wake_up(wait: Wait, stamps: bool, cold: usize) -> (u64, u64) {
    let chip = chip(&[]);
    let mut simulation = common::simulation(&chip);
    let notice = cell(&mut simulation, 0u32);
    let lines: Vec<_> = (0..cold).map(|_| cell(&mut simulation, 0u32)).collect();
    let figures = Rc::new(Cell::new((0, 0)));
    let (waits, of_waiter, of_worker) = (notice.clone(), figures.clone(), figures.clone());
    let waiter = move || {
        let _ = Simulated::wait_while(&waits.0, 0, wait, None);
        lines.iter().for_each(|line| _ = line.0.load(Relaxed));
        if stamps {
            Simulated::now(Clock::Monotonic);
        }
        of_waiter.set((of_waiter.get().0, act::time().0));
    };
    let worker = move || {
        notice.0.load(Relaxed);
        act::delay(Cycles(1_000_000));
        Simulated::work(Cycles(100_000));
        of_worker.set((act::time().0, 0));
        if stamps {
            Simulated::now(Clock::Monotonic);
        }
        notice.0.store(1, Release);
    };
    simulation.spawn(on(1), waiter).unwrap();
    simulation.spawn(on(0), worker).unwrap();
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{wait}: {stuck}"));
    let (from, to) = figures.get();
    (to - from, outcome.threads[0].time(Reason::Flush).0)
}

#[test]
fn what_a_wake_up_of_584_cycles_is_made_of() {
    let rows: String = [
        ("as modelled", Wait::Pause, false, 0),
        ("both read the clock, as a measurement must", Wait::Pause, true, 0),
        ("and PAUSE does not prevent the flush (Intel: it does)", Wait::Spin, true, 0),
        ("one line behind the wait that no cache has", Wait::Pause, true, 1),
        ("two such lines", Wait::Pause, true, 2),
    ]
    .into_iter()
    .map(|(what, wait, stamps, cold)| format!("| {what} | {} |\n", wake_up(wait, stamps, cold).0))
    .collect();
    println!("{rows}");
    assert!(
        include_str!("../../../../docs/results/waiting.md").contains(&rows),
        "docs/results/waiting.md has no\n{rows}"
    );
    // A sibling's store empties the pipeline of a waiter that spins without PAUSE, and of no other.
    let flush = chip(&[]).core.flush.0;
    assert_eq!((wake_up(Wait::Spin, false, 0).1, wake_up(Wait::Pause, false, 0).1), (flush, 0));
}
