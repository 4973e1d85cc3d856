//! CPUs, onto which threads are scheduled. Each context of a core is a CPU of its own.

use baton_units::{CoreId, CpuId};

/// Speed of a core that has the machine's fastest clock.
pub const FULL_SPEED: u32 = 1024;

/// A CPU and its position in the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The core of which the CPU is a context.
    pub core: CoreId,
    /// Number of the cluster; the cores of a cluster share a last-level cache.
    pub cluster: u32,
    /// Number of the socket, which is also the NUMA node.
    pub socket: u32,
    /// Number of the kind of core; cores of one kind differ only in their speed. 0 on a symmetric
    /// chip.
    pub kind: u32,
    /// Speed of the core when the policy is made, in 1024ths ([`FULL_SPEED`]) of the machine's
    /// fastest clock. [`Scheduler::set_speed`](crate::Scheduler::set_speed) reports changes.
    pub speed: u32,
    /// Whether the CPU counts as a fast core whatever its clock; `None` means that its clock
    /// decides.
    pub fast: Option<bool>,
}

/// All CPUs of a machine, indexed by their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus(pub Vec<Cpu>);

impl Cpus {
    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn ids(&self) -> impl Iterator<Item = CpuId> + use<> {
        (0..self.0.len() as u32).map(CpuId)
    }

    /// Whether both are contexts of the same core (a CPU is its own sibling).
    pub fn siblings(&self, a: CpuId, b: CpuId) -> bool {
        self.at(a).core == self.at(b).core
    }

    /// Returns 0 for CPUs under the same last-level cache, 1 for those in the same socket, 2
    /// between sockets.
    pub fn distance(&self, a: CpuId, b: CpuId) -> u32 {
        let (a, b) = (self.at(a), self.at(b));
        if a.socket != b.socket { 2 } else { u32::from(a.cluster != b.cluster) }
    }

    /// Returns the nearest CPU to `home` that is idle and that `may` allows. Among equally near
    /// ones, it prefers a core with the fewest busy siblings, then the least `load`, then the
    /// lowest number.
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

    /// Returns the CPU with this number.
    ///
    /// # Panics
    /// If there is no such CPU.
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
