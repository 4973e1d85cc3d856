//! Decides which CPUs are fast.

use crate::Cpus;
use baton_units::CpuId;

/// The speeds of CPUs, and which of them are fast. A CPU that is named fast or slow is so at any
/// clock; one that is not named is fast if no CPU that is on has a faster clock.
#[derive(Clone, Debug)]
pub(super) struct Kinds {
    speeds: Vec<u32>,
    on: Vec<bool>,
    named: Vec<Option<bool>>,
    fast: Vec<bool>,
    /// Number of fast CPUs that are on, and number of CPUs that are on.
    counts: (u32, u32),
}

impl Kinds {
    /// Creates the state of a machine on which all CPUs are on.
    pub(super) fn new(cpus: &Cpus) -> Kinds {
        let n = cpus.count();
        let speeds = cpus.0.iter().map(|cpu| cpu.speed).collect();
        let named = cpus.0.iter().map(|cpu| cpu.fast).collect();
        let mut kinds = Kinds { speeds, on: vec![true; n], named, fast: vec![false; n], counts: (0, 0) };
        kinds.derive();
        kinds
    }

    fn derive(&mut self) {
        let on = (0..self.on.len()).filter(|&cpu| self.on[cpu]);
        let most = on.clone().map(|cpu| self.speeds[cpu]).max().unwrap_or(0);
        for cpu in 0..self.on.len() {
            self.fast[cpu] = self.named[cpu].unwrap_or(self.speeds[cpu] >= most);
        }
        self.counts = (on.clone().filter(|&cpu| self.fast[cpu]).count() as u32, on.count() as u32);
    }

    pub(super) fn set_speed(&mut self, cpu: CpuId, speed: u32) {
        self.speeds[cpu.0 as usize] = speed;
        self.derive();
    }

    pub(super) fn set_online(&mut self, cpu: CpuId, on: bool) {
        self.on[cpu.0 as usize] = on;
        self.derive();
    }

    /// The CPU's speed, in 1024ths of the machine's fastest clock.
    pub(super) fn speed(&self, cpu: CpuId) -> u32 {
        self.speeds[cpu.0 as usize]
    }

    pub(super) fn is_fast(&self, cpu: CpuId) -> bool {
        self.fast[cpu.0 as usize]
    }

    pub(super) fn is_on(&self, cpu: CpuId) -> bool {
        self.on[cpu.0 as usize]
    }

    /// Number of fast CPUs that are on.
    pub(super) fn fast_count(&self) -> u32 {
        self.counts.0
    }

    /// Number of CPUs that are on.
    pub(super) fn on_count(&self) -> u32 {
        self.counts.1
    }

    /// Whether there are CPUs of both kinds; otherwise it does not matter where threads are.
    pub(super) fn are_unlike(&self) -> bool {
        self.counts.0 != 0 && self.counts.0 != self.counts.1
    }
}
