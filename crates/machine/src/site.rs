//! The parts of a machine that a thread runs in.

use crate::discover::Topology;

/// The parts of the machine that a thread is in, from the largest to the smallest. Two threads with
/// the same node and cluster share a last-level cache; two with the same node, cluster and core
/// share a core. Numbers of clusters and cores only distinguish them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// Number of the NUMA node, as in [`Machine::node`](crate::Machine::node).
    pub node: u32,
    /// Number of the group of cores that share a last-level cache.
    pub cluster: u32,
    /// Number of the core, which its hardware threads share.
    pub core: u32,
}

impl Topology {
    /// Returns the site of each CPU, indexed by the CPU's number. Unused numbers get the default
    /// site, at node 0.
    pub fn sites(&self) -> Vec<Site> {
        let last = self.cpus.iter().map(|cpu| cpu.id).max().unwrap_or(0);
        let mut sites = vec![Site::default(); last as usize + 1];
        for cpu in &self.cpus {
            // A core or a cluster is named after its lowest-numbered CPU.
            let name = |cpus: &[u32]| cpus.iter().min().copied().unwrap_or(cpu.id);
            sites[cpu.id as usize] = Site { node: cpu.node, cluster: name(&cpu.cluster), core: name(&cpu.siblings) };
        }
        sites
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::Cpu;

    #[test]
    fn siblings_are_at_one_core_and_those_of_a_cache_in_one_cluster() {
        let cpu = |id: u32, siblings: [u32; 2], node, cluster: &[u32]| Cpu {
            id,
            siblings: siblings.into(),
            socket: 0,
            node,
            cluster: cluster.into(),
        };
        let cpus = vec![
            cpu(0, [0, 4], 0, &[0, 1, 4, 5]),
            cpu(1, [1, 5], 0, &[0, 1, 4, 5]),
            cpu(4, [0, 4], 0, &[0, 1, 4, 5]),
            cpu(6, [2, 6], 1, &[2, 6]),
        ];
        let sites = Topology { cpus, caches: Vec::new() }.sites();
        let at = |node, cluster, core| Site { node, cluster, core };
        assert_eq!(sites.len(), 7);
        assert_eq!([sites[0], sites[4]], [at(0, 0, 0); 2]);
        assert_eq!([sites[1], sites[6], sites[3]], [at(0, 0, 1), at(1, 2, 2), Site::default()]);
    }
}
