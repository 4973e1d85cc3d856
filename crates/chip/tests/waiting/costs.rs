//! What a waiting thread costs itself, the thread that wakes it, and the network, and in energy:
//! one wait of a millisecond by each of six policies. `docs/results/waiting.md` must have this
//! table.

use crate::common::{cell, simulation};
use baton_chip::energy::{Account, Component};
use baton_chip::{Chip, Reason, Simulated, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::*, Wait, units::Cycles};
use baton_units::CoreId;
use std::cell::Cell;
use std::rc::Rc;

/// A die of the Opteron's machine. Its file gives no second depth of monitors and no HALT: their
/// prices here are examples, for the shape of the table.
fn chip() -> Chip {
    let settings = [
        "noise.start=0",
        "noise.latency=0",
        "wait.mwait.c2.enter=2000",
        "wait.mwait.c2.exit=20000",
        "energy.cpu.monitor_c2=0.73",
        "wait.halt.enter=900",
        "wait.halt.send=1500",
        "wait.halt.exit=3100",
    ];
    let settings = settings.map(str::to_owned);
    Chip::from_toml_at(include_str!("../../../../chips/opteron6272x4.toml"), "opteron6272x4.toml", Some(8), &settings)
        .expect("a right chip")
}

fn on(core: u32) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }
}

struct Cost {
    late: u64,
    call: u64,
    tries: u64,
    flit_hops: u64,
    cpus: f64,
    total: f64,
}

/// One thread waits for another one's store, which comes after a computation of a millisecond.
fn cost(chip: &Chip, wait: Wait) -> Cost {
    let mut simulation = simulation(chip);
    let word = cell(&mut simulation, 0u32);
    let moments = Rc::new(Cell::new((0, 0, 0)));
    let (waits, of_waiter, of_waker) = (word.clone(), moments.clone(), moments.clone());
    let waiter = move || {
        let _ = Simulated::wait_while(&waits.0, 0, wait, None);
        let (stored, called, _) = of_waiter.get();
        of_waiter.set((stored, called, act::time().0));
    };
    let waker = move || {
        Simulated::work(Cycles(2_100_000));
        let stored = act::time().0;
        of_waker.set((stored, 0, 0));
        word.0.store(1, Release);
        Simulated::wake(&raw const word.0, 1, wait);
        let (_, _, woken) = of_waker.get();
        of_waker.set((stored, act::time().0, woken));
    };
    simulation.spawn(on(0), waiter).unwrap();
    simulation.spawn(on(4), waker).unwrap();
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{wait}: {stuck}"));
    let account = Account::of(chip, &outcome).expect("every price is there");
    let (stored, called, woken) = moments.get();
    assert_eq!(outcome.threads[0].time(Reason::Spin).0 > 1_000_000, matches!(wait, Wait::Spin | Wait::Pause));
    Cost {
        late: woken - stored,
        call: called - stored,
        tries: outcome.threads[0].counts.tries,
        flit_hops: outcome.network.flit_hops,
        cpus: account.component(Component::Cpus) * 1e3,
        total: account.total() * 1e3,
    }
}

#[test]
fn the_docs_show_what_each_policy_costs() {
    let chip = chip();
    let waits = [Wait::Spin, Wait::Pause, Wait::Mwait(1), Wait::Mwait(2), Wait::Halt, Wait::Futex];
    let costs: Vec<Cost> = waits.iter().map(|&wait| cost(&chip, wait)).collect();
    let row = |(wait, cost): (&Wait, &Cost)| {
        let Cost { late, call, tries, flit_hops, cpus, total } = cost;
        format!("| `{wait}` | {late} | {call} | {tries} | {flit_hops} | {cpus:.2} | {total:.0} |\n")
    };
    let rows: String = waits.iter().zip(&costs).map(row).collect();
    println!("{rows}");
    assert!(
        include_str!("../../../../docs/results/waiting.md").contains(&rows),
        "docs/results/waiting.md has no\n{rows}"
    );
    // Spinners notice the store first. A CPU that stands still takes less energy and notices the
    // store later; at the deeper depth it takes still less, and notices still later. A sleeper's
    // CPU takes the least.
    let [spin, pause, shallow, deep, halt, futex] = costs.as_slice() else { unreachable!("six") };
    assert!(spin.late < shallow.late && shallow.late < deep.late && halt.call > pause.call && futex.call > pause.call);
    assert!(shallow.cpus < 0.7 * spin.cpus && deep.cpus < shallow.cpus && futex.cpus < deep.cpus);
    // A core that spins on its own copy of the line sends nothing.
    assert_eq!(spin.flit_hops, pause.flit_hops);
    assert!(spin.tries > 100_000 && pause.tries > 10_000 && shallow.tries < 10);
}
