//! Actors with mailboxes in memory and in the queue device: each ping comes once and is answered,
//! and the same run comes out the same.

use baton_chip::{Chip, Options, Simulated, Simulation, Spawn};
use baton_machine::Wait;
use baton_machine::units::{CpuId, Cycles};
use baton_workloads::actors::Actors;
use baton_workloads::{Knobs, Silent, Workload};

/// Returns the cycles of 8 actors with 40 pings each. The workload checks itself.
fn cycles(queue: &str, capacity: usize, set: &[&str]) -> u64 {
    let (threads, iterations) = (Some(8), Some(40));
    let knobs = Knobs { queue, threads, iterations, think: 300, spread: 0.8, capacity, ..Knobs::default() };
    let workload = Actors::choose(&knobs).unwrap();
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    let text = include_str!("../../../../chips/caf16.toml");
    let chip = Chip::from_toml_with(text, "caf16.toml", &set).unwrap();
    let options = Options { limit: Some(Cycles(5_000_000)), heap_bytes: 1 << 20, threads: 8, ..Options::default() };
    let mut simulation = Simulation::new(&chip, &options).unwrap();
    let team = simulation.outside(|| workload.team::<Simulated, _>(Wait::Pause, Silent).unwrap());
    for (cpu, body) in (0..).zip(team.bodies) {
        simulation.spawn(Spawn { cpus: vec![CpuId(cpu)], ..Spawn::default() }, body).unwrap();
    }
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{queue}: {stuck}"));
    assert!(outcome.finished, "{queue}");
    assert_eq!(simulation.outside(team.verify), Ok(()), "{queue}");
    outcome.cycles.0
}

#[test]
fn each_ping_comes_once_and_is_answered() {
    for queue in ["mpmc", "ring", "qmd"] {
        // Mailboxes of one place are full again and again, and still no two actors wait for each
        // other.
        for capacity in [1, 64] {
            assert_eq!(cycles(queue, capacity, &[]), cycles(queue, capacity, &[]), "{queue}, {capacity}");
        }
    }
    cycles("qmd", 4, &["device.qmd.timeout=200"]);
}

#[test]
fn a_mailbox_is_for_many_senders() {
    let knobs = Knobs { queue: "spsc", threads: Some(3), ..Knobs::default() };
    let refused = Actors::choose(&knobs).unwrap().team::<baton_machine::Native, _>(Wait::Pause, Silent);
    assert!(refused.err().unwrap().to_string().contains("queue `spsc` is for one producer"));
    let knobs = Knobs { threads: Some(1), ..Knobs::default() };
    let refused = Actors::choose(&knobs).unwrap().team::<baton_machine::Native, _>(Wait::Pause, Silent);
    assert_eq!(refused.err().unwrap().to_string(), "actors: 1; expected 2 to 4096");
}
