//! Networks to replay on: the chip's own, with other arbiters in its routers, or with a mechanism's marks and arbiters.
//! What a network does to a lock is compared with the first one that was asked for, seed by seed.

use crate::percent::{Percent, less_overhead, less_than};
use crate::run::{Ran, RunError};
use baton_chip::config::coherent::Contention;
use baton_chip::config::mechanism;
use baton_chip::{Chip, ChipError};
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

/// The networks without a mechanism, by their arbiter.
const ARBITERS: [Network; 4] = [
    Network {
        name: "round-robin",
        what: "routers serve in turns; no packet is marked",
        settings: &["network.arbiter=round-robin"],
    },
    Network {
        name: "age",
        what: "the oldest packet goes first; no packet is marked",
        settings: &["network.arbiter=age"],
    },
    Network {
        name: "matrix",
        what: "the least recently served goes first; no packet is marked",
        settings: &["network.arbiter=matrix"],
    },
    Network {
        name: "fixed",
        what: "the lowest port goes first, and can starve others; no packet is marked",
        settings: &["network.arbiter=fixed"],
    },
];

/// Every network: routers that serve in turns, the mechanisms of a chip ([`mechanism`]), and the other arbiters.
pub fn all() -> Vec<Network> {
    let of_mechanism = |v: &mechanism::Variant| Network { name: v.name, what: v.what, settings: v.settings };
    let mut all = ARBITERS.to_vec();
    all.splice(1..1, mechanism::variants().map(of_mechanism));
    all
}

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
        all().into_iter().find(|network| network.name == name)
    }

    /// It marks the requests of locks that give hints.
    pub fn marks(&self) -> bool {
        self.settings.iter().any(|setting| setting.ends_with(".enabled=true"))
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
        // Mechanisms that the network does not name are off.
        let named = |switch: &str| self.settings.iter().any(|setting| setting.starts_with(switch));
        let off = mechanism::SWITCHES.iter().filter(|switch| !named(switch)).map(|switch| format!("{switch}=false"));
        let settings: Vec<String> = off.chain(self.settings.iter().map(|&setting| setting.to_owned())).collect();
        Ok(Chip::from_toml_with(&chip.to_toml(), &chip.name, &settings)?)
    }
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
    /// The same of competition overhead; `None` also where that one has less than a thousandth of its time.
    pub less_overhead: Option<Percent>,
}

impl OnNetwork {
    /// Of a lock's runs, seed by seed, and those on the first network.
    pub(crate) fn of(
        network: &Network,
        ran: &[Result<Ran, RunError>],
        first: Option<&[Result<Ran, RunError>]>,
    ) -> OnNetwork {
        OnNetwork {
            name: network.name.to_owned(),
            marks: network.marks(),
            marked_packets: ran.iter().flatten().next().map_or(0, |ran| ran.marked_packets),
            less_time: less_than(ran, first, |ran| ran.time.0),
            less_overhead: less_overhead(ran, first),
        }
    }
}
