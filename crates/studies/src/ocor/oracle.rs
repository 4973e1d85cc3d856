//! Further runs under the oracle, of the draws that changed under it: they tell whether that was chance.

use super::experiments::{self, ORACLE, WHERE};
use super::jobs::{ARMS, Job, Runs, stand_in};
use super::power::CHANGES;
use super::program::Program;
use super::run::Figures;
use super::study::Ocor;
use super::values::{Pair, coh};
use crate::kit::{Draw as _, Samples};

/// Further seeds of a draw that changes under the oracle.
const MORE_SEEDS: u64 = 2;
/// It changes if its overhead does by half of what counts: a single run may fall short by chance.
const LEAST: f64 = CHANGES / 2.0;

/// A draw and its runs under one more seed, without an order and under the oracle.
pub(super) struct Again<'a> {
    pub(super) program: &'a Program,
    /// The seed is the draw's own of this number.
    pub(super) again: u64,
    pub(super) runs: Runs,
}

impl Ocor {
    /// The runs that tell whether what the oracle changed was chance.
    pub(super) fn oracle_again<'a>(&self, samples: &Samples<'a, Program, Figures>) -> Vec<Again<'a>> {
        let all = experiments::all();
        let Some(oracle) = all.iter().find(|of| (of.id.0, of.id.1.as_str()) == (WHERE, ORACLE)) else {
            return Vec::new();
        };
        let chips = self.chips(&oracle.setting);
        let changes = |pair: &Pair<'_>| coh(pair).abs() >= LEAST;
        let changed = samples.of(WHERE, ORACLE).into_iter().filter(|pair| pair.again == 0 && changes(pair));
        let each = |pair: Pair<'a>| {
            let chips = &chips;
            (1..=MORE_SEEDS).map(move |again| {
                let seed = pair.program.seed(again);
                let run = |(arm, chip): (&str, &Result<String, String>)| {
                    let run =
                        chip.clone().map(|chip| Job::StandIn(stand_in(&oracle.setting, pair.program, seed, chip)));
                    (format!("{}, seed {seed}, {WHERE} {ORACLE}, {arm}", pair.program.label()), run)
                };
                Again { program: pair.program, again, runs: ARMS.into_iter().zip(chips).map(run).collect() }
            })
        };
        changed.flat_map(each).collect()
    }
}
