//! The variants of the chip for which a lock has rows: other networks, or other policies that place
//! threads on fast and slow cores. Each row is compared with the row of the first variant, seed by
//! seed.

use crate::asymmetric::{Asymmetric, OnCores};
use crate::error::PredictError;
use crate::network::{Network, NoNetwork, OnNetwork};
use crate::percent::Percent;
use crate::ran::{Ran, RunError};
use baton_chip::Chip;
use serde::Serialize;

/// The chips on which each lock is run.
#[derive(Clone, Debug, PartialEq)]
pub enum Variants {
    /// These networks; an empty list stands for the chip's own network.
    Networks(Vec<Network>),
    /// Fast and slow cores, with a chip for each of the policies.
    Cores(Asymmetric),
}

impl Default for Variants {
    fn default() -> Variants {
        Variants::Networks(Vec::new())
    }
}

impl Variants {
    /// Returns the number of chips, which is at least one.
    pub fn count(&self) -> usize {
        let asked = match self {
            Variants::Networks(networks) => networks.len(),
            Variants::Cores(asymmetric) => asymmetric.policies.len() * asymmetric.ends().len(),
        };
        asked.max(1)
    }

    /// Returns the index of the variant with which the variant at `place` is compared; `None` if it
    /// is one with which others are compared.
    pub(crate) fn compared_with(&self, place: usize) -> Option<usize> {
        let first = match self {
            Variants::Networks(_) => 1,
            Variants::Cores(asymmetric) => asymmetric.ends().len(),
        };
        (place >= first).then_some(place % first)
    }

    /// Returns the number of cores of each chip, if fast and slow cores were asked for.
    pub(crate) fn cores(&self) -> Option<u32> {
        match self {
            Variants::Networks(_) => None,
            Variants::Cores(asymmetric) => Some(asymmetric.cores()),
        }
    }

    /// Returns the chips of each variant, in the order asked, each with the share of computing that
    /// waits for memory. The first seed runs on a variant's first chip, and so on in turns.
    ///
    /// # Errors
    /// If the chip cannot have one of the variants.
    pub(crate) fn chips(&self, chip: &Chip, seeds: u32) -> Result<Vec<(Vec<Chip>, f64)>, PredictError> {
        match self {
            Variants::Networks(networks) if networks.is_empty() => Ok(vec![(vec![chip.clone()], 0.0)]),
            Variants::Networks(networks) => {
                Ok(networks.iter().map(|each| Ok((vec![each.on(chip)?], 0.0))).collect::<Result<_, NoNetwork>>()?)
            }
            Variants::Cores(asymmetric) => {
                let (chips, ends) = (asymmetric.chips(chip, seeds).map_err(Box::new)?, asymmetric.ends());
                Ok(chips.into_iter().flat_map(|chips| ends.iter().map(move |&end| (chips.clone(), end))).collect())
            }
        }
    }

    /// Returns the effect of the variant at `place` on a lock, from its runs and from those of the
    /// variant with which it is compared. `None` if no variant was asked for.
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

/// The variant of the chip in a row, and its effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    Network(OnNetwork),
    Asymmetric(OnCores),
}

impl Variant {
    /// Returns the name of the network or policy.
    pub fn name(&self) -> &str {
        match self {
            Variant::Network(network) => &network.name,
            Variant::Asymmetric(cores) => &cores.policy,
        }
    }

    /// Returns the time and the competition overhead saved relative to the first variant.
    pub fn less(&self) -> [Option<Percent>; 2] {
        match self {
            Variant::Network(on) => [on.less_time, on.less_overhead],
            Variant::Asymmetric(on) => [on.less_time, on.less_overhead],
        }
    }
}
