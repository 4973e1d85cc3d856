//! Arbiters: who wins when several want the same.
//!
//! An arbiter gives each contender a key, and the smallest key wins. That one verb serves every place where a router
//! arbitrates (virtual channels, switch inputs, switch outputs), and the router compares keys as it meets the bids,
//! so that a bid without a rival costs nothing. A new arbiter is a new file and one line in [`ArbiterKind`].

mod age;
mod contract;
mod fixed;
mod matrix;
mod ranked;
mod round_robin;

pub use age::Age;
pub use contract::{Arbiter, Contender};
pub use fixed::Fixed;
pub use matrix::Matrix;
pub use ranked::Ranked;
pub use round_robin::RoundRobin;

use crate::error::{NocError, lookup};
use serde::{Deserialize, Serialize};

/// The registry: every arbiter that a configuration can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArbiterKind {
    /// In turns, from behind the last winner.
    RoundRobin,
    /// The least recently served first.
    Matrix,
    /// The oldest packet first.
    Age,
    /// The lowest requester number first. Can starve.
    Fixed,
    /// Packets with a rank first, by it: [`Ranked`]. Can starve packets without one.
    #[serde(rename = "ocor")]
    Ranked,
}

/// Names of all arbiters, for the command line.
pub const ARBITERS: [(&str, ArbiterKind); 5] = [
    ("round-robin", ArbiterKind::RoundRobin),
    ("matrix", ArbiterKind::Matrix),
    ("age", ArbiterKind::Age),
    ("fixed", ArbiterKind::Fixed),
    ("ocor", ArbiterKind::Ranked),
];

impl std::str::FromStr for ArbiterKind {
    type Err = NocError;

    fn from_str(name: &str) -> Result<ArbiterKind, NocError> {
        lookup("arbiter", name, &ARBITERS)
    }
}

/// Evaluates an expression with the arbiter that a configuration names, so that each is compiled for itself:
/// `with_arbiter!(&config, |arbiter| Network::with_arbiter(&config, arbiter))`.
#[macro_export]
macro_rules! with_arbiter {
    ($config:expr, |$arbiter:ident| $body:expr) => {
        match $config.arbiter {
            $crate::arbiter::ArbiterKind::RoundRobin => {
                let $arbiter = $crate::arbiter::RoundRobin;
                $body
            }
            $crate::arbiter::ArbiterKind::Matrix => {
                let $arbiter = $crate::arbiter::Matrix;
                $body
            }
            $crate::arbiter::ArbiterKind::Age => {
                let $arbiter = $crate::arbiter::Age;
                $body
            }
            $crate::arbiter::ArbiterKind::Fixed => {
                let $arbiter = $crate::arbiter::Fixed;
                $body
            }
            $crate::arbiter::ArbiterKind::Ranked => {
                let $arbiter = $config.ranked;
                $body
            }
        }
    };
}

pub(crate) use with_arbiter;
