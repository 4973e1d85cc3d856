//! What came out, ready to be asked: samples without and with marks, what marks changed, and what else claims ask.

use super::program::Program;
use super::run::Figures;
use super::window::Window;
use crate::kit::{self, Samples, reduction};
use baton_workloads::profile::Profile;
use std::ops::Deref;

/// A program's two runs in one experiment: without marks, and with them.
pub(super) type Pair<'a> = kit::Pair<'a, Program, Figures>;

/// Something of a pair.
pub(super) type Value = fn(&Pair<'_>) -> f64;

/// Reduction of competition overhead, in percent.
pub(super) fn coh(pair: &Pair<'_>) -> f64 {
    reduction(pair.off.account.overhead as f64, pair.on.account.overhead as f64)
}

/// Reduction of the region of interest's time, in percent.
pub(super) fn roi(pair: &Pair<'_>) -> f64 {
    reduction(pair.off.cycles as f64, pair.on.cycles as f64)
}

/// More acquisitions while spinning, in points.
pub(super) fn spinning(pair: &Pair<'_>) -> f64 {
    pair.on.entered_spinning() - pair.off.entered_spinning()
}

/// Change of the time in critical sections, in percent.
pub(super) fn sections(pair: &Pair<'_>) -> f64 {
    -reduction(pair.off.account.sections as f64, pair.on.account.sections as f64)
}

/// All samples of stand-ins, and what is known beside them.
pub(super) struct Results<'a> {
    pub(super) samples: Samples<'a, Program, Figures>,
    profiles: &'a [Profile],
    /// What the first threads of figure 10's program did over time, without marks and with them.
    pub(super) window: Option<(&'a Window, &'a Window)>,
    /// Routers on the longest way through the network.
    pub(super) routers: Option<u32>,
}

impl<'a> Deref for Results<'a> {
    type Target = Samples<'a, Program, Figures>;
    fn deref(&self) -> &Self::Target {
        &self.samples
    }
}

impl<'a> Results<'a> {
    pub(super) fn new(samples: Samples<'a, Program, Figures>, profiles: &'a [Profile]) -> Results<'a> {
        Results { samples, profiles, window: None, routers: None }
    }

    /// The profile of a program that ran.
    pub(super) fn profile(&self, name: &str) -> &'a Profile {
        let found = self.profiles.iter().find(|profile| profile.name == name);
        found.unwrap_or_else(|| unreachable!("`{name}` ran, so it has a profile"))
    }
}
