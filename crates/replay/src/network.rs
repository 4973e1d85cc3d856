//! Networks to replay on: the chip's own, with other arbiters in its routers, or with OCOR's marks and arbiters (Yao and
//! Lu, ISCA 2016). What a network does to a lock is told against the first one that was asked for, seed by seed.

use crate::run::Ran;
use baton_chip::{Chip, ChipError, config::coherent::Contention};
use serde::Serialize;
use thiserror::Error;

/// A network by name: what of the chip it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The name on the command line.
    pub name: &'static str,
    /// One line: what it does.
    pub what: &'static str,
    settings: &'static [&'static str],
}

/// All of them. Those with OCOR name its rule, so that a name means the same whatever the chip file says.
pub const NETWORKS: [Network; 8] = [
    Network {
        name: "round-robin",
        what: "routers serve in turns; no packet is marked",
        settings: &["ocor.enabled=false", "network.arbiter=round-robin"],
    },
    Network {
        name: "ocor",
        what: "lock and wake-up requests are marked, and the one with the fewest tries left goes first",
        settings: &["ocor.enabled=true", "ocor.rule=paper"],
    },
    Network {
        name: "release-first",
        what: "ocor, but releases go before all tries",
        settings: &["ocor.enabled=true", "ocor.rule=release-first"],
    },
    Network {
        name: "holder-first",
        what: "ocor, but every request of a thread that holds a lock goes before all tries",
        settings: &["ocor.enabled=true", "ocor.rule=holder-first"],
    },
    Network {
        name: "oldest-first",
        what: "ocor, but the try goes first whose thread has waited longest",
        settings: &["ocor.enabled=true", "ocor.rule=oldest-first"],
    },
    Network {
        name: "age",
        what: "the oldest packet goes first; no packet is marked",
        settings: &["ocor.enabled=false", "network.arbiter=age"],
    },
    Network {
        name: "matrix",
        what: "the least recently served goes first; no packet is marked",
        settings: &["ocor.enabled=false", "network.arbiter=matrix"],
    },
    Network {
        name: "fixed",
        what: "the lowest port goes first, and can starve others; no packet is marked",
        settings: &["ocor.enabled=false", "network.arbiter=fixed"],
    },
];

/// Why a chip cannot have another network.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NoNetwork {
    /// It has none.
    #[error("chip `{0}` has fixed latencies (memory.model = \"fixed\") and no network whose routers could arbitrate")]
    Fixed(String),
    /// Its packets never meet.
    #[error("chip `{0}` has network.contention = \"none\": packets never meet, so that no arbiter decides anything")]
    Free(String),
    /// The settings do not go with the chip.
    #[error(transparent)]
    Chip(#[from] ChipError),
}

impl Network {
    /// The network of that name.
    pub fn named(name: &str) -> Option<Network> {
        NETWORKS.into_iter().find(|network| network.name == name)
    }

    /// It marks the requests of locks that give hints.
    pub fn marks(&self) -> bool {
        self.settings.contains(&"ocor.enabled=true")
    }

    /// The chip with this network.
    ///
    /// # Errors
    /// When it has no network that arbitrates.
    pub fn on(&self, chip: &Chip) -> Result<Chip, NoNetwork> {
        let Some(coherent) = &chip.coherent else { return Err(NoNetwork::Fixed(chip.name.clone())) };
        if coherent.network.contention == Contention::None {
            return Err(NoNetwork::Free(chip.name.clone()));
        }
        let settings: Vec<String> = self.settings.iter().map(|&setting| setting.to_owned()).collect();
        Ok(Chip::from_toml_with(&chip.to_toml(), &chip.name, &settings)?)
    }
}

/// A value over seeds, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percent {
    /// The middle one.
    pub median: f64,
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

/// What a network did to a lock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnNetwork {
    /// Its name.
    pub name: String,
    /// It marks something: see [`Network::marks`].
    #[serde(skip)]
    pub marks: bool,
    /// Packets that carried a mark, in the first seed's run. 0: the lock gives no hints, or the network marks nothing.
    pub marked_packets: u64,
    /// Time saved against the first network with the same lock and seed, as a share of that network's; `None` of the first.
    pub less_time: Option<Percent>,
    /// The same of competition overhead.
    pub less_overhead: Option<Percent>,
}

impl OnNetwork {
    /// Of a lock's runs, seed by seed, and those on the first network.
    pub(crate) fn of(network: &Network, ran: &[Ran], first: Option<&[Ran]>) -> OnNetwork {
        let less = |value: fn(&Ran) -> u64| {
            let pairs = ran.iter().zip(first?);
            Some(Percent::of(pairs.map(|(here, there)| less(value(there), value(here))).collect()))
        };
        OnNetwork {
            name: network.name.to_owned(),
            marks: network.marks(),
            marked_packets: ran.first().map_or(0, |ran| ran.marked_packets),
            less_time: less(|ran| ran.time.0),
            less_overhead: less(|ran| ran.totals.overhead.0),
        }
    }
}

/// How much less, in percent; 0 where there was nothing.
fn less(before: u64, after: u64) -> f64 {
    if before == 0 { 0.0 } else { 100.0 * (before as f64 - after as f64) / before as f64 }
}

impl Percent {
    fn of(mut values: Vec<f64>) -> Percent {
        values.sort_unstable_by(f64::total_cmp);
        match (values.first(), values.last()) {
            (Some(&low), Some(&high)) => Percent { median: values[values.len() / 2], low, high },
            _ => Percent::default(),
        }
    }
}
