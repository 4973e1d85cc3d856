//! CPUs: what threads are scheduled onto. Contexts of one core are CPUs of their own.

use baton_units::{CoreId, CpuId};

/// The speed of a core that has the fastest clock of the machine.
pub const FULL_SPEED: u32 = 1024;

/// A CPU and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The core that it is a context of.
    pub core: CoreId,
    /// Cores under one last-level cache have one cluster.
    pub cluster: u32,
    /// The socket, and NUMA node.
    pub socket: u32,
    /// Which kind of core: cores of one kind differ in nothing but their speed. 0 on a symmetric chip.
    pub kind: u32,
    /// How fast its core is when the policy is made, in 1024ths ([`FULL_SPEED`]) of the fastest clock of the machine. A change
    /// comes by [`Scheduler::set_speed`](crate::Scheduler::set_speed).
    pub speed: u32,
    /// Whether it counts as a fast core, whatever its clock; `None`: by its clock.
    pub fast: Option<bool>,
}

/// All CPUs of a machine, by their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus(pub Vec<Cpu>);

impl Cpus {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// All of their numbers.
    pub fn ids(&self) -> impl Iterator<Item = CpuId> + use<> {
        (0..self.0.len() as u32).map(CpuId)
    }

    /// Whether both are contexts of one core (a CPU is its own sibling).
    pub fn siblings(&self, a: CpuId, b: CpuId) -> bool {
        self.at(a).core == self.at(b).core
    }

    /// 0 under one last-level cache, 1 in one socket, 2 between sockets.
    pub fn distance(&self, a: CpuId, b: CpuId) -> u32 {
        let (a, b) = (self.at(a), self.at(b));
        if a.socket != b.socket { 2 } else { u32::from(a.cluster != b.cluster) }
    }

    /// The nearest CPU to `home` that idles and that `may` be had: a core that idles as a whole before a sibling of a busy one, then
    /// the one with the least `load`, then the lowest number.
    pub fn idle_near(
        &self,
        home: CpuId,
        idle: impl Fn(CpuId) -> bool,
        may: impl Fn(CpuId) -> bool,
        load: impl Fn(CpuId) -> usize,
    ) -> Option<CpuId> {
        let busy = |cpu: CpuId| self.ids().filter(|&other| self.siblings(cpu, other) && !idle(other)).count();
        let free = self.ids().filter(|&cpu| idle(cpu) && may(cpu));
        free.min_by_key(|&cpu| (self.distance(home, cpu), busy(cpu), load(cpu)))
    }

    /// The CPU of that number.
    ///
    /// # Panics
    /// If there is none.
    pub fn at(&self, cpu: CpuId) -> &Cpu {
        &self.0[cpu.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_by_cluster_and_socket() {
        let cpu =
            |core, cluster, socket| Cpu { core: CoreId(core), cluster, socket, kind: 0, speed: FULL_SPEED, fast: None };
        let cpus = Cpus(vec![cpu(0, 0, 0), cpu(0, 0, 0), cpu(1, 0, 0), cpu(2, 1, 0), cpu(4, 2, 1)]);
        let from_first: Vec<u32> = cpus.ids().map(|cpu| cpus.distance(CpuId(0), cpu)).collect();
        assert_eq!(from_first, [0, 0, 0, 1, 2]);
        assert!(cpus.siblings(CpuId(0), CpuId(1)) && !cpus.siblings(CpuId(0), CpuId(2)));
    }
}
