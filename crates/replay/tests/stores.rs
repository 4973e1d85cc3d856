//! Threads share out work among themselves. On a chip that starts threads later, the first threads
//! do more of it. The replay of a recording from another chip must predict that; with the recorded
//! shares, it would not.

mod common;

use baton_chip::{Chip, Options, Simulated, Simulation};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Owned, Wait};
use baton_replay::compile::{Probes, Work, compile_with};
use baton_replay::run::{Choice, Setup, run};
use baton_sync::lock::RawLock;
use baton_sync::lock::futex::Futex;
use baton_trace::{Lock, Mode, SiteId, Trace, What};
use common::note;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

const THREADS: u32 = 4;
const ITEMS: u64 = 240;
const WAIT: Wait = Wait::Futex;

/// The length of an item in cycles: every twelfth item is long, the others are short.
fn length(item: u64) -> u64 {
    if item.is_multiple_of(12) { 30_000 } else { 2000 + 37 * (item % 11) }
}

/// Takes items until there are none left. A wait for the lock is short beside an item, so each
/// acquisition is recorded as one without a wait.
fn worker(lock: &Futex<Simulated>, next: &Cell<u64>) {
    loop {
        let (name, mode, site) = (Lock::mutex(0x1000), Mode::Exclusive, SiteId(1));
        lock.lock(WAIT);
        note(What::Acquire { lock: name, mode, site });
        let item = next.get();
        next.set(item + 1);
        Simulated::work(Cycles(50));
        note(What::Release { lock: name, mode, site });
        // SAFETY: this guest took the lock above, with the same wait policy.
        unsafe { lock.unlock((), WAIT) };
        if item >= ITEMS {
            break;
        }
        Simulated::work(Cycles(length(item)));
    }
}

/// Runs the program itself on a chip. Returns the trace and the time of the run.
fn direct(chip: &Chip) -> (Trace, u64) {
    let mut simulation = Simulation::new(chip, &Options { record: true, ..Options::default() }).unwrap();
    let lock = simulation.outside(|| Rc::new(Owned::<Simulated, Futex<Simulated>>::new(Futex::new())));
    let next = Rc::new(Cell::new(0));
    let (trace, time) = common::in_threads(simulation, THREADS, move |_| {
        let (lock, next) = (lock.clone(), next.clone());
        move || worker(&lock, &next)
    });
    (trace, time.0)
}

fn replayed(trace: &Trace, chip: &Chip, work: Work) -> u64 {
    let program = Arc::new(compile_with(trace, chip, Probes::Kept, work));
    assert_eq!(program.stores.len(), usize::from(work == Work::Shared));
    assert_eq!(program.replayability.dynamic == 0, work == Work::Shared);
    let setup = Setup::new(Choice { lock: "futex".into(), wait: WAIT }, chip.cpus());
    run(&program, chip, &setup).unwrap().time.0
}

#[test]
fn who_comes_first_takes_the_next_item() {
    let cores = ["core.count=5", "core.per_cluster=5"];
    let here = common::chip(&cores);
    // Threads start 400,000 cycles and more apart, so that the first thread has done much of the
    // work before the last one starts.
    let there = common::chip(&[cores[0], cores[1], "os.thread_create=400000"]);
    let (trace, _) = direct(&here);
    let (_, truth) = direct(&there);
    let error = |work| replayed(&trace, &there, work) as f64 / truth as f64 - 1.0;
    let (shared, recorded) = (error(Work::Shared), error(Work::AsRecorded));
    assert!(shared.abs() < 0.05, "{shared:+.3} shared");
    assert!(recorded > 0.1, "{recorded:+.3} as recorded: the last thread has its whole share before it");
    // On the chip of the recording, both ways of sharing out predict the time.
    let (_, own) = direct(&here);
    for work in [Work::Shared, Work::AsRecorded] {
        let error = replayed(&trace, &here, work) as f64 / own as f64 - 1.0;
        assert!(error.abs() < 0.05, "{error:+.3} on the recorded chip, {work:?}");
    }
}
