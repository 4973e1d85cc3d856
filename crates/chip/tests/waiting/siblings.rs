//! Hardware contexts of a core share its caches: a sibling's store hits there and invalidates
//! nothing, and still ends whatever waits on the line beside it.

use crate::common;
use crate::common::{cell, simulation};
use baton_chip::{Chip, Simulated, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::*, Wait, WaitResult, units::Cycles};
use baton_units::CpuId;

fn on(cpu: u32) -> Spawn {
    Spawn { cpus: vec![CpuId(cpu)], ..Spawn::default() }
}

/// Chips of two cores with two contexts each: of fixed latencies, and coherent, with and without
/// store buffers.
fn chips() -> Vec<Chip> {
    let mixed = ["core.contexts=2", "wait.mwaitx.enter=50", "wait.mwaitx.exit=333"];
    let text = include_str!("../../../../chips/netburst-ht.toml");
    let coherent = |buffer: &str| {
        let settings: Vec<String> = mixed
            .iter()
            .chain(&[
                "core.count=2",
                "core.per_cluster=2",
                "os.wake_polling=20000",
                "os.wake_idle=20000",
                "noise.start=0",
                buffer,
            ])
            .map(|setting| (*setting).to_owned())
            .collect();
        Chip::from_toml_with(text, "netburst-ht.toml", &settings).unwrap()
    };
    vec![common::cores(2, &mixed), coherent("core.store_buffer=0"), coherent("core.store_buffer=12")]
}

#[test]
fn cpus_are_numbered_core_by_core() {
    let chip = common::chip(&["core.count=8", "core.per_cluster=4", "core.clusters_per_socket=1", "core.contexts=2"]);
    assert_eq!(chip.cpus(), 16);
    assert_eq!([0, 7, 8, 15].map(|cpu| chip.core_of(cpu).0), [0, 7, 0, 7]);
    for contexts in ["0", "3", "8"] {
        let refused = Chip::from_toml_with(&chip.to_toml(), "x", &[format!("core.contexts={contexts}")]).unwrap_err();
        let says = format!("--set: key `core.contexts` is {contexts}; expected a power of two from 1 to 4");
        assert_eq!(refused.to_string(), says);
    }
}

#[test]
fn a_siblings_store_ends_spins_and_monitors() {
    for chip in chips() {
        for wait in [Wait::Spin, Wait::Pause, Wait::Mwaitx] {
            for writer in [1, 2] {
                let mut simulation = simulation(&chip);
                let cell = cell(&mut simulation, 0u32);
                let (waits, writes) = (cell.clone(), cell);
                let body = move || {
                    assert_eq!(Simulated::wait_while(&waits.0, 0, wait, None), WaitResult::Changed(1));
                    assert!(act::time() < Cycles(205_000), "{wait} ends at {}", act::time());
                };
                simulation.spawn(on(0), body).unwrap();
                let body = move || {
                    // The writer loads the line first, so that a sibling's store hits.
                    writes.0.load(Relaxed);
                    Simulated::work(Cycles(50));
                    writes.0.store(1, Release);
                };
                let start = if chip.coherent.is_some() { 100_000 } else { 190_000 };
                simulation.spawn(Spawn { after: Cycles(start), ..on(writer) }, body).unwrap();
                let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{}: {wait}: {stuck}", chip.name));
                assert!(outcome.finished);
                let taken = outcome.memory.transfers + outcome.memory.upgrades;
                assert_eq!(taken == 0, writer == 2, "{}: {wait}: {:?}", chip.name, outcome.memory);
            }
        }
    }
}

/// Two siblings that write a line without a pause do not keep it from the other core: a forwarded
/// request that waits for a write is served before the next write.
#[test]
fn siblings_do_not_keep_a_line_for_ever() {
    for buffer in ["core.store_buffer=0", "core.store_buffer=12"] {
        let wake = ["os.wake_idle=100", "os.wake_polling=100"];
        let settings = [&["core.count=2", "core.per_cluster=2", "noise.start=0", buffer][..], &wake].concat();
        let settings: Vec<String> = settings.into_iter().map(str::to_owned).collect();
        let text = include_str!("../../../../chips/netburst-ht.toml");
        let chip = Chip::from_toml_with(text, "netburst-ht.toml", &settings).unwrap();
        let mut simulation = simulation(&chip);
        let count = cell(&mut simulation, 0u64);
        for cpu in 0..4 {
            let count = count.clone();
            let body = move || (0..200).for_each(|_| _ = count.0.fetch_add(1, Relaxed));
            // The threads start apart, so that one sibling's write begins while the other's goes
            // on.
            simulation.spawn(Spawn { after: Cycles(u64::from(cpu) * 37), ..on(cpu) }, body).unwrap();
        }
        let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
        assert_eq!(simulation.outside(|| count.0.load(Relaxed)), 800);
        let ends: Vec<u64> = outcome.threads.iter().map(|thread| thread.ended.0).collect();
        let (first, last) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
        assert!(*first * 10 > *last * 7, "each had its share: {ends:?}");
    }
}

/// A line that a thread has loaded from memory counts as the thread's fetch; the thread's sibling
/// finds the line in the caches that both share, and fetches nothing.
#[test]
fn who_fetched_a_line_is_counted_by_thread() {
    let chip = chips().remove(1);
    let mut simulation = simulation(&chip);
    let lines: Vec<_> = (0..100).map(|_| cell(&mut simulation, 0u32)).collect();
    let again = lines.clone();
    simulation.spawn(on(0), move || act::load_all(lines.iter().map(|line| &raw const line.0), 1)).unwrap();
    let sibling = Spawn { after: Cycles(1_000_000), ..on(2) };
    let body = move || {
        act::load_all(again.iter().map(|line| &raw const line.0), 1);
        again.iter().for_each(|line| line.0.store(1, Relaxed));
    };
    simulation.spawn(sibling, body).unwrap();
    let outcome = simulation.run().unwrap();
    assert_eq!([0, 1].map(|thread| outcome.threads[thread].fetches), [100, 0]);
}
