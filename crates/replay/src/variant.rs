//! The variants of the chip between the rows of one lock: its network, or its cores and the policy
//! that places threads on them. Each row is compared with the first variant, seed by seed.

use crate::asymmetric::{Asymmetric, OnCores};
use crate::error::PredictError;
use crate::network::{Network, NoNetwork, OnNetwork};
use crate::percent::Percent;
use crate::ran::{Ran, RunError};
use baton_chip::Chip;
use serde::Serialize;

/// The chips on which each lock runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Variants {
    /// Networks; an empty list stands for the chip's own network.
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
    /// The number of chips; at least one.
    pub fn count(&self) -> usize {
        let asked = match self {
            Variants::Networks(networks) => networks.len(),
            Variants::Cores(asymmetric) => asymmetric.policies.len() * asymmetric.ends().len(),
        };
        asked.max(1)
    }

    /// The index of the variant with which the one at `place` is compared; `None` if others are
    /// compared with it.
    pub(crate) fn compared_with(&self, place: usize) -> Option<usize> {
        let first = match self {
            Variants::Networks(_) => 1,
            Variants::Cores(asymmetric) => asymmetric.ends().len(),
        };
        (place >= first).then_some(place % first)
    }

    /// The number of cores of each chip, if cores were asked for.
    pub(crate) fn cores(&self) -> Option<u32> {
        match self {
            Variants::Networks(_) => None,
            Variants::Cores(asymmetric) => Some(asymmetric.cores()),
        }
    }

    /// The chips, in the order asked, each with the share of computing that waits for memory.
    ///
    /// # Errors
    /// If the chip cannot have one of the variants.
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

    /// The effect of the variant at `place` on a lock, from its runs and from those of the variant
    /// that it is compared with. `None` if no variant was asked for.
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

/// The variant of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    Network(OnNetwork),
    Asymmetric(OnCores),
}

impl Variant {
    /// The name of the variant.
    pub fn name(&self) -> &str {
        match self {
            Variant::Network(network) => &network.name,
            Variant::Asymmetric(cores) => &cores.policy,
        }
    }

    /// Time and competition overhead saved relative to the first variant.
    pub fn less(&self) -> [Option<Percent>; 2] {
        match self {
            Variant::Network(on) => [on.less_time, on.less_overhead],
            Variant::Asymmetric(on) => [on.less_time, on.less_overhead],
        }
    }
}
