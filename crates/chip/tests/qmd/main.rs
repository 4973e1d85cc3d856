//! CAF's queue device on a chip: threads that enqueue and dequeue. The device by itself, cycle by cycle, is tested beside its
//! source (`cargo test -p baton-chip --lib qmd`).

mod figure4;
mod files;
mod random;
mod ways;
mod weights;

use baton_chip::{Chip, Options, Outcome, Simulated, Simulation, Spawn};
use baton_machine::device::{Device, Devices, Ticket};
use baton_machine::queues::{Operand, QueueDevice, QueueId, QueueRefusal, QueueRequest};
use baton_units::CoreId;

/// The paper's 16 cores, without noise.
fn chip(settings: &[&str]) -> Chip {
    let text = include_str!("../../../../chips/caf16.toml");
    let fixed = ["noise.latency=0", "noise.start=0"];
    let all: Vec<String> = fixed.iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_with(text, "caf16.toml", &all).expect("a right chip")
}

/// The device of the chip that the calling thread runs on.
fn device() -> impl Device<QueueDevice> {
    Simulated::first::<QueueDevice>().expect("the chip has a queue device")
}

/// So many queues of so many entries.
fn allocate(entries: u32, queues: u32) -> QueueId {
    let asked = QueueRequest::Allocate { entries, queues, enqueue_credits: false, dequeue_credits: false };
    QueueId(device().call(asked).expect("there is room") as u32)
}

fn enqueue(queue: QueueId, item: u64) -> impl Ticket<QueueDevice> {
    device().request(QueueRequest::Enqueue { to: Operand::of(queue), item })
}

fn dequeue(queue: QueueId) -> impl Ticket<QueueDevice> {
    device().request(QueueRequest::Dequeue { from: Operand::of(queue) })
}

type Body = Box<dyn FnOnce()>;

/// Runs a thread on each core that is named.
fn run(chip: &Chip, seed: u64, threads: Vec<(u32, Body)>) -> Result<Outcome, String> {
    let options = Options { seed, ..Options::default() };
    let mut simulation = Simulation::new(chip, &options).map_err(|error| error.to_string())?;
    for (core, body) in threads {
        let spawn = Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
        simulation.spawn(spawn, body).map_err(|error| error.to_string())?;
    }
    simulation.run().map_err(|error| error.to_string())
}

/// What the device counted.
fn count(outcome: &Outcome, name: &str) -> u64 {
    let counts = outcome.devices.iter().flat_map(|device| &device.counts);
    counts.filter(|(known, _)| *known == name).map(|(_, count)| count).sum()
}

/// What was answered, where a test expects a word.
fn word(answer: Result<u64, QueueRefusal>) -> u64 {
    answer.expect("not refused")
}
