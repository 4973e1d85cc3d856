//! A part of a machine's CPUs, as KMP_HW_SUBSET names it.
//!
//! A text such as `2s,4c,1t` stands for the first hardware thread of each of the first four cores of
//! each of the first two sockets. Layers may stand in any order; a layer that is not named is taken
//! whole. `4c@2` begins at the third core. After a colon (`:1s,3t`) only the layers that are named
//! count: the first three hardware threads of the socket, whatever their cores.

use baton_machine::discover::{Cpu, Topology};

/// The layers of a machine, from the outermost on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    Socket,
    Node,
    Cache,
    Core,
    Thread,
}

impl Layer {
    fn named(name: &str) -> Option<Layer> {
        Some(match name {
            "s" | "socket" | "sockets" | "package" | "packages" => Layer::Socket,
            "n" | "numa" | "numa_domain" | "numa_domains" => Layer::Node,
            "ll" | "ll_cache" | "ll_caches" => Layer::Cache,
            "c" | "core" | "cores" => Layer::Core,
            "t" | "thread" | "threads" => Layer::Thread,
            _ => return None,
        })
    }

    /// The number of the part of this layer to which a CPU belongs.
    fn part(self, cpu: &Cpu) -> u32 {
        let first = |cpus: &[u32]| cpus.iter().min().copied().unwrap_or(cpu.id);
        match self {
            Layer::Socket => cpu.socket,
            Layer::Node => cpu.node,
            Layer::Cache => first(&cpu.cluster),
            Layer::Core => first(&cpu.siblings),
            Layer::Thread => cpu.id,
        }
    }
}

/// The parts of a layer that are taken.
#[derive(Clone, Copy, Debug)]
struct Taken {
    layer: Layer,
    /// The number of parts; `None`: all.
    count: Option<usize>,
    offset: usize,
}

fn taken(word: &str) -> Option<Taken> {
    let (word, offset) = word.split_once('@').map_or((word, Some(0)), |(word, at)| (word, at.trim().parse().ok()));
    let word = word.trim();
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '*').unwrap_or(word.len());
    let (count, name) = word.split_at(end);
    let count = if count == "*" { None } else { Some(count.parse().ok().filter(|n| *n > 0)?) };
    Some(Taken { layer: Layer::named(name.trim())?, count, offset: offset? })
}

/// The CPUs that `text` names, of those that may be used, in increasing order. The error says what is
/// wrong.
pub fn read(text: &str, topology: &Topology, allowed: &[u32]) -> Result<Vec<u32>, String> {
    let text = text.trim().to_ascii_lowercase();
    let (alone, rest) = text.strip_prefix(':').map_or((false, text.as_str()), |rest| (true, rest));
    let mut layers = Vec::new();
    for word in rest.split(',') {
        let one = taken(word).ok_or_else(|| {
            format!("`{word}` is no part of a machine; expected a number and s, n, ll, c or t, as in `1s,4c@2,1t`")
        })?;
        if layers.iter().any(|known: &Taken| known.layer == one.layer) {
            return Err(format!("`{word}`: the layer is named twice"));
        }
        layers.push(one);
    }
    if !alone {
        for layer in [Layer::Socket, Layer::Core, Layer::Thread] {
            if layers.iter().all(|known| known.layer != layer) {
                layers.push(Taken { layer, count: None, offset: 0 });
            }
        }
    }
    layers.sort_by_key(|one| one.layer);
    let cpus: Vec<&Cpu> = topology.cpus.iter().filter(|cpu| allowed.contains(&cpu.id)).collect();
    let mut chosen: Vec<u32> = choose(cpus, &layers)?.iter().map(|cpu| cpu.id).collect();
    chosen.sort_unstable();
    Ok(chosen)
}

fn choose<'a>(mut cpus: Vec<&'a Cpu>, layers: &[Taken]) -> Result<Vec<&'a Cpu>, String> {
    let Some((Taken { layer, count, offset }, inner)) = layers.split_first() else { return Ok(cpus) };
    // Hardware threads of a core are neighbours in the order.
    let outer = |cpu: &Cpu| if *layer == Layer::Thread { 0 } else { layer.part(cpu) };
    cpus.sort_by_key(|cpu| (Layer::Socket.part(cpu), outer(cpu), Layer::Core.part(cpu), cpu.id));
    let parts: Vec<&[&Cpu]> = cpus.chunk_by(|a, b| layer.part(a) == layer.part(b)).collect();
    let count = count.unwrap_or_else(|| parts.len().saturating_sub(*offset));
    let end = offset.saturating_add(count);
    if count == 0 || end > parts.len() {
        return Err(format!("too many: {end} of {} of layer {layer:?}", parts.len()));
    }
    let chosen: Result<Vec<_>, String> = parts[*offset..end].iter().map(|part| choose(part.to_vec(), inner)).collect();
    Ok(chosen?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets of four cores of two hardware threads: CPU n + 8 shares the core of CPU n.
    fn subset(text: &str) -> Result<Vec<u32>, String> {
        let cpu = |id: u32| {
            let (core, socket) = (id % 8, id % 8 / 4);
            Cpu { id, siblings: vec![core, core + 8], socket, node: socket, cluster: vec![socket * 4] }
        };
        let topology = Topology { cpus: (0..16).map(cpu).collect(), caches: Vec::new() };
        read(text, &topology, &(0..16).collect::<Vec<_>>())
    }

    #[test]
    fn a_part_is_taken_of_each_layer_that_is_named() {
        let taken = |text| subset(text).unwrap();
        assert_eq!(taken("1s,2c,1t"), [0, 1]);
        assert_eq!(taken("1T, 2s, 2C@1"), [1, 2, 5, 6]);
        assert_eq!(taken("1s"), [0, 1, 2, 3, 8, 9, 10, 11]);
        assert_eq!(taken("1s@1,1c,*t"), [4, 12]);
        assert_eq!(taken(":1s,3t"), [0, 1, 8]);
        assert_eq!(taken(":1s,2t@1"), [1, 8]);
    }

    #[test]
    fn a_text_that_names_no_part_is_refused() {
        for (text, named) in
            [("3s", "too many"), ("2x", "`2x`"), ("c", "`c`"), ("0c", "`0c`"), ("1c,2c", "twice"), ("4c@1", "too many")]
        {
            assert!(subset(text).unwrap_err().contains(named), "{text}");
        }
    }
}
