//! Code outside of guests uses the cells of its own simulation only. Without the check, two host
//! threads could race on one cell in safe code.

use super::common::{self, cores, simulation};
use baton_chip::{Options, Simulated, Simulation, Spawn, Stop};
use baton_machine::{Atomic, Machine, Ordering, Ordering::Relaxed, Owned};
use baton_units::Cycles;
use std::panic::{AssertUnwindSafe, catch_unwind};

type Cell = common::Cell<u64>;

fn new() -> Simulation {
    simulation(&cores(1, &[]))
}

fn cell(simulation: &mut Simulation) -> Owned<Simulated, Cell> {
    simulation.outside(|| Owned::new(Cell::new(7)))
}

/// What the panic says with which `f` ends.
fn refused<R>(f: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).err().expect("the access was carried out");
    panic.downcast::<String>().map_or_else(|_| panic!("no sentence"), |said| *said)
}

/// Each way to use a cell, tried in another simulation than the cell's.
fn every_way(cell: &Cell, simulation: &mut Simulation) {
    let ways: [fn(&Cell); 6] = [
        |cell| _ = cell.load(Relaxed),
        |cell| cell.store(1, Relaxed),
        |cell| _ = cell.swap(1, Relaxed),
        |cell| _ = cell.compare_exchange(7, 1, Relaxed, Relaxed),
        |cell| _ = cell.fetch_add(1, Relaxed),
        |cell| cell.store(1, Ordering::SeqCst),
    ];
    for way in ways {
        let said = refused(|| simulation.outside(|| way(cell)));
        assert!(said.contains("not in the memory of its simulation"), "{said}");
    }
}

#[test]
fn a_cell_of_another_simulation_is_refused() {
    let (mut own, mut other) = (new(), new());
    let cell = cell(&mut own);
    every_way(&cell, &mut other);
    assert_eq!(own.outside(|| cell.load(Relaxed)), 7);
    own.outside(|| drop(cell));
}

/// The race that the check forbids: another host thread with a simulation of its own.
#[test]
fn another_host_thread_is_refused() {
    let mut own = new();
    let cell = cell(&mut own);
    std::thread::scope(|scope| scope.spawn(|| every_way(&cell, &mut new())).join()).expect("each way is refused");
    assert_eq!(own.outside(|| cell.load(Relaxed)), 7);
    own.outside(|| drop(cell));
}

/// A cell on the host's stack belongs to no simulation.
#[test]
fn a_cell_outside_of_guest_memory_is_refused() {
    every_way(&Cell::new(7), &mut new());
}

/// After a refused access the simulation goes on.
#[test]
fn a_simulation_goes_on_after_a_refusal() {
    let mut own = new();
    let cell = cell(&mut own);
    refused(|| own.outside(|| Cell::new(1).load(Relaxed)));
    assert_eq!(own.outside(|| cell.fetch_add(1, Relaxed)), 7);
    assert!(own.run().expect("there is no thread").finished);
    assert_eq!(own.outside(|| cell.load(Relaxed)), 8);
    own.outside(|| drop(cell));
}

/// A run that would not end by itself ends when it is asked to: here from inside, so that the cycle is known.
#[test]
fn a_run_ends_when_it_is_asked_to() {
    let stop = Stop::default();
    let options = Options { stop: Some(stop.clone()), ..Options::default() };
    let mut simulation = Simulation::new(&cores(1, &[]), &options).unwrap();
    let asked = stop.clone();
    let forever = move || {
        for round in 0_u64.. {
            if round == 10 {
                asked.now();
            }
            Simulated::work(Cycles(1000));
        }
    };
    simulation.spawn(Spawn::default(), forever).unwrap();
    let outcome = simulation.run().unwrap();
    assert!(!outcome.finished && stop.is_asked());
    // The thread starts at cycle 5,000.
    assert_eq!(outcome.cycles, Cycles(15_000));
}
