//! CAF's queue device on a chip: threads that enqueue and dequeue. The device by itself, cycle by
//! cycle, is tested beside its source (`cargo test -p baton-chipfile --lib qmd`).

mod crowded;
mod figure4;
mod files;
mod library;
mod models;
mod moving;
mod posted;
mod qimu;
mod random;
mod random_crowd;
mod random_flows;
mod ways;
mod weights;

#[path = "../common/queues.rs"]
mod queues;

use baton_chip::Outcome;
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{Operand, QueueDevice, QueueId, QueueRefusal, QueueRequest};
use queues::{Body, allocate, chip, device, run};

fn enqueue(queue: QueueId, item: u64) -> impl Ticket<QueueDevice> {
    device().request(QueueRequest::Enqueue { to: Operand::of(queue), item })
}

fn dequeue(queue: QueueId) -> impl Ticket<QueueDevice> {
    device().request(QueueRequest::Dequeue { from: Operand::of(queue) })
}

/// The sum of the count with this name over all devices.
fn count(outcome: &Outcome, name: &str) -> u64 {
    let counts = outcome.devices.iter().flat_map(|device| &device.counts);
    counts.filter(|(known, _)| *known == name).map(|(_, count)| count).sum()
}

/// Runs `f` as the only thread, on core 0 of the paper's chip with these settings.
fn on_one(settings: &[&str], f: impl FnOnce() + 'static) -> Outcome {
    run(&chip(settings), 1, vec![(0, Box::new(f))]).expect("it ends")
}

/// The word of an answer that must not be a refusal.
fn word(answer: Result<u64, QueueRefusal>) -> u64 {
    answer.expect("not refused")
}
