//! The store buffer: what enters and leaves it and when, to the cycle; what waits for it; and that
//! all stores become visible in order.

use crate::common;
use crate::common::{Alone, Shared, cell, simulation};
use baton_chip::{Chip, Outcome, Reason, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::*, Owned, Slot, Wait, WaitResult, units::Cycles};
use baton_units::CoreId;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Four cores in one cluster, with store buffers of `entries` entries.
fn buffered(entries: u32) -> Chip {
    common::cores(4, &[&format!("core.store_buffer={entries}")])
}

fn on(core: u32) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }
}

fn timed(act: impl FnOnce()) -> u64 {
    let start = act::time();
    act();
    (act::time() - start).0
}

type Cells = Vec<Shared<Alone<u32>>>;

/// Runs `body` alone on core 0, with cells that no cache holds. Returns the result of `body`, the
/// outcome, and the cells.
fn alone<R: 'static>(chip: &Chip, cells: usize, body: impl FnOnce(&Cells) -> R + 'static) -> (R, Outcome, Cells) {
    let mut simulation = simulation(chip);
    let cells: Cells = (0..cells).map(|_| cell(&mut simulation, 0u32)).collect();
    let out = Rc::new(RefCell::new(None));
    let (inside, theirs) = (out.clone(), cells.clone());
    simulation.spawn(on(0), move || *inside.borrow_mut() = Some(body(&theirs))).unwrap();
    let outcome = simulation.run().unwrap();
    let result = out.borrow_mut().take().unwrap();
    let values: Vec<u32> = simulation.outside(|| cells.iter().map(|cell| cell.0.load(Relaxed)).collect());
    assert!(!values.is_empty() || cells.is_empty());
    (result, outcome, cells)
}

#[test]
fn a_store_takes_a_cycle_and_its_line_comes_behind_its_back() {
    let chip = buffered(2);
    let memory = chip.cache.memory.0;
    let (times, outcome, _) = alone(&chip, 4, |cells| {
        let stores: Vec<u64> = cells.iter().map(|cell| timed(|| cell.0.store(1, Release))).collect();
        (stores, timed(|| Simulated::fence(SeqCst)))
    });
    // Two stores enter at once. Each of the others waits until the store at the head has its line;
    // the lines come one after the other.
    let (stores, fence) = times;
    assert_eq!(stores, [1, 1, memory, memory], "stores");
    // The fourth store entered a cycle after the second had left: the fence waits for two lines,
    // less that cycle.
    assert_eq!(fence, 2 * memory - 1 + chip.core.fence.0);
    let thread = &outcome.threads[0];
    assert_eq!(thread.time(Reason::StoreBuffer).0, 2 * (memory - 1) + 2 * memory - 1);
}

#[test]
fn without_entries_a_store_waits_for_its_line() {
    let chip = buffered(0);
    let memory = chip.cache.memory.0;
    let (took, outcome, _) = alone(&chip, 1, |cells| timed(|| cells[0].0.store(1, Release)));
    assert_eq!((took, outcome.threads[0].time(Reason::StoreBuffer).0), (memory, 0));
}

#[test]
fn a_load_sees_its_own_newest_store_at_the_price_of_a_hit() {
    let chip = buffered(8);
    let hit = chip.cache.hit.0;
    let (seen, _, _) = alone(&chip, 1, |cells| {
        cells[0].0.store(1, Relaxed);
        cells[0].0.store(2, Relaxed);
        let mut value = 0;
        let took = timed(|| value = cells[0].0.load(Acquire));
        (value, took)
    });
    assert_eq!(seen, (2, hit));
}

#[test]
fn a_load_that_needs_part_of_a_store_waits_until_it_has_left() {
    #[repr(C, align(8))]
    struct Halves([common::Cell<u32>; 2]);
    let chip = buffered(8);
    let mut simulation = simulation(&chip);
    let halves = common::share(&mut simulation, || Halves([Atomic::new(7), Atomic::new(9)]));
    let took = Rc::new(Cell::new(0));
    let (theirs, out) = (halves.clone(), took.clone());
    simulation
        .spawn(on(0), move || {
            theirs.0[1].store(3, Relaxed);
            // SAFETY: the eight bytes are aligned, and both halves are cells.
            let both = unsafe { &*std::ptr::from_ref(&theirs.0).cast::<common::Cell<u64>>() };
            out.set(timed(|| assert_eq!(both.load(Relaxed), 3 << 32 | 7)));
        })
        .unwrap();
    simulation.run().unwrap();
    assert_eq!(took.get(), chip.cache.memory.0 + chip.cache.hit.0);
}

#[test]
fn what_drains_waits_and_what_does_not_goes_on() {
    let chip = buffered(8);
    let (memory, hit, atomic) = (chip.cache.memory.0, chip.cache.hit.0, chip.cache.atomic.0);
    type Act = fn(&Cells);
    let cases: [(&str, Act, u64); 8] = [
        ("load of another line", |cells| _ = cells[1].0.load(Acquire), memory),
        ("exchange", |cells| _ = cells[0].0.swap(1, Relaxed), memory + hit + atomic),
        ("compare-exchange", |cells| _ = cells[0].0.compare_exchange(5, 1, Relaxed, Relaxed), memory + hit + atomic),
        ("addition", |cells| _ = cells[0].0.fetch_add(1, Relaxed), memory + hit + atomic),
        ("sequentially consistent store", |cells| cells[0].0.store(1, SeqCst), memory + hit + atomic),
        ("acquire fence", |_| Simulated::fence(AcqRel), 0),
        ("computation", |_| Simulated::work(Cycles(10)), 10),
        ("sleep", |_| act::delay(Cycles(1)), memory + 1),
    ];
    for (what, act, expected) in cases {
        let (took, ..) = alone(&chip, 2, move |cells| {
            cells[0].0.store(1, Relaxed);
            timed(|| act(cells))
        });
        let extra = if what == "sleep" { chip.os.idle.wake_polling.0 } else { 0 };
        assert_eq!(took, expected + extra, "{what}");
    }
}

#[test]
fn a_store_is_seen_when_its_line_has_come_and_not_before() {
    let chip = buffered(8);
    let memory = chip.cache.memory.0;
    // The store enters the buffer at cycle 1 and is written at cycle 1 + memory, after the reader's
    // event of the same moment.
    for (wait, expected) in [(memory, 0), (memory + 1, 0), (memory + 2, 1)] {
        let mut simulation = simulation(&chip);
        let cell = cell(&mut simulation, 0u32);
        let (one, seen) = (cell.clone(), Rc::new(Cell::new(9)));
        simulation.spawn(on(0), move || one.0.store(1, Release)).unwrap();
        let (two, out) = (cell, seen.clone());
        // The reader takes the cell's value at that moment, without an access that takes time.
        simulation
            .spawn(on(1), move || {
                Simulated::work(Cycles(wait));
                // SAFETY: the cell is alive and has this size, and no guest runs beside this one.
                out.set(unsafe { std::ptr::from_ref(&two.0).cast::<u32>().read_volatile() });
            })
            .unwrap();
        simulation.run().unwrap();
        assert_eq!(seen.get(), expected, "after {wait}");
    }
}

/// Stores of one thread are seen in order by another, whatever lines they are on.
#[test]
fn stores_leave_in_order() {
    for seed in 0..40 {
        let chip = common::cores(4, &["core.store_buffer=6", "noise.latency=0.3"]);
        let options = baton_chip::Options { seed, ..Default::default() };
        let mut simulation = Simulation::new(&chip, &options).unwrap();
        let cells: Cells = (0..5).map(|_| cell(&mut simulation, 0u32)).collect();
        let theirs = cells.clone();
        simulation
            .spawn(on(0), move || {
                for round in 1..=50 {
                    theirs.iter().for_each(|cell| cell.0.store(round, Release));
                    Simulated::work(Cycles(u64::from(round) * 7 % 100));
                }
            })
            .unwrap();
        simulation
            .spawn(on(1), move || {
                let mut before = 0;
                while before < 50 {
                    // The reader goes through the cells in the opposite order of the stores: each
                    // is at least as new as the one read before it.
                    for cell in cells.iter().rev() {
                        let seen = cell.0.load(Acquire);
                        assert!(seen >= before, "seed {seed}: {seen} after {before}");
                        before = seen;
                    }
                    before = cells[4].0.load(Acquire);
                }
            })
            .unwrap();
        simulation.run().unwrap();
    }
}

#[test]
fn a_wait_does_not_miss_the_threads_own_store() {
    let chip = buffered(8);
    for wait in [Wait::Spin, Wait::Pause, Wait::Futex, Wait::SpinPark(5)] {
        let mut simulation = simulation(&chip);
        let cell = cell(&mut simulation, 0u32);
        let (one, two) = (cell.clone(), cell.clone());
        simulation
            .spawn(on(0), move || {
                one.0.store(1, Release);
                assert_eq!(Simulated::wait_while(&one.0, 0, wait, None), WaitResult::Changed(1));
                one.0.store(2, Release);
                assert_eq!(Simulated::wait_while(&one.0, 2, wait, None), WaitResult::Changed(3));
            })
            .unwrap();
        simulation
            .spawn(on(1), move || {
                Simulated::work(Cycles(50_000));
                two.0.store(3, Release);
                Simulated::wake::<u32>(&two.0, 1, wait);
            })
            .unwrap();
        simulation.run().unwrap_or_else(|stuck| panic!("{wait}: {stuck}"));
        assert_eq!(simulation.outside(|| cell.0.load(Relaxed)), 3);
    }
}

/// A store whose memory is freed before the store is written must not change what is allocated in
/// its place.
#[test]
fn stores_to_memory_that_is_gone_are_not_written() {
    let chip = buffered(8);
    alone(&chip, 0, |_| {
        let first = Owned::<Simulated, Alone<u64>>::new(Alone(Atomic::new(0)));
        first.0.store(u64::MAX, Relaxed);
        let at = first.as_ptr().addr();
        drop(first);
        let second = Owned::<Simulated, Alone<u64>>::new(Alone(Atomic::new(5)));
        assert_eq!(second.as_ptr().addr(), at, "the heap gives the same block again");
        Simulated::fence(SeqCst);
        assert_eq!(second.0.load(Relaxed), 5);
    });
    #[inline(never)]
    fn leave_one() -> usize {
        let cell = Alone::<u64>(Atomic::new(0));
        cell.0.store(u64::MAX, Relaxed);
        std::ptr::from_ref(&cell).addr()
    }
    #[inline(never)]
    fn look(at: usize) -> bool {
        let place = [[5u64; 16]; 8];
        let place = std::hint::black_box(&place);
        Simulated::fence(SeqCst);
        let covered = std::ptr::from_ref(place).addr()..std::ptr::from_ref(place).addr() + size_of_val(place);
        assert!(place.iter().flatten().all(|&word| word == 5));
        covered.contains(&at)
    }
    alone(&chip, 0, |_| {
        let at = leave_one();
        let _ = look(at);
    });
}

#[test]
fn slots_pay_for_their_lines_through_the_buffer() {
    let chip = buffered(16);
    let memory = chip.cache.memory.0;
    type Big = <Simulated as Machine>::Slot<[u8; 256]>;
    #[repr(align(128))]
    struct Place(Big);
    let (took, ..) = alone(&chip, 0, |_| {
        let place = Owned::<Simulated, Place>::new(Place(Slot::new([0; 256])));
        // SAFETY: no other thread has the place.
        let write = timed(|| unsafe { place.0.write(|at| at.write([1; 256])) });
        (write, timed(|| Simulated::fence(SeqCst)))
    });
    assert_eq!(took, (4, 4 * memory - 3 + chip.core.fence.0));
}
