//! CPUs, cores, sockets, NUMA nodes and shared caches, from `/sys/devices/system`.
//! What a file does not say is taken as the simplest machine: one socket, one node, a core a CPU.

use super::cpulist;
use std::path::Path;

/// A hardware thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number for it.
    pub id: u32,
    /// The CPUs of its core, itself among them.
    pub siblings: Vec<u32>,
    /// Its socket.
    pub socket: u32,
    /// Its NUMA node.
    pub node: u32,
    /// The CPUs that share its last-level cache, itself among them.
    pub cluster: Vec<u32>,
}

/// A level of cache, as the first CPU has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1, 2, 3, …
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Bytes.
    pub bytes: u64,
    /// Bytes in a line.
    pub line: u32,
    /// CPUs that share one.
    pub shared_by: Vec<u32>,
}

/// The online CPUs and how they hang together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// In order of their numbers.
    pub cpus: Vec<Cpu>,
    /// The first CPU's caches.
    pub caches: Vec<Cache>,
}

impl Topology {
    /// Reads this machine's.
    pub fn discover() -> Topology {
        Topology::read(Path::new("/sys/devices/system"))
    }

    /// Reads a tree like `/sys/devices/system`.
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
                // Virtual machines say -1.
                socket: text(&topology.join("physical_package_id")).trim().parse().unwrap_or(0),
                node: nodes.iter().find(|(_, cpus)| cpus.contains(&id)).map_or(0, |(node, _)| *node),
                cluster: last.map(|c| c.shared_by.clone()).filter(|c| c.contains(&id)).unwrap_or_else(|| vec![id]),
            }
        });
        Topology { cpus: cpus.collect(), caches: caches.first().cloned().unwrap_or_default() }
    }

    /// Hardware threads a core, at most.
    pub fn threads_per_core(&self) -> usize {
        self.cpus.iter().map(|c| c.siblings.len()).max().unwrap_or(1)
    }

    /// How many of these CPUs each of their cores has; `None` where cores have unequal numbers.
    pub fn contexts(&self, cpus: &[u32]) -> Option<u32> {
        let mut each = std::collections::BTreeMap::<u32, u32>::new();
        for &cpu in cpus {
            *each.entry(self.core(cpu)).or_default() += 1;
        }
        let first = *each.values().next()?;
        each.values().all(|&n| n == first).then_some(first)
    }

    /// The first of these CPUs, and the first one on another core; on the same if there is no other.
    pub fn two(&self, cpus: &[u32]) -> Option<(u32, u32)> {
        let &[first, second, ..] = cpus else { return None };
        let other = cpus.iter().copied().find(|&cpu| self.core(cpu) != self.core(first));
        Some((first, other.unwrap_or(second)))
    }

    /// A name for the CPU's core: its lowest CPU.
    fn core(&self, cpu: u32) -> u32 {
        let siblings = self.cpus.iter().find(|c| c.id == cpu).map(|c| &c.siblings);
        siblings.and_then(|siblings| siblings.first().copied()).unwrap_or(cpu)
    }

    /// How many cores there are.
    pub fn cores(&self) -> usize {
        self.count(|c| c.siblings.first().copied())
    }

    /// How many sockets there are.
    pub fn sockets(&self) -> usize {
        self.count(|c| Some(c.socket))
    }

    /// How many NUMA nodes have CPUs.
    pub fn nodes(&self) -> usize {
        self.count(|c| Some(c.node))
    }

    /// How many groups of CPUs share a last-level cache.
    pub fn clusters(&self) -> usize {
        self.count(|c| c.cluster.first().copied())
    }

    fn count(&self, key: impl Fn(&Cpu) -> Option<u32>) -> usize {
        let keys: std::collections::BTreeSet<_> = self.cpus.iter().map(key).collect();
        keys.len()
    }
}

/// One more than the highest number of a NUMA node with CPUs; 1 where the kernel names no node.
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

/// A size such as `32K`, in bytes.
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

    /// Two sockets of two cores of two threads, a last-level cache and a node a socket.
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
        // Only one of each core may be used.
        assert_eq!((t.contexts(&[0, 1, 2, 3]), t.two(&[4, 1])), (Some(1), Some((4, 1))));
        // Siblings first: the other one is on another core, if any is.
        assert_eq!((t.contexts(&[0, 4, 1, 5]), t.two(&[0, 4, 1, 5])), (Some(2), Some((0, 1))));
        assert_eq!((t.contexts(&[0, 4]), t.two(&[0, 4])), (Some(2), Some((0, 4))));
        // Both of one core and one of another.
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
