//! What of the chip differs between the rows of one lock: its network, or its cores and the policy that places threads on them. A
//! row is compared with the first variant that was asked for, seed by seed.

use crate::asymmetric::{Asymmetric, OnCores};
use crate::network::{Network, NoNetwork, OnNetwork};
use crate::percent::Percent;
use crate::predict::PredictError;
use crate::run::{Ran, RunError};
use baton_chip::Chip;
use serde::Serialize;

/// The chips that each lock runs on.
#[derive(Clone, Debug, PartialEq)]
pub enum Variants {
    /// Networks; none: the chip's own, as it is.
    Networks(Vec<Network>),
    /// Fast and slow cores, under each of their policies.
    Cores(Asymmetric),
}

impl Default for Variants {
    fn default() -> Variants {
        Variants::Networks(Vec::new())
    }
}

impl Variants {
    /// How many chips; at least one.
    pub fn count(&self) -> usize {
        let asked = match self {
            Variants::Networks(networks) => networks.len(),
            Variants::Cores(asymmetric) => asymmetric.policies.len() * asymmetric.ends().len(),
        };
        asked.max(1)
    }

    /// The variant that the one at a place is compared with; none of one that others are compared with.
    pub(crate) fn compared_with(&self, place: usize) -> Option<usize> {
        let first = match self {
            Variants::Networks(_) => 1,
            Variants::Cores(asymmetric) => asymmetric.ends().len(),
        };
        (place >= first).then_some(place % first)
    }

    /// Cores of each chip, where that was asked for.
    pub(crate) fn cores(&self) -> Option<u32> {
        match self {
            Variants::Networks(_) => None,
            Variants::Cores(asymmetric) => Some(asymmetric.cores()),
        }
    }

    /// The chips, in the order asked, and the share of computing on each that waits for memory.
    ///
    /// # Errors
    /// The chip cannot have one of them.
    pub(crate) fn chips(&self, chip: &Chip) -> Result<Vec<(Chip, f64)>, PredictError> {
        match self {
            Variants::Networks(networks) if networks.is_empty() => Ok(vec![(chip.clone(), 0.0)]),
            Variants::Networks(networks) => {
                Ok(networks.iter().map(|each| Ok((each.on(chip)?, 0.0))).collect::<Result<_, NoNetwork>>()?)
            }
            Variants::Cores(asymmetric) => {
                let (chips, ends) = (asymmetric.chips(chip).map_err(Box::new)?, asymmetric.ends());
                Ok(chips.into_iter().flat_map(|chip| ends.iter().map(move |&end| (chip.clone(), end))).collect())
            }
        }
    }

    /// What the variant at a place did to a lock, from its runs and those of the one that it is compared with; none where no variant
    /// was asked for.
    pub(crate) fn on(
        &self,
        place: usize,
        ran: &[Result<Ran, RunError>],
        first: Option<&[Result<Ran, RunError>]>,
    ) -> Option<Variant> {
        match self {
            Variants::Networks(networks) => {
                networks.get(place).map(|network| Variant::Network(OnNetwork::of(network, ran, first)))
            }
            Variants::Cores(cores) => {
                let ends = cores.ends();
                let (policy, end) = (&cores.policies[place / ends.len()], ends[place % ends.len()]);
                Some(Variant::Asymmetric(OnCores::of(policy, end, ran, first)))
            }
        }
    }
}

/// What of the chip was changed for a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Its network.
    Network(OnNetwork),
    /// Its cores.
    Asymmetric(OnCores),
}

impl Variant {
    /// The name that was asked for.
    pub fn name(&self) -> &str {
        match self {
            Variant::Network(network) => &network.name,
            Variant::Asymmetric(cores) => &cores.policy,
        }
    }

    /// Time and competition overhead saved against the first one that was asked for.
    pub fn less(&self) -> [Option<Percent>; 2] {
        match self {
            Variant::Network(on) => [on.less_time, on.less_overhead],
            Variant::Asymmetric(on) => [on.less_time, on.less_overhead],
        }
    }
}
