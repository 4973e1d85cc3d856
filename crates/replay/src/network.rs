//! Networks to replay on: the chip's own, the same with other arbiters in its routers, or with a
//! mechanism that marks packets and lets routers choose by the marks. The effect of each network is
//! stated relative to the first one, seed by seed.

use crate::percent::{Percent, less_overhead, less_than};
use crate::ran::{Ran, RunError};
use baton_chip::config::coherent::Contention;
use baton_chip::config::mechanism;
use baton_chip::{Chip, ChipError};
use serde::Serialize;
use thiserror::Error;

/// A network with a name, given by the changes that it makes to the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The name on the command line.
    pub name: &'static str,
    /// One line of text that says what the network does.
    pub what: &'static str,
    settings: &'static [&'static str],
}

/// The networks that change the routers' arbiter only.
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

/// Returns all networks: round-robin routers first, then the mechanisms of a chip ([`mechanism`]),
/// then the other arbiters.
pub fn all() -> Vec<Network> {
    let of_mechanism = |v: &mechanism::Variant| Network { name: v.name, what: v.what, settings: v.settings };
    let mut all = ARBITERS.to_vec();
    all.splice(1..1, mechanism::variants().map(of_mechanism));
    all
}

/// Why a chip cannot have one of the networks.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NoNetwork {
    /// The chip has no network to change.
    #[error("chip `{0}` has fixed latencies (memory.model = \"fixed\") and no network whose routers could arbitrate")]
    Fixed(String),
    /// Packets never meet on the chip's network, so arbiters make no difference.
    #[error("chip `{0}` has network.contention = \"none\": packets never meet, so that no arbiter decides anything")]
    Free(String),
    /// The network's settings do not fit the chip.
    #[error(transparent)]
    Chip(#[from] ChipError),
}

impl Network {
    /// Finds a network by its name on the command line.
    pub fn named(name: &str) -> Option<Network> {
        all().into_iter().find(|network| network.name == name)
    }

    /// Whether the network marks requests for locks that give hints.
    pub fn marks(&self) -> bool {
        self.settings.iter().any(|setting| setting.ends_with(".enabled=true"))
    }

    /// Returns the chip with this network.
    ///
    /// # Errors
    /// If the chip has no network that arbitrates, or the network's settings do not fit the chip.
    pub fn on(&self, chip: &Chip) -> Result<Chip, NoNetwork> {
        let Some(coherent) = &chip.coherent else { return Err(NoNetwork::Fixed(chip.name.clone())) };
        if coherent.network.contention == Contention::None {
            return Err(NoNetwork::Free(chip.name.clone()));
        }
        // Switches off the mechanisms that the network's settings do not name.
        let named = |switch: &str| self.settings.iter().any(|setting| setting.starts_with(switch));
        let off = mechanism::SWITCHES.iter().filter(|switch| !named(switch)).map(|switch| format!("{switch}=false"));
        let settings: Vec<String> = off.chain(self.settings.iter().map(|&setting| setting.to_owned())).collect();
        Ok(Chip::from_toml_with(&chip.to_toml(), &chip.name, &settings)?)
    }
}

/// The effect of a network on a lock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnNetwork {
    pub name: String,
    /// Whether the network marks packets, see [`Network::marks`].
    #[serde(skip)]
    pub marks: bool,
    /// Marked packets with the first seed whose run did not fail; 0 if the lock gives no
    /// hints, or the network marks no packets.
    pub marked_packets: u64,
    /// Time saved relative to the first network with the same lock and seed, in percent of that
    /// network's time; `None` for the first network.
    pub less_time: Option<Percent>,
    /// Competition overhead saved relative to the first network, in percent; `None` for the first
    /// network, and if its overhead with some seed is less than a thousandth of its time.
    pub less_overhead: Option<Percent>,
}

impl OnNetwork {
    /// Compares a lock's runs on a network with its runs on the first network, seed by seed.
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
