//! The two-level barrier on a chip of eight NUMA nodes. With all participants at one node, it takes
//! the same time as the central barrier, to the cycle, under each of four wait policies (claim A12
//! of paper 2). Over several nodes it counts arrivals by node, and takes less time.

use crate::common;
use baton_chip::{Chip, Options, Simulated, Simulation, Spawn};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Site, Wait};
use baton_sync::barrier::{RawBarrier, central::Central, levels::Levels, two_level::TwoLevel};
use baton_units::CoreId;
use baton_workloads::barrier::Meetings;
use std::cell::Cell;
use std::num::NonZeroU32;
use std::rc::Rc;

/// The paper's chip: 64 cores, eight on each node.
fn opteron() -> Chip {
    let text = include_str!("../../../../chips/opteron6272x4.toml");
    Chip::from_toml_with(text, "opteron6272x4.toml", &[]).expect("right")
}

/// The cycles of `iterations` meetings of threads on these cores, and the messages of the memory
/// system.
fn meet<B: RawBarrier<Simulated>>(chip: &Chip, cores: &[u32], wait: Wait, iterations: u64) -> (u64, u64) {
    let limit = Some(Cycles(100_000_000));
    let options = Options { limit, heap_bytes: 4 << 20, threads: cores.len(), ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).unwrap();
    let threads = NonZeroU32::new(cores.len() as u32).unwrap();
    let meetings = Meetings { threads, think: Cycles(500), spread: 0.3, iterations };
    let team = simulation.outside(|| meetings.team::<Simulated, B>(wait));
    for (body, &core) in team.bodies.into_iter().zip(cores) {
        simulation.spawn(Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }, body).unwrap();
    }
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{wait} on {cores:?}: {stuck}"));
    assert!(outcome.finished, "{wait} on {cores:?}: a livelock");
    assert_eq!(simulation.outside(team.verify), Ok(()));
    (outcome.cycles.0, outcome.memory.messages)
}

#[test]
fn at_one_node_it_is_the_central_barrier_to_the_cycle() {
    let opteron = opteron();
    let sample = common::cores(4, &[]);
    let places: [(&Chip, &[u32]); 5] = [
        (&sample, &[0, 1, 2, 3]),
        (&opteron, &[0]),
        (&opteron, &[3, 1]),
        (&opteron, &[0, 1, 2, 3, 4, 5, 6, 7]),
        // The cores are not of the node where the barrier was made.
        (&opteron, &[24, 25, 26, 27, 28]),
    ];
    for (chip, cores) in places {
        for wait in [Wait::Pause, Wait::Mwait(1), Wait::SpinPark(20), Wait::Futex] {
            if chip.check_wait(wait).is_ok() {
                let central = meet::<Central<Simulated>>(chip, cores, wait, 12);
                let two_level = meet::<TwoLevel<Simulated>>(chip, cores, wait, 12);
                assert_eq!(two_level, central, "{wait} on {cores:?} of {}", chip.name);
            }
        }
    }
}

#[test]
fn over_all_nodes_it_takes_less_time() {
    let chip = opteron();
    let cores: Vec<u32> = (0..64).collect();
    let central = meet::<Central<Simulated>>(&chip, &cores, Wait::Mwait(1), 8).0;
    let two_level = meet::<TwoLevel<Simulated>>(&chip, &cores, Wait::Mwait(1), 8).0;
    assert!(two_level * 10 < central * 9, "{two_level} cycles of two levels, {central} of one counter");
    // On this chip only nodes differ, so the barrier of several levels has two.
    let levels = meet::<Levels<Simulated>>(&chip, &cores, Wait::Mwait(1), 8).0;
    assert!(levels * 10 < central * 9, "{levels} cycles of levels, {central} of one counter");
}

#[test]
fn clusters_of_a_node_have_counters_of_their_own() {
    // A chip of one node with eight clusters of eight cores.
    let text = include_str!("../../../../chips/opteron6272x4.toml");
    let chip =
        Chip::from_toml_with(text, "opteron6272x4.toml", &["core.clusters_per_socket=8".to_owned()]).expect("right");
    assert_eq!(chip.site(CoreId(63)), Site { node: 0, cluster: 7, core: 63 });
    let cores: Vec<u32> = (0..64).collect();
    let two_level = meet::<TwoLevel<Simulated>>(&chip, &cores, Wait::Mwait(1), 8).0;
    let levels = meet::<Levels<Simulated>>(&chip, &cores, Wait::Mwait(1), 8).0;
    assert!(levels * 10 < two_level * 9, "{levels} cycles of levels, {two_level} of one counter, as there is one node");
}

#[test]
fn a_guest_is_at_the_node_of_its_core() {
    let mut simulation = Simulation::new(&opteron(), &Options::default()).unwrap();
    assert_eq!(simulation.outside(Simulated::nodes), 8);
    for core in [0, 7, 8, 63] {
        let seen = Rc::new(Cell::new(u32::MAX));
        let at = seen.clone();
        let guest = move || at.set(Simulated::node());
        simulation.spawn(Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }, guest).unwrap();
        simulation.run().unwrap();
        assert_eq!(seen.get(), core / 8, "core {core}");
    }
}
