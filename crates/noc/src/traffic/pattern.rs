//! Destinations: the patterns that are common in the literature, with the formulas of the
//! reference.
//!
//! Let b be the binary logarithm of the number of nodes. Transpose swaps the halves of a node's
//! b-bit number (on grids, its coordinates), bit complement inverts all bits, bit reverse mirrors
//! them, shuffle rotates them left by one. Tornado and neighbour work on coordinates: they go ⌈k/2⌉
//! − 1 routers or 1 router further in each dimension of k routers.

use super::flow::Flow;
use crate::error::{NocError, bad, lookup};
use crate::rng::{Rng, threshold};
use crate::topology::Graph;
use serde::{Deserialize, Serialize};

/// The patterns of destinations that a configuration can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Any node with equal probability, including the source.
    Uniform,
    /// From (x, y) to (y, x).
    Transpose,
    /// The source's number with all bits inverted.
    Bitcomp,
    /// The source's number with its bits mirrored.
    Bitrev,
    /// The source's number rotated left by one bit.
    Shuffle,
    /// The node almost half way round in each dimension.
    Tornado,
    /// The next node in each dimension.
    Neighbor,
    /// A share of the packets to the hot nodes, the others as in `Uniform`.
    Hotspot,
    /// A random permutation, determined by the seed.
    Randperm,
}

/// All patterns with their names in configurations and on the command line.
pub const PATTERNS: [(&str, Pattern); 9] = [
    ("uniform", Pattern::Uniform),
    ("transpose", Pattern::Transpose),
    ("bitcomp", Pattern::Bitcomp),
    ("bitrev", Pattern::Bitrev),
    ("shuffle", Pattern::Shuffle),
    ("tornado", Pattern::Tornado),
    ("neighbor", Pattern::Neighbor),
    ("hotspot", Pattern::Hotspot),
    ("randperm", Pattern::Randperm),
];

impl std::str::FromStr for Pattern {
    type Err = NocError;

    fn from_str(name: &str) -> Result<Pattern, NocError> {
        lookup("pattern", name, &PATTERNS)
    }
}

/// A pattern, ready for one topology.
#[derive(Clone, Debug)]
pub struct Destinations {
    kind: DestinationKind,
    nodes: u64,
}

#[derive(Clone, Debug)]
enum DestinationKind {
    Uniform,
    Fixed(Vec<u32>),
    Hotspot { share: u64, hot: Vec<u32> },
}

impl Destinations {
    /// Prepares the pattern of `flow`. Fails if the pattern does not fit the topology, such as a
    /// bit pattern on 48 nodes.
    pub fn new(flow: &Flow, graph: &Graph, seed: u64) -> Result<Destinations, NocError> {
        let nodes = graph.nodes.len() as u32;
        let bits = nodes.trailing_zeros();
        let by_bits = |name: &str, f: &dyn Fn(u32) -> u32| {
            if nodes.is_power_of_two() {
                Ok(DestinationKind::Fixed((0..nodes).map(f).collect()))
            } else {
                Err(bad("traffic", name, format!("a number of nodes that is a power of two, not {nodes}")))
            }
        };
        let kind = match flow.pattern {
            Pattern::Uniform => DestinationKind::Uniform,
            Pattern::Transpose => DestinationKind::Fixed(transpose(graph)?),
            Pattern::Bitcomp => by_bits("bitcomp", &|n| nodes - 1 - n)?,
            Pattern::Bitrev => by_bits("bitrev", &|n| if bits == 0 { n } else { n.reverse_bits() >> (32 - bits) })?,
            Pattern::Shuffle => by_bits("shuffle", &|n| (n << 1 | n >> bits.saturating_sub(1)) & (nodes - 1))?,
            Pattern::Tornado => DestinationKind::Fixed(shifted(graph, |k| k.saturating_sub(1) / 2)),
            Pattern::Neighbor => DestinationKind::Fixed(shifted(graph, |_| 1)),
            Pattern::Hotspot => {
                DestinationKind::Hotspot { share: threshold(flow.hot_share), hot: flow.hot_nodes.clone() }
            }
            Pattern::Randperm => {
                let mut all: Vec<u32> = (0..nodes).collect();
                let mut rng = Rng::new(seed, 0x7065_726d, 0);
                for i in (1..all.len()).rev() {
                    all.swap(i, rng.below(i as u64 + 1) as usize);
                }
                DestinationKind::Fixed(all)
            }
        };
        Ok(Destinations { kind, nodes: u64::from(nodes) })
    }

    /// Draws the destination of the next packet of `src`.
    #[inline]
    pub fn draw(&self, src: u32, rng: &mut Rng) -> u32 {
        match &self.kind {
            DestinationKind::Uniform => rng.below(self.nodes) as u32,
            DestinationKind::Fixed(table) => table[src as usize],
            DestinationKind::Hotspot { share, hot } if rng.chance(*share) => hot[rng.below(hot.len() as u64) as usize],
            DestinationKind::Hotspot { .. } => rng.below(self.nodes) as u32,
        }
    }
}

/// Returns columns, rows and nodes per router; a graph without a grid counts as one row.
fn shape(graph: &Graph) -> (u32, u32, u32) {
    graph.grid.as_ref().map_or((graph.nodes.len() as u32, 1, 1), |g| (g.width, g.height, g.concentration))
}

fn transpose(graph: &Graph) -> Result<Vec<u32>, NocError> {
    let (width, height, local) = shape(graph);
    let nodes = graph.nodes.len() as u32;
    if graph.grid.is_none() && nodes.is_power_of_two() && nodes.trailing_zeros().is_multiple_of(2) {
        let half = nodes.trailing_zeros() / 2;
        return Ok((0..nodes).map(|n| n >> half | (n & ((1 << half) - 1)) << half).collect());
    }
    if graph.grid.is_none() || width != height {
        return Err(bad("traffic", "transpose", format!("a square grid, not {width}x{height}")));
    }
    let swap = |n: u32| {
        let (router, l) = (n / local, n % local);
        (router % width * width + router / width) * local + l
    };
    Ok((0..nodes).map(swap).collect())
}

fn shifted(graph: &Graph, by: impl Fn(u32) -> u32) -> Vec<u32> {
    let (width, height, local) = shape(graph);
    let target = |n: u32| {
        let (router, l) = (n / local, n % local);
        let (x, y) = (router % width, router / width);
        // A single row or column has nothing to shift along in the other dimension.
        let x = (x + by(width)) % width;
        let y = if height > 1 { (y + by(height)) % height } else { y };
        (y * width + x) * local + l
    };
    (0..graph.nodes.len() as u32).map(target).collect()
}
