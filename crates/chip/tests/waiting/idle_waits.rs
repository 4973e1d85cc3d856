//! Waits in which the CPU stands still: entry and exit cost their prices, for the waiter and the
//! waker; whatever ends such a wait does; and no store is missed, whenever it comes.

use crate::common;
use baton_chip::{Chip, Outcome, Reason, Simulated, Simulation, Spawn, act};
// A nanosecond is a cycle on the chips of `fixed`.
use crate::common::{Alone, Shared, cell, simulation};
use baton_machine::{Atomic, Deadline, Machine, Ordering::*, Wait, WaitResult, units::Cycles, units::Nanos};
use baton_units::{CoreId, CpuId};
use std::cell::Cell;
use std::rc::Rc;

const EVERY: [Wait; 6] = [Wait::Mwait(1), Wait::Mwait(2), Wait::Mwmon, Wait::Umwait, Wait::UmwaitC02, Wait::Halt];

/// Prices of which no two waits have the same, so that a wrong one shows.
pub(crate) const PRICES: [&str; 17] = [
    "wait.monitor=13",
    "wait.mwait.c1.enter=50",
    "wait.mwait.c1.exit=333",
    "wait.mwait.c2.enter=170",
    "wait.mwait.c2.exit=2001",
    "wait.mwmon.call=700",
    "wait.mwmon.return=450",
    "wait.umwait.enter=31",
    "wait.umwait.exit=61",
    "wait.umwait_c02.enter=83",
    "wait.umwait_c02.exit=257",
    "wait.halt.enter=900",
    "wait.halt.send=1500",
    "wait.halt.exit=3100",
    "os.wake_idle=5000",
    "os.wake_polling=5000",
    "noise.start=0",
];

/// Two cores at 1 GHz, so that a nanosecond is a cycle.
pub(crate) fn fixed(more: &[&str]) -> Chip {
    common::cores(2, &[&PRICES[..], &["core.clock_hz=1000000000"], more].concat())
}

fn coherent(more: &[&str]) -> Chip {
    let settings: Vec<String> = PRICES.iter().chain(more).map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_at(include_str!("../../../../chips/ocor64.toml"), "ocor64", Some(4), &settings).unwrap()
}

pub(crate) fn on(cpu: u32) -> Spawn {
    Spawn { affinity: vec![CoreId(cpu)], ..Spawn::default() }
}

/// The waiter on CPU 0 reads the cell and waits while the cell is 0; `other` runs on CPU 1 from the
/// start. Returns how long the wait took, counted from the waiter's read, and the outcome.
fn against(
    chip: &Chip,
    wait: Wait,
    deadline: Option<u64>,
    other: impl FnOnce(Shared<Alone<u32>>) + 'static,
) -> (u64, Outcome) {
    let mut simulation = simulation(chip);
    let cell = cell(&mut simulation, 0u32);
    let took = Rc::new(Cell::new(0));
    let (waits, result) = (cell.clone(), took.clone());
    let body = move || {
        Simulated::work(Cycles(2_000));
        waits.0.load(Relaxed);
        let start = act::time();
        let ended = match deadline {
            None => Simulated::wait_while(&waits.0, 0, wait, None),
            Some(after) => {
                let at = Nanos(start.0 + after);
                Simulated::wait_while(&waits.0, 0, wait, Some(Deadline { at, clock: Default::default() }))
            }
        };
        assert_eq!(ended == WaitResult::Expired, waits.0.load(Relaxed) == 0);
        result.set((act::time() - start).0);
    };
    simulation.spawn(on(0), body).unwrap();
    simulation.spawn(on(1), move || other(cell)).unwrap();
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{}: {wait}: {stuck}", chip.name));
    assert!(outcome.finished);
    (took.get(), outcome)
}

/// The time at which the waiter has read the cell: after 2,000 cycles of work and a fetch from
/// memory.
fn until_read(chip: &Chip) -> u64 {
    2_000 + chip.cache.memory.0
}

/// On a chip of fixed latencies, a store takes the line away at the moment when it is issued, so
/// the end of the wait is known to the cycle for every moment of the store.
#[test]
fn entry_and_exit_take_what_the_chip_file_says() {
    let chip = fixed(&[]);
    let (hit, transfer) = (chip.cache.hit.0, chip.cache.transfer.same_cluster.0);
    for (wait, call, enter, exit, back) in [
        (Wait::Mwait(1), 0, 50, 333, 0),
        (Wait::Mwait(2), 0, 170, 2001, 0),
        (Wait::Umwait, 0, 31, 61, 0),
        (Wait::UmwaitC02, 0, 83, 257, 0),
        (Wait::Mwmon, 700, 50, 333, 450),
    ] {
        // The first look, the system call, and MONITOR with its load; then the second look, and
        // MWAIT.
        let armed = hit + call + 13 + hit;
        let still = armed + hit + enter;
        for at in (armed + hit..still + 40).chain([still + 5_000]) {
            let start = until_read(&chip) + at;
            let (took, outcome) = against(&chip, wait, None, move |cell| {
                Simulated::work(Cycles(start));
                cell.0.store(1, Release);
            });
            // A store at the very moment of MWAIT may come before it, and MWAIT then does nothing.
            let again = |leaves: u64| leaves.max(at + transfer) + transfer + back + hit;
            let (through, left) = (again(at + 1), again(at.max(still) + exit));
            assert!(
                took == left || at == armed + hit && took == through,
                "{wait}: store at {at}, left at {took}, not {left}"
            );
            let waited = outcome.threads[0].time(Reason::Monitor).0;
            let kernel = outcome.threads[0].time(Reason::Kernel).0;
            assert_eq!(kernel, call + back);
            assert!(took != left || waited == 13 + 2 * hit + at.max(still) - armed - hit + exit, "{wait}: {waited}");
        }
    }
}

#[test]
fn no_store_is_missed() {
    let stays = [coherent(&["wait.evicted=stays"]), coherent(&["wait.evicted=stays", "core.store_buffer=0"])];
    let chips = [fixed(&[]), fixed(&["core.store_buffer=4"]), coherent(&[]), coherent(&["core.store_buffer=0"])];
    for chip in chips.into_iter().chain(stays) {
        for wait in EVERY {
            let most = if wait == Wait::Halt || wait == Wait::Mwmon { 1_300 } else { 400 };
            for at in (0..most).step_by(7) {
                let (took, _) = against(&chip, wait, None, move |cell| {
                    Simulated::work(Cycles(2_000 + at));
                    cell.0.store(1, Release);
                    Simulated::wake(&raw const cell.0, 1, wait);
                });
                assert!(took < 9_000, "{}: {wait}: a store at {at} was seen at {took}", chip.name);
            }
        }
    }
}

#[test]
fn a_deadline_ends_an_idle_wait() {
    let chip = fixed(&[]);
    for (wait, exit) in [(Wait::Mwait(1), 333), (Wait::Umwait, 61), (Wait::UmwaitC02, 257), (Wait::Halt, 3100)] {
        let (took, _) = against(&chip, wait, Some(50_000), |_| {});
        // The timer's interrupt ends the idle wait, the CPU leaves it, and the waiter reads the
        // cell once more.
        assert!((50_000 + exit..50_000 + exit + 100).contains(&took), "{wait}: {took}");
    }
    // A deadline that has passed already is noticed before the first idle wait; the waiter reads
    // the cell once more.
    let (took, outcome) = against(&chip, Wait::Mwait(1), Some(0), |_| {});
    assert!(took < 100, "{took}");
    assert_eq!(outcome.threads[0].time(Reason::Monitor), Cycles(13 + 3 * chip.cache.hit.0), "MONITOR and two looks");
}

/// How often the waiter looks if the other thread does `act` and then stores.
fn tries(chip: &Chip, wait: Wait, act: impl FnOnce() + 'static) -> u64 {
    let (_, outcome) = against(chip, wait, None, move |cell| {
        Simulated::work(Cycles(10_000));
        act();
        Simulated::work(Cycles(10_000));
        cell.0.store(1, Release);
    });
    outcome.threads[0].counts.tries
}

#[test]
fn a_time_limit_and_spurious_ends_look_again() {
    for wait in [Wait::Umwait, Wait::UmwaitC02] {
        let quiet = tries(&fixed(&[]), wait, || {});
        let limited = tries(&fixed(&["wait.umwait.limit=1000"]), wait, || {});
        assert!(quiet < 5 && (40..70).contains(&limited), "{wait}: {quiet} tries without a limit, {limited} with one");
    }
    let spurious = |rate: &str, seed| {
        let chip = fixed(&[&format!("wait.spurious={rate}")]);
        let options = baton_chip::Options { seed, ..Default::default() };
        let mut simulation = Simulation::new(&chip, &options).unwrap();
        let cell = cell(&mut simulation, 0u32);
        let waits = cell.clone();
        let body = move || assert_eq!(Simulated::wait_while(&waits.0, 0, Wait::Mwait(1), None), WaitResult::Changed(1));
        simulation.spawn(on(0), body).unwrap();
        simulation.spawn(Spawn { after: Cycles(1_000_000), ..on(1) }, move || cell.0.store(1, Release)).unwrap();
        simulation.run().unwrap().threads[0].counts.tries
    };
    // A wait ends for no reason about every 10,000 cycles, and entry and exit come on top: up to
    // 100 times in a million cycles, with three looks each.
    assert!((240..360).contains(&spurious("100", 1)), "{}", spurious("100", 1));
    assert_eq!(spurious("100", 1), spurious("100", 1));
    assert_ne!(spurious("100", 1), spurious("100", 2));
    assert!(spurious("0", 1) < 5);
}

/// A tick every 6,000 cycles ends the idle wait, whatever its handler costs: the waiter looks again
/// and goes on waiting.
#[test]
fn every_tick_ends_an_idle_wait() {
    for wait in EVERY {
        for cost in [0, 120] {
            let cost = format!("os.tick_cost={cost}");
            let ticking = |tick: &str| {
                let (_, outcome) = against(&fixed(&[tick, &cost]), wait, None, move |cell| {
                    Simulated::work(Cycles(60_000));
                    cell.0.store(1, Release);
                    Simulated::wake(&raw const cell.0, 1, wait);
                });
                (outcome.threads[0].counts.tries, outcome.threads[0].time(Reason::Kernel).0)
            };
            let ((quiet, kernel), (tries, handlers)) = (ticking("os.tick=0"), ticking("os.tick=6000"));
            if wait == Wait::Halt {
                // A halted waiter looks in the kernel: it enters the kernel again after each tick,
                // for 900 cycles.
                assert!((handlers - kernel) / 900 >= 7, "{wait}, {cost}: {kernel} and {handlers} cycles in the kernel");
            } else {
                assert!((quiet + 2 * 7..=quiet + 3 * 11).contains(&tries), "{wait}, {cost}: {quiet} and {tries} looks");
            }
        }
    }
}

/// An idle wait ends when the waiter's sibling evicts the line from the caches that both share, and
/// when a directory of one pointer takes the line for another reader. With `wait.evicted=stays`
/// only a store ends it.
#[test]
fn losing_the_line_to_others_ends_an_idle_wait() {
    let contexts = ["core.contexts=2", "core.result_latency=3", "core.atomics=near"];
    let siblings = coherent(&contexts);
    let fill = |chip: &Chip| {
        let mut simulation = simulation(chip);
        let waits = cell(&mut simulation, 0u32);
        let stores = waits.clone();
        let many: Vec<_> = (0..4_000).map(|_| cell(&mut simulation, 0u32)).collect();
        let body = move || assert_eq!(Simulated::wait_while(&waits.0, 0, Wait::Mwait(1), None), WaitResult::Changed(1));
        simulation.spawn(on(0), body).unwrap();
        let body = move || {
            for cell in &many {
                cell.0.load(Relaxed);
            }
            Simulated::work(Cycles(50_000));
            stores.0.store(1, Release);
        };
        let sibling = Spawn { after: Cycles(20_000), cpus: vec![CpuId(4)], ..Spawn::default() };
        simulation.spawn(sibling, body).unwrap();
        simulation.run().unwrap().threads[0].counts.tries
    };
    let quiet = tries(&siblings, Wait::Mwait(1), || {});
    assert!(quiet < fill(&siblings), "{quiet} looks, {} when a sibling evicts the line", fill(&siblings));
    // With `wait.evicted=stays`, stores alone end the wait: the eviction does not, but a store does
    // even if the waiter's core has lost its copy.
    let stays = coherent(&[&contexts[..], &["wait.evicted=stays"]].concat());
    assert_eq!(fill(&stays), quiet, "looks when the monitor outlives its line");

    // With a directory that names one sharer, a second reader takes the line from the first.
    let reader = |settings: &[&str]| {
        let chip = coherent(settings);
        let (_, outcome) = against(&chip, Wait::Mwait(1), None, |cell| {
            Simulated::work(Cycles(10_000));
            cell.0.load(Relaxed);
            Simulated::work(Cycles(10_000));
            cell.0.store(1, Release);
        });
        outcome.threads[0].counts.tries
    };
    let (full, one) = (reader(&["directory.kind=full"]), reader(&["directory.kind=pointers(1)"]));
    // The store that ends the wait comes from another core, which does not know of the monitor.
    assert_eq!(reader(&["directory.kind=pointers(1)", "wait.evicted=stays"]), full);
    assert!(one > full, "{full} looks with a full map, {one} with one pointer");
}

#[test]
fn a_halted_cpu_is_woken_by_an_interrupt_at_its_price() {
    let chip = fixed(&[]);
    let (hit, transfer) = (chip.cache.hit.0, chip.cache.transfer.same_cluster.0);
    let sent = Rc::new(Cell::new(0));
    let sends = sent.clone();
    let (took, outcome) = against(&chip, Wait::Halt, None, move |cell| {
        Simulated::work(Cycles(20_000));
        cell.0.store(1, Release);
        // The waker's look at the table of sleepers takes a transfer; the interrupt leaves in the
        // call's first cycle.
        Simulated::wake(&raw const cell.0, 1, Wait::Halt);
        sends.set(act::time().0);
    });
    let call = outcome.threads[1].time(Reason::Kernel).0;
    assert_eq!(call, 1500);
    assert!(outcome.threads[0].counts.sleeps == 0, "it keeps its CPU");
    // After the exit, the waiter takes its entry out of the table, whose line the waker has read,
    // and reads the cell anew.
    let back = chip.cache.upgrade.same_cluster.0 + chip.cache.atomic.0 + transfer + hit;
    let read = 5_000 + 2_000 + chip.cache.memory.0;
    assert_eq!(read + took, sent.get() - 1500 + 3100 + back, "ended {took} after its start; sent at {}", sent.get());
    // No thread has halted: the waker looks at the table and does not enter the kernel.
    let (_, outcome) = against(&chip, Wait::Pause, None, |cell| {
        Simulated::work(Cycles(20_000));
        cell.0.store(1, Release);
        Simulated::wake(&raw const cell.0, 1, Wait::Halt);
    });
    assert_eq!(outcome.threads[1].time(Reason::Kernel), Cycles(0));
}

/// A wake-up wakes as many threads as asked for, the longest halted first. The others stay halted.
#[test]
fn halted_cpus_are_woken_in_order() {
    let chip = common::cores(4, &PRICES);
    let mut simulation = simulation(&chip);
    let cell = cell(&mut simulation, 0u32);
    let order = Rc::new(std::cell::RefCell::new(Vec::new()));
    for id in 0..3u32 {
        let (cell, order) = (cell.clone(), order.clone());
        let body = move || {
            let _ = Simulated::wait_while(&cell.0, 0, Wait::Halt, None);
            order.borrow_mut().push(id);
        };
        simulation.spawn(Spawn { after: Cycles(u64::from(2 - id) * 10_000), ..on(id) }, body).unwrap();
    }
    let seen = order.clone();
    let body = move || {
        cell.0.store(1, Release);
        for most in [1, 2] {
            Simulated::wake(&raw const cell.0, 1, Wait::Halt);
            Simulated::work(Cycles(50_000));
            assert_eq!(seen.borrow().len(), most);
        }
        Simulated::wake(&raw const cell.0, u32::MAX, Wait::Halt);
    };
    simulation.spawn(Spawn { after: Cycles(100_000), ..on(3) }, body).unwrap();
    assert!(simulation.run().unwrap().finished);
    assert_eq!(*order.borrow(), [2, 1, 0]);
}

/// The waiter and the thread that ends its wait share one CPU: the interrupt ends the idle wait,
/// the waiter leaves the CPU, and goes on waiting when it has the CPU again.
#[test]
fn a_preempted_waiter_gives_its_cpu_up() {
    for wait in EVERY {
        let prices = [&PRICES[..], &["os.time_slice=20000", "os.context_switch=500"]].concat();
        let chip = common::cores(1, &prices);
        let mut simulation = simulation(&chip);
        let cell = cell(&mut simulation, 0u32);
        let waits = cell.clone();
        let body = move || assert_eq!(Simulated::wait_while(&waits.0, 0, wait, None), WaitResult::Changed(1));
        simulation.spawn(on(0), body).unwrap();
        let body = move || {
            Simulated::work(Cycles(50_000));
            cell.0.store(1, Release);
            Simulated::wake(&raw const cell.0, 1, wait);
        };
        simulation.spawn(Spawn { after: Cycles(9_000), ..on(0) }, body).unwrap();
        let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{wait}: {stuck}"));
        assert!(outcome.finished && outcome.threads[0].counts.preemptions > 0, "{wait}: {outcome:?}");
        let spent: u64 = outcome.threads[0].times.iter().map(|(_, time)| time.0).sum();
        assert_eq!(spent, (outcome.threads[0].ended - outcome.threads[0].born).0);
    }
}
