//! Barriers in the queue device: no thread leaves before all have arrived, whatever the device
//! drops. Where contexts share request buffers, the waiters at `qmd-tokens` bar the thread that
//! takes arrivals, and the run hangs.

use crate::common;
use baton_chip::{Chip, Options, Simulated, Simulation, Spawn};
use baton_machine::Wait;
use baton_machine::units::{CpuId, Cycles};
use baton_workloads::barrier::{DEVICE_BARRIERS, Meeting};
use baton_workloads::{Knobs, Silent, Workload};

fn caf(set: &[&str]) -> Chip {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    Chip::from_toml_with(include_str!("../../../../chips/caf16.toml"), "caf16.toml", &set).unwrap()
}

/// Returns the cycles of 40 meetings, or the reason why there are none.
fn meet(chip: &Chip, barrier: &str, threads: u32) -> Result<u64, String> {
    let knobs =
        Knobs { barrier, threads: Some(threads), iterations: Some(40), think: 200, spread: 0.9, ..Knobs::default() };
    let workload = Meeting::choose(&knobs).unwrap();
    let limit = Some(Cycles(5_000_000));
    let options = Options { limit, heap_bytes: 1 << 20, threads: threads as usize, ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).unwrap();
    let team = simulation.outside(|| workload.team::<Simulated, _>(Wait::Pause, Silent));
    let team = team.map_err(|refused| refused.to_string())?;
    for (cpu, body) in (0..).zip(team.bodies) {
        simulation.spawn(Spawn { cpus: vec![CpuId(cpu % 16)], ..Spawn::default() }, body).unwrap();
    }
    let outcome = simulation.run().map_err(|stuck| stuck.to_string())?;
    assert!(outcome.finished, "{barrier}: not at its end after {} cycles", outcome.cycles.0);
    simulation.outside(team.verify)?;
    Ok(outcome.cycles.0)
}

const ROOM: &str = "device.qmd.queues=64";

#[test]
fn no_thread_leaves_before_all_have_arrived() {
    for barrier in DEVICE_BARRIERS {
        for threads in [1, 2, 3, 16] {
            meet(&caf(&[ROOM]), barrier.name, threads)
                .unwrap_or_else(|why| panic!("{}, {threads}: {why}", barrier.name));
        }
        // The device's timer drops requests that wait, and they are made again.
        meet(&caf(&[ROOM, "device.qmd.timeout=300"]), barrier.name, 8).unwrap();
        // There are more threads than cores: a thread that loses its core calls its requests back.
        meet(&caf(&[ROOM, "os.time_slice=20000", "os.wakeup_granularity=20000"]), barrier.name, 20).unwrap();
    }
}

#[test]
fn sixteen_threads_meet_sooner_in_the_device_than_at_one_counter() {
    let chip = caf(&[ROOM]);
    let central = meet(&chip, "central", 16).unwrap();
    for barrier in DEVICE_BARRIERS {
        let device = meet(&chip, barrier.name, 16).unwrap();
        assert!(device < central, "{}: {device} cycles, central {central}", barrier.name);
    }
}

#[test]
fn what_the_chip_lacks_is_refused() {
    for barrier in DEVICE_BARRIERS {
        let none = meet(&common::cores(4, &[]), barrier.name, 2).unwrap_err();
        assert!(none.contains("the machine has no queue device"), "{none}");
    }
    // 16 threads need 32 queues, and the chip has 16.
    let room = meet(&caf(&[]), "qmd-reducer", 16).unwrap_err();
    assert!(room.contains("room for 32 queues of 1 items"), "{room}");
    let unknown = Meeting::choose(&Knobs { barrier: "qmd", ..Knobs::default() }).err().unwrap().to_string();
    assert!(unknown.ends_with("gomp, qmd-tokens, qmd-reducer"), "{unknown}");
}

#[test]
fn with_shared_buffers_waiters_bar_the_one_that_takes_arrivals() {
    let chip = caf(&[ROOM, "device.qmd.buffers=shared"]);
    let stuck = meet(&chip, "qmd-tokens", 8).unwrap_err();
    assert!(stuck.contains("device"), "{stuck}");
}
