//! A lock that is a token in a queue lets one thread in at a time, whatever holds the queue.

use baton_chip::{Chip, Options, Simulated, Simulation, Spawn};
use baton_machine::Wait;
use baton_machine::units::{CpuId, Cycles};
use baton_workloads::token::TokenLock;
use baton_workloads::{Knobs, Silent, Workload};

fn knobs(queue: &str) -> Knobs<'_> {
    Knobs { queue, threads: Some(8), iterations: Some(20), critical: 50, think: 100, lines: 1, ..Knobs::default() }
}

#[test]
fn one_thread_is_inside_at_a_time() {
    let chip = Chip::from_toml(include_str!("../../../../chips/caf16.toml"), "caf16.toml").unwrap();
    for queue in ["qmd", "mpmc", "ring"] {
        let workload = TokenLock::choose(&knobs(queue)).unwrap();
        let options = Options { limit: Some(Cycles(5_000_000)), heap_bytes: 1 << 20, threads: 8, ..Options::default() };
        let mut simulation = Simulation::new(&chip, &options).unwrap();
        let team = simulation.outside(|| workload.team::<Simulated, _>(Wait::Pause, Silent).unwrap());
        for (cpu, body) in (0..).zip(team.bodies) {
            simulation.spawn(Spawn { cpus: vec![CpuId(cpu)], ..Spawn::default() }, body).unwrap();
        }
        assert!(simulation.run().unwrap().finished, "{queue}");
        // The guarded line counted each of the 160 times that a thread was inside.
        assert_eq!(simulation.outside(team.verify), Ok(()), "{queue}");
    }
}

#[test]
fn a_queue_for_one_thread_a_side_holds_no_token() {
    let refused = TokenLock::choose(&knobs("spsc")).err().map(|refused| refused.to_string());
    assert!(refused.is_some_and(|text| text.contains("queue `spsc` has one on a side")));
}
