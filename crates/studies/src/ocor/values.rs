//! What marks changed in a pair of runs, one function a measure, under either account of critical sections.

use super::program::Program;
use super::run::Figures;
use crate::kit::{self, reduction};

/// A program's two runs in one experiment: without marks, and with them.
pub(super) type Pair<'a> = kit::Pair<'a, Program, Figures>;

/// A measure of a pair.
pub(super) type Value = fn(&Pair<'_>) -> f64;

/// Reduction of competition overhead, in percent.
pub(super) fn coh(pair: &Pair<'_>) -> f64 {
    reduction(pair.off.account.overhead as f64, pair.on.account.overhead as f64)
}

/// Reduction of the region of interest's time, in percent.
pub(super) fn roi(pair: &Pair<'_>) -> f64 {
    reduction(pair.off.cycles as f64, pair.on.cycles as f64)
}

/// The increase of acquisitions while spinning, in percentage points.
pub(super) fn spinning(pair: &Pair<'_>) -> f64 {
    pair.on.entered_spinning() - pair.off.entered_spinning()
}

/// Change of the time in critical sections, in percent.
pub(super) fn sections(pair: &Pair<'_>) -> f64 {
    -reduction(pair.off.account.sections as f64, pair.on.account.sections as f64)
}

/// Reduction of competition overhead by threads' calls ([`super::calls`]), in percent.
fn coh_by_calls(pair: &Pair<'_>) -> f64 {
    reduction(pair.off.calls.overhead as f64, pair.on.calls.overhead as f64)
}

/// Change of the time in critical sections by threads' calls, in percent.
fn sections_by_calls(pair: &Pair<'_>) -> f64 {
    -reduction(pair.off.calls.sections as f64, pair.on.calls.sections as f64)
}

/// The account of critical sections and overhead that a measure is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// By the lock's word: the account of this study.
    Word,
    /// By the threads' calls: the account of `baton sim`.
    Calls,
}

impl By {
    pub(super) fn coh(self) -> Value {
        match self {
            By::Word => coh,
            By::Calls => coh_by_calls,
        }
    }

    pub(super) fn sections(self) -> Value {
        match self {
            By::Word => sections,
            By::Calls => sections_by_calls,
        }
    }

    /// Shares of critical sections and of overhead without marks, in percent.
    pub(super) fn shares(self) -> [Value; 2] {
        match self {
            By::Word => [|pair| pair.off.cs_share(), |pair| pair.off.coh_share()],
            By::Calls => [
                |pair| pair.off.over_thread_time(pair.off.calls.sections),
                |pair| pair.off.over_thread_time(pair.off.calls.overhead),
            ],
        }
    }
}
