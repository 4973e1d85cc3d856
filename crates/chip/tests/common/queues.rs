//! What the tests of the queue device share: the chip of CAF's paper, its device, and threads that
//! stay on their cores.
#![allow(dead_code, reason = "each test program uses some of it")]

use baton_chip::{Chip, Options, Outcome, Simulated, Simulation, Spawn};
use baton_machine::Devices;
use baton_machine::device::Device;
use baton_machine::queues::{QueueDevice, QueueId, QueueRequest};
use baton_machine::units::Cycles;
use baton_units::CoreId;

/// The chip of CAF's paper with its 16 cores, without noise.
pub(super) fn chip(settings: &[&str]) -> Chip {
    let text = include_str!("../../../../chips/caf16.toml");
    let fixed = ["noise.latency=0", "noise.start=0"];
    let all: Vec<String> = fixed.iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_with(text, "caf16.toml", &all).expect("a right chip")
}

/// The device of the chip that the calling thread runs on.
pub(super) fn device() -> impl Device<QueueDevice> {
    Simulated::first::<QueueDevice>().expect("the chip has a queue device")
}

/// Allocates queues with `entries` entries each.
pub(super) fn allocate(entries: u32, queues: u32) -> QueueId {
    let asked = QueueRequest::Allocate { entries, queues, enqueue_credits: false, dequeue_credits: false };
    QueueId(device().call(asked).expect("there is room") as u32)
}

pub(super) type Body = Box<dyn FnOnce()>;

/// A thread that stays on a core.
pub(super) fn on(core: u32) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }
}

/// Runs a thread on each named core, for a limited number of cycles, because a run that does not
/// notice a hang would never end.
pub(super) fn run(chip: &Chip, seed: u64, threads: Vec<(u32, Body)>) -> Result<Outcome, String> {
    let options = Options { seed, limit: Some(Cycles(50_000_000)), ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).map_err(|error| error.to_string())?;
    for (core, body) in threads {
        simulation.spawn(on(core), body).map_err(|error| error.to_string())?;
    }
    let outcome = simulation.run().map_err(|error| error.to_string())?;
    if outcome.finished { Ok(outcome) } else { Err("the run was cut off".to_owned()) }
}
