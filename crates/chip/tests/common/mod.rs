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
