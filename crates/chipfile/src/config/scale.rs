//! A chip with another number of cores, by one stated rule:
//!
//! - What is per core stays: caches, bank sizes, latencies, prices, and the clocks of the cores
//!   that are left.
//! - A mesh or torus becomes as near to a square as its cores allow, and no higher than wide: 4 →
//!   2×2, 16 → 4×4, 32 → 8×4.
//! - Homes and controllers shrink and grow with the cores, to the next smaller number that the
//!   geometry allows, but to no less than one (on dies, one for each die). Homes and controllers
//!   keep their placement; controllers whose nodes are named one by one keep their number, too.
//! - Clusters (dies) stay whole: there are fewer or more of them. One cluster has all cores if the
//!   chip becomes smaller than a cluster, or if it had one cluster before and that is no die. Links
//!   between dies that are left stay; a chip cannot grow past the dies that its links reach.

use super::chip::Chip;
use super::coherent::{Coherent, Placement, Topology};
use super::geometry::{self, Misfit};
use super::limits::MOST_CORES;
use super::read::{ChipError, Problem};

impl Chip {
    /// Returns this chip with `cores` cores.
    ///
    /// # Errors
    /// The rule gives no such chip: the number is 0 or too large, is no multiple of the cluster, or
    /// gives a chip whose values do not fit together.
    pub fn resized(&self, cores: u32) -> Result<Chip, ChipError> {
        let failed = |problem| ChipError { file: "--cores".to_owned(), line: None, problem };
        let was = self.core.count;
        let wrong = |expected: String| {
            failed(Problem::Together { key: "core.count".to_owned(), found: cores.to_string(), expected })
        };
        if cores == 0 || u64::from(cores) > MOST_CORES {
            return Err(wrong(format!("1 to {}", MOST_CORES)));
        }
        let mut chip = self.clone();
        chip.core.count = cores;
        chip.core.clocks.0.retain(|one| one.from < cores);
        chip.core.clocks.0.iter_mut().for_each(|one| one.to = one.to.min(cores - 1));
        chip.core.kinds.resize(was, cores);
        if cores != was {
            chip.name = format!("{} at {cores} cores", self.name);
        }
        let whole = self.core.per_cluster == was;
        if whole && !self.coherent.as_ref().is_some_and(|coherent| coherent.network.topology == Topology::Dies)
            || cores < self.core.per_cluster
        {
            chip.core.per_cluster = cores;
        }
        let cluster = chip.core.per_cluster;
        if !cores.is_multiple_of(cluster) {
            return Err(wrong(format!("a multiple of core.per_cluster, {cluster}")));
        }
        let clusters = cores / cluster;
        chip.core.clusters_per_socket = chip.core.clusters_per_socket.min(clusters);
        if let Some(coherent) = &mut chip.coherent {
            resize(coherent, was, cores, clusters);
        }
        let misfit = |Misfit { key, found, expected, .. }: Misfit| failed(Problem::Together { key, found, expected });
        geometry::check(&chip).map_err(misfit)?;
        Ok(chip)
    }
}

fn resize(coherent: &mut Coherent, was: u32, cores: u32, dies: u32) {
    let network = &mut coherent.network;
    let scaled = |n: u32| (u64::from(n) * u64::from(cores) / u64::from(was)).max(1) as u32;
    let (banks, controllers) = (scaled(coherent.home.banks), scaled(coherent.dram.controllers));
    match network.topology {
        Topology::Mesh | Topology::Torus | Topology::Ring => {
            if network.topology != Topology::Ring {
                (network.width, network.height) = near_square(cores);
            }
            coherent.home.banks = divisor(cores, banks);
            coherent.dram.controllers = match coherent.dram.placement {
                Placement::Rows if network.height > 1 && controllers > 1 => {
                    (controllers / 2 * 2).min(2 * network.width)
                }
                Placement::Rows => controllers.min(network.width),
                Placement::Corners => [4, 2, 1].into_iter().find(|&n| n <= controllers).unwrap_or(1),
                Placement::All => divisor(cores, controllers),
                // The nodes are named one by one; the check reports the nodes that the smaller grid
                // lacks.
                Placement::Nodes(_) => coherent.dram.controllers,
            };
        }
        Topology::Crossbar | Topology::Bus => {
            coherent.home.banks = banks;
            coherent.dram.controllers = controllers;
        }
        Topology::Dies => {
            network.links.0.retain(|link| link.from.max(link.to) < dies);
            coherent.home.banks = (banks / dies).max(1) * dies;
            coherent.dram.controllers = (controllers / dies).max(1) * dies;
        }
    }
}

/// Returns the largest divisor of `n` that is at most `most`.
fn divisor(n: u32, most: u32) -> u32 {
    (1..=most.min(n)).rev().find(|&part| n.is_multiple_of(part)).unwrap_or(1)
}

/// Returns the width and height of the grid of `n` tiles that is closest to a square.
fn near_square(n: u32) -> (u32, u32) {
    let height = divisor(n, n.isqrt());
    (n / height, height)
}
