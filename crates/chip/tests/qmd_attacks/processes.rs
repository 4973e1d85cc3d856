//! Processes that share devices, on a chip whose contexts look queue ids up in a table of the
//! process (QIMU): what a process may do with another's queues, that a queue given back is gone
//! from every context, and that a switch of process makes the context forget translations.

use super::shared::{allocate, chip, on};
use super::{ask, call, get, put};
use baton_chip::config::Chip;
use baton_chip::{App, Application, Options, Outcome, Runs, Simulated, Simulation, Spawn, act, moving};
use baton_machine::device::{Device, Payload, Words};
use baton_machine::queues::{Operand, QueueId, QueueRefusal, QueueRequest};
use baton_machine::units::Cycles;
use std::cell::Cell;
use std::rc::Rc;

/// Runs two processes, each with a thread on its core of `cores`. The first gets the second one's
/// `App`, to which it may grant queues.
pub(super) fn processes(
    chip: &Chip,
    cores: [u32; 2],
    first: impl FnOnce(App) + 'static,
    second: impl Fn() + 'static,
) -> Outcome {
    let options = Options { limit: Some(Cycles(50_000_000)), ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).expect("the host has memory");
    let main = Spawn { ..on(cores[1]) };
    let other = Application { name: "other".to_owned(), runs: Runs::Times(1), start: Cycles(0), main };
    let app = simulation.application(other, second).expect("there is a core");
    simulation.spawn(on(cores[0]), move || first(app)).expect("there is a core");
    let outcome = simulation.run().expect("it ends");
    assert!(outcome.finished, "cut off");
    outcome
}

pub(super) fn with(settings: &[&str]) -> Chip {
    chip(&["device.qimu=16", "device.qtlb=4"].iter().chain(settings).copied().collect::<Vec<_>>())
}

pub(super) fn count(outcome: &Outcome, name: &str) -> u64 {
    let counts = outcome.devices.iter().flat_map(|device| &device.counts);
    counts.filter(|(known, _)| *known == name).map(|(_, count)| count).sum()
}

/// A process can use neither the ids that another process has for its queues nor the device's own
/// ids.
#[test]
fn an_id_is_of_no_use_in_another_process() {
    let owner = |_| {
        let queue = allocate(4, 1);
        (0..4).for_each(|item| assert_eq!(ask(put(queue, item)), Ok(0)));
        act::delay(Cycles(50_000));
        (0..4).for_each(|item| assert_eq!(ask(get(queue)), Ok(item), "nothing was taken or put"));
    };
    let thief = || {
        act::delay(Cycles(20_000));
        for id in [0, 1, 15, 16, 0xfff, 1 << 12, 1 << 31, u32::MAX].map(QueueId) {
            assert_eq!(ask(get(id)), Err(QueueRefusal::NoQueue));
            assert_eq!(ask(put(id, 9)), Err(QueueRefusal::NoQueue));
            assert_eq!(call(QueueRequest::Release(id)), Err(QueueRefusal::NoQueue));
            assert_eq!(moving::migrate(id, 0), Err(QueueRefusal::NoQueue));
            assert_eq!(moving::home_of(id), None);
        }
        let own = allocate(4, 1);
        assert_eq!(own, QueueId(0), "the same id, and another queue");
        assert_eq!(ask(put(own, 77)), Ok(0));
        assert_eq!(ask(get(own)), Ok(77));
        for id in [16, 0xfff].map(QueueId) {
            assert_eq!(ask(get(id)), Err(QueueRefusal::NoQueue));
        }
    };
    let outcome = processes(&with(&[]), [0, 3], owner, thief);
    assert_eq!(count(&outcome, "qimu_refused"), 18, "they never left the core");
    assert_eq!(count(&outcome, "qtlb_misses"), 2, "an id that is out of range makes no walk");
    assert_eq!(count(&outcome, "refused"), 0, "the device has not seen them");
}

/// A process that may only put cannot take, nor give the queue back, nor move it, nor give it on.
#[test]
fn a_permission_is_for_one_direction() {
    let owner = |other| {
        let queue = allocate(4, 1);
        let granted = moving::grant(queue, other, [true, false]);
        assert_eq!(granted, Ok(QueueId(0)));
        act::delay(Cycles(50_000));
        assert_eq!(ask(get(queue)), Ok(5));
    };
    let other = || {
        act::delay(Cycles(20_000));
        let queue = QueueId(0);
        assert_eq!(ask(put(queue, 5)), Ok(0));
        assert_eq!(ask(get(queue)), Err(QueueRefusal::Refused));
        assert_eq!(call(QueueRequest::Release(queue)), Err(QueueRefusal::Refused));
        assert_eq!(moving::migrate(queue, 0), Err(QueueRefusal::Refused));
        let itself = Simulated::device(0).expect("there is one");
        // The same dequeue as bare words, past the typed protocol: the QIMU must refuse it by the
        // queue's id in the words.
        let Words { tag, words } = get(queue).to_words();
        assert_ne!(itself.request(tag, [words[0], 0]).wait().status, 0);
    };
    processes(&with(&[]), [0, 3], owner, other);
}

/// When a process gives a queue back, every context forgets its translation, and a new queue in its
/// place has another id.
#[test]
fn a_freed_queue_is_gone_from_every_context() {
    let owner = |other| {
        let queue = allocate(4, 1);
        moving::grant(queue, other, [true, true]).expect("there is room");
        act::delay(Cycles(30_000));
        assert_eq!(call(QueueRequest::Release(queue)), Ok(1));
        let next = allocate(4, 1);
        assert_ne!(next, queue);
        act::delay(Cycles(50_000));
        assert_eq!(ask(get(queue)), Err(QueueRefusal::NoQueue));
        let operand = Operand { mode: baton_machine::queues::Mode::Try, ..Operand::of(next) };
        assert_eq!(ask(QueueRequest::Dequeue { from: operand }), Err(QueueRefusal::Empty), "none came here");
    };
    let other = || {
        act::delay(Cycles(20_000));
        assert_eq!(ask(put(QueueId(0), 5)), Ok(0));
        act::delay(Cycles(40_000));
        assert_eq!(ask(put(QueueId(0), 6)), Err(QueueRefusal::NoQueue));
    };
    processes(&with(&[]), [0, 3], owner, other);
}

/// A program cannot ask for the steps by which the operating system moves queues, with or without a
/// QIMU.
#[test]
fn a_program_cannot_do_the_operating_systems_steps() {
    for chip in [with(&[]), chip(&[])] {
        let body = |_| {
            let queue = allocate(4, 1);
            assert_eq!(ask(put(queue, 5)), Ok(0));
            let device = Simulated::device(0).expect("there is one");
            for tag in 64..80 {
                assert_ne!(device.call(tag, [0, 0]).status, 0, "{tag}");
                assert_ne!(device.request(tag, [0, 0]).wait().status, 0, "{tag}");
            }
            assert_eq!(ask(get(queue)), Ok(5));
        };
        processes(&chip, [0, 3], body, || {});
    }
}

/// Two processes take turns on a core: each switch between them flushes the context's translations,
/// so each process walks again.
#[test]
fn a_switch_to_another_process_flushes() {
    let rounds = 5;
    let work = move || {
        let queue = allocate(4, 1);
        for item in 0..rounds {
            assert_eq!(ask(put(queue, item)), Ok(0));
            assert_eq!(ask(get(queue)), Ok(item));
            // While this thread sleeps, the other process has the core.
            act::delay(Cycles(50_000));
        }
    };
    let outcome = processes(&with(&[]), [0, 0], move |_| work(), work);
    let [hits, misses, flushes] = ["qtlb_hits", "qtlb_misses", "qtlb_flushes"].map(|name| count(&outcome, name));
    assert_eq!((misses, hits), (2 * rounds, 2 * rounds), "each round walks once");
    assert_eq!(flushes, 2 * rounds, "each round leaves one behind");
    // On cores of their own each walks once.
    let outcome = processes(&with(&[]), [0, 3], move |_| work(), work);
    assert_eq!((count(&outcome, "qtlb_misses"), count(&outcome, "qtlb_flushes")), (2, 0));
}

/// A process floods another one's queue, which moves meanwhile, with dequeues that it may not make
/// and with wrong ids. The two threads that use the queue lose nothing.
#[test]
fn a_flood_while_a_queue_moves_harms_no_other() {
    let passed = Rc::new(Cell::new(0));
    let out = passed.clone();
    let owner = move |other| {
        let queue = allocate(8, 1);
        moving::grant(queue, other, [true, false]).expect("there is room");
        let consumer = move || {
            for item in 0..200 {
                assert_eq!(ask(get(queue)), Ok(item));
                out.set(out.get() + 1);
            }
        };
        let consumer = act::spawn(on(1), consumer);
        for item in 0..200 {
            assert_eq!(ask(put(queue, item)), Ok(0));
            if item % 20 == 0 {
                let home = moving::home_of(queue).expect("it is there");
                moving::migrate(queue, 1 - home).expect("there is room");
            }
        }
        act::join(consumer);
    };
    let flood = || {
        while act::time().0 < 200_000 {
            for id in [1, 16, 1 << 12].map(QueueId) {
                drop(super::device().request(get(id)));
            }
            drop(super::device().request(get(QueueId(0))));
        }
    };
    let settings = ["device.count=2", "device.call=20", "device.qmd.queues=64"];
    let outcome = processes(&with(&settings), [0, 3], owner, flood);
    assert_eq!(passed.get(), 200);
    assert_eq!(count(&outcome, "queues_moved"), 10);
    assert!(count(&outcome, "qimu_refused") > 1_000);
}
