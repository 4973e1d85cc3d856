//! Tasks that spawn tasks, on a chip with a queue device: each task is done once, however tasks
//! reach workers, and the same run comes out the same.

use baton_chip::{Chip, Options, Simulated, Simulation, Spawn};
use baton_machine::Wait;
use baton_machine::units::{CpuId, Cycles};
use baton_programs::tasks::Tasks;
use baton_workloads::{Dispatch, Inputs, Knobs, Silent, Workload};

const CHIP: &str = include_str!("../../../../chips/caf16.toml");

/// Returns the cycles in which 8 workers do 1200 tasks. The workload checks itself.
fn cycles(dispatch: Dispatch, queue: &str, capacity: usize, set: &[&str]) -> u64 {
    let inputs = Inputs { dispatch: Some(dispatch), ..Inputs::default() };
    let (threads, iterations) = (Some(8), Some(150));
    let knobs = Knobs { queue, threads, iterations, think: 600, spread: 0.8, capacity, inputs, ..Knobs::default() };
    let workload = Tasks::choose(&knobs).unwrap();
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    let chip = Chip::from_toml_with(CHIP, "caf16.toml", &set).unwrap();
    let options = Options { limit: Some(Cycles(5_000_000)), heap_bytes: 1 << 20, threads: 8, ..Options::default() };
    let mut simulation = Simulation::new(&chip, &options).unwrap();
    let team = simulation.outside(|| workload.team::<Simulated, _>(Wait::Pause, Silent).unwrap());
    for (cpu, body) in (0..).zip(team.bodies) {
        simulation.spawn(Spawn { cpus: vec![CpuId(cpu)], ..Spawn::default() }, body).unwrap();
    }
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{dispatch:?} {queue}: {stuck}"));
    assert!(outcome.finished, "{dispatch:?} {queue}");
    assert_eq!(simulation.outside(team.verify), Ok(()), "{dispatch:?} {queue}");
    outcome.cycles.0
}

#[test]
fn each_is_done_once_and_the_same_again() {
    let ways = [
        (Dispatch::Steal, "mpmc"),
        (Dispatch::Shared, "mpmc"),
        (Dispatch::Shared, "ring"),
        (Dispatch::Shared, "qmd"),
        (Dispatch::Balanced, "qmd"),
    ];
    for (dispatch, queue) in ways {
        // Deques and queues of two places are full again and again.
        for capacity in [2, 64] {
            let first = cycles(dispatch, queue, capacity, &[]);
            if capacity == 2 {
                assert_eq!(cycles(dispatch, queue, capacity, &[]), first, "{dispatch:?} {queue}");
            }
            // 1200 tasks of 600 cycles take 8 workers 90,000 cycles at least, and a single worker
            // 720,000.
            assert!((90_000..720_000).contains(&first), "{dispatch:?} {queue}: {first} cycles");
        }
    }
}

#[test]
fn what_the_devices_timer_drops_is_done_all_the_same() {
    cycles(Dispatch::Balanced, "qmd", 64, &["device.qmd.timeout=200"]);
}
