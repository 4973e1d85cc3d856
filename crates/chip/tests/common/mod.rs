//! What the tests of this crate share: the sample chip with settings, and cells in guest memory.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part")]

use baton_chip::{Chip, Options, Simulated, Simulation};
use baton_machine::{Atomic, Machine, Owned, Word};
use std::rc::Rc;

pub type Cell<T> = <Simulated as Machine>::Atomic<T>;
pub type Shared<T> = Rc<Owned<Simulated, T>>;

/// The sample chip without noise, with `settings`.
pub fn chip(settings: &[&str]) -> Chip {
    let sample = include_str!("../../../../chips/sample-host.toml");
    let mut all = vec!["noise.latency=0".to_owned(), "noise.start=0".to_owned()];
    all.extend(settings.iter().map(|setting| (*setting).to_owned()));
    Chip::from_toml_with(sample, "sample-host.toml", &all).expect("the sample and the settings are right")
}

/// The settings of a queue device that is connected by wires of its own.
pub const QUEUE_DEVICE: [&str; 21] = [
    "device.kind=qmd",
    "device.count=1",
    "device.clock_hz=1_000_000_000",
    "device.link=dedicated",
    "device.way=25",
    "device.outstanding=4",
    "device.call=300",
    "device.interrupt=700",
    "device.qmd.latency=20",
    "device.qmd.entries=64",
    "device.qmd.queues=8",
    "device.qmd.engines=1",
    "device.qmd.priorities=1",
    "device.qmd.buffers=context",
    "device.qmd.depth=4",
    "device.qmd.schedule=round-robin",
    "device.qmd.retry=slot",
    "device.qmd.pointers=grant",
    "device.qmd.local_credits=8",
    "device.qmd.timeout=0",
    "device.qmd.reduce=3",
];

/// A chip of `cores` cores in one cluster.
pub fn cores(cores: u32, settings: &[&str]) -> Chip {
    let (count, cluster) = (format!("core.count={cores}"), format!("core.per_cluster={cores}"));
    let mut all = vec![count.as_str(), cluster.as_str()];
    all.extend(settings);
    chip(&all)
}

pub fn simulation(chip: &Chip) -> Simulation {
    Simulation::new(chip, &Options::default()).expect("the host has memory")
}

/// A cell alone in its pair of lines.
#[repr(align(128))]
pub struct Alone<T: Word>(pub Cell<T>);

pub fn cell<T: Word>(simulation: &mut Simulation, value: T) -> Shared<Alone<T>> {
    simulation.outside(|| Rc::new(Owned::new(Alone(Atomic::new(value)))))
}

pub fn share<T>(simulation: &mut Simulation, value: impl FnOnce() -> T) -> Shared<T> {
    simulation.outside(|| Rc::new(Owned::new(value())))
}
