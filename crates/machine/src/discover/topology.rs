//! CPUs, cores, sockets, NUMA nodes and shared caches, from `/sys/devices/system`. Where a file is
//! missing, the simplest machine is assumed: one socket, one node, one hardware thread a core.

use super::cpulist;
use std::path::Path;

/// A hardware thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number of the CPU.
    pub id: u32,
    /// The CPUs of the same core, including the CPU itself.
    pub siblings: Vec<u32>,
    /// The kernel's number of the CPU's socket.
    pub socket: u32,
    /// The CPU's NUMA node.
    pub node: u32,
    /// The CPUs that share this CPU's last-level cache, including the CPU itself.
    pub cluster: Vec<u32>,
}

/// A cache of the first CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Level of the cache: 1, 2, 3, …
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`, as the kernel writes it.
    pub kind: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Bytes of a cache line.
    pub line: u32,
    /// The CPUs that share this cache.
    pub shared_by: Vec<u32>,
}

/// The online CPUs, and which cores, caches, sockets and nodes they belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// All online CPUs in order of their numbers.
    pub cpus: Vec<Cpu>,
    /// The caches of the first CPU.
    pub caches: Vec<Cache>,
}

impl Topology {
    /// Reads `/sys/devices/system` of this machine.
    pub fn discover() -> Topology {
        Topology::read(Path::new("/sys/devices/system"))
    }

    /// Reads a directory laid out like `/sys/devices/system`.
    pub fn read(system: &Path) -> Topology {
        let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        let online = cpulist::parse(&text(&system.join("cpu/online"))).filter(|c| !c.is_empty());
        let ids = online.unwrap_or_else(|| vec![0]);
        let nodes = nodes(system);
        let caches: Vec<Vec<Cache>> = ids.iter().map(|id| read_caches(&system.join(format!("cpu/cpu{id}")))).collect();
        let cpus = ids.iter().zip(&caches).map(|(&id, caches)| {
            let topology = system.join(format!("cpu/cpu{id}/topology"));
            let siblings = cpulist::parse(&text(&topology.join("thread_siblings_list"))).filter(|s| s.contains(&id));
            let last = caches.iter().filter(|c| c.kind != "Instruction").max_by_key(|c| c.level);
            Cpu {
                id,
                siblings: siblings.unwrap_or_else(|| vec![id]),
                // Some virtual machines report -1, which does not parse as a number of a socket.
                socket: text(&topology.join("physical_package_id")).trim().parse().unwrap_or(0),
                node: nodes.iter().find(|(_, cpus)| cpus.contains(&id)).map_or(0, |(node, _)| *node),
                cluster: last.map(|c| c.shared_by.clone()).filter(|c| c.contains(&id)).unwrap_or_else(|| vec![id]),
            }
        });
        Topology { cpus: cpus.collect(), caches: caches.first().cloned().unwrap_or_default() }
    }

    /// Returns the largest number of hardware threads that a core has.
    pub fn threads_per_core(&self) -> usize {
        self.cpus.iter().map(|c| c.siblings.len()).max().unwrap_or(1)
    }

    /// Returns how many of `cpus` each of their cores has; `None` if this differs between cores, or
    /// `cpus` is empty.
    pub fn contexts(&self, cpus: &[u32]) -> Option<u32> {
        let mut each = std::collections::BTreeMap::<u32, u32>::new();
        for &cpu in cpus {
            *each.entry(self.core(cpu)).or_default() += 1;
        }
        let first = *each.values().next()?;
        each.values().all(|&n| n == first).then_some(first)
    }

    /// Returns the first of `cpus` and the first one on another core; the second of `cpus` if all
    /// are on one core. `None` for fewer than two CPUs.
    pub fn two(&self, cpus: &[u32]) -> Option<(u32, u32)> {
        let &[first, second, ..] = cpus else { return None };
        let other = cpus.iter().copied().find(|&cpu| self.core(cpu) != self.core(first));
        Some((first, other.unwrap_or(second)))
    }

    /// Identifies the core of a CPU by its lowest-numbered CPU.
    fn core(&self, cpu: u32) -> u32 {
        let siblings = self.cpus.iter().find(|c| c.id == cpu).map(|c| &c.siblings);
        siblings.and_then(|siblings| siblings.first().copied()).unwrap_or(cpu)
    }

    /// Number of cores.
    pub fn cores(&self) -> usize {
        self.count(|c| c.siblings.first().copied())
    }

    /// Number of sockets.
    pub fn sockets(&self) -> usize {
        self.count(|c| Some(c.socket))
    }

    /// Number of NUMA nodes with CPUs.
    pub fn nodes(&self) -> usize {
        self.count(|c| Some(c.node))
    }

    /// Number of groups of CPUs that share a last-level cache.
    pub fn clusters(&self) -> usize {
        self.count(|c| c.cluster.first().copied())
    }

    fn count(&self, key: impl Fn(&Cpu) -> Option<u32>) -> usize {
        let keys: std::collections::BTreeSet<_> = self.cpus.iter().map(key).collect();
        keys.len()
    }
}

/// Returns one more than the highest-numbered NUMA node with CPUs; 1 if the kernel reports no node.
pub fn node_numbers() -> u32 {
    highest(&nodes(Path::new("/sys/devices/system")))
}

fn highest(nodes: &[(u32, Vec<u32>)]) -> u32 {
    nodes.iter().filter(|(_, cpus)| !cpus.is_empty()).map(|(node, _)| node + 1).max().unwrap_or(1)
}

fn nodes(system: &Path) -> Vec<(u32, Vec<u32>)> {
    let entries = std::fs::read_dir(system.join("node")).into_iter().flatten().flatten();
    let mut nodes: Vec<(u32, Vec<u32>)> = entries
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
            Some((number, cpulist::parse(&std::fs::read_to_string(entry.path().join("cpulist")).ok()?)?))
        })
        .collect();
    nodes.sort();
    nodes
}

fn read_caches(cpu: &Path) -> Vec<Cache> {
    (0..)
        .map(|i| cpu.join(format!("cache/index{i}")))
        .map_while(|index| {
            let text = |name: &str| std::fs::read_to_string(index.join(name)).ok().map(|t| t.trim().to_owned());
            Some(Cache {
                level: text("level")?.parse().ok()?,
                kind: text("type")?,
                bytes: bytes(&text("size")?)?,
                line: text("coherency_line_size").and_then(|l| l.parse().ok()).unwrap_or(64),
                shared_by: cpulist::parse(&text("shared_cpu_list")?)?,
            })
        })
        .collect()
}

/// Parses a size such as `32K` into bytes.
fn bytes(size: &str) -> Option<u64> {
    let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &size[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// Writes a tree with two sockets of two cores of two threads; each socket has a last-level
    /// cache and a NUMA node.
    fn two_sockets(root: &Path) {
        let put = |path: PathBuf, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put(root.join("cpu/online"), "0-7\n");
        for cpu in 0..8 {
            let (socket, core) = (cpu % 4 / 2, cpu % 4);
            let dir = root.join(format!("cpu/cpu{cpu}"));
            put(dir.join("topology/thread_siblings_list"), &format!("{core},{}\n", core + 4));
            put(dir.join("topology/physical_package_id"), &format!("{socket}\n"));
            for (i, level, kind, size, shared) in [
                (0, 1, "Data", "32K", format!("{core},{}", core + 4)),
                (1, 1, "Instruction", "32K", format!("{core},{}", core + 4)),
                (
                    2,
                    3,
                    "Unified",
                    "16M",
                    format!("{0},{1},{2},{3}", 2 * socket, 2 * socket + 1, 2 * socket + 4, 2 * socket + 5),
                ),
            ] {
                let index = dir.join(format!("cache/index{i}"));
                put(index.join("level"), &level.to_string());
                put(index.join("type"), kind);
                put(index.join("size"), size);
                put(index.join("shared_cpu_list"), &shared);
            }
        }
        put(root.join("node/node0/cpulist"), "0-1,4-5\n");
        put(root.join("node/node1/cpulist"), "2-3,6-7\n");
    }

    #[test]
    fn a_tree_is_read() {
        let dir = tempfile::tempdir().unwrap();
        two_sockets(dir.path());
        let t = Topology::read(dir.path());
        assert_eq!((t.cpus.len(), t.cores(), t.sockets(), t.nodes(), t.clusters()), (8, 4, 2, 2, 2));
        assert_eq!(t.threads_per_core(), 2);
        let expected = Cpu { id: 6, siblings: vec![2, 6], socket: 1, node: 1, cluster: vec![2, 3, 6, 7] };
        assert_eq!(t.cpus[6], expected);
        assert_eq!(t.caches[2].bytes, 16 << 20);
    }

    #[test]
    fn numbers_of_nodes_may_have_gaps() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(highest(&nodes(dir.path())), 1, "no node is named");
        two_sockets(dir.path());
        assert_eq!(highest(&nodes(dir.path())), 2);
        for (node, cpus) in [("node5", "8-9\n"), ("node9", "\n")] {
            std::fs::create_dir_all(dir.path().join("node").join(node)).unwrap();
            std::fs::write(dir.path().join("node").join(node).join("cpulist"), cpus).unwrap();
        }
        assert_eq!(highest(&nodes(dir.path())), 6, "node 9 has memory only");
    }

    #[test]
    fn siblings_are_contexts_of_a_core() {
        let dir = tempfile::tempdir().unwrap();
        two_sockets(dir.path());
        let t = Topology::read(dir.path());
        let all: Vec<u32> = (0..8).collect();
        assert_eq!((t.contexts(&all), t.two(&all)), (Some(2), Some((0, 1))));
        // One CPU of each core.
        assert_eq!((t.contexts(&[0, 1, 2, 3]), t.two(&[4, 1])), (Some(1), Some((4, 1))));
        // Siblings come first, so the second CPU must be found on another core.
        assert_eq!((t.contexts(&[0, 4, 1, 5]), t.two(&[0, 4, 1, 5])), (Some(2), Some((0, 1))));
        assert_eq!((t.contexts(&[0, 4]), t.two(&[0, 4])), (Some(2), Some((0, 4))));
        // Two CPUs of one core and one CPU of another.
        assert_eq!((t.contexts(&[0, 4, 1]), t.two(&[3])), (None, None));
        assert_eq!(t.contexts(&[]), None);
    }

    #[test]
    fn an_empty_tree_is_the_simplest_machine() {
        let dir = tempfile::tempdir().unwrap();
        let t = Topology::read(dir.path());
        assert_eq!((t.cpus.len(), t.cores(), t.sockets(), t.nodes(), t.clusters()), (1, 1, 1, 1, 1));
    }

    #[test]
    fn this_machine_has_a_cpu() {
        let t = Topology::discover();
        assert!(t.cpus.iter().all(|c| c.siblings.contains(&c.id) && c.cluster.contains(&c.id)));
        assert!(t.cores() >= 1 && t.cpus.len() >= t.cores());
    }
}
