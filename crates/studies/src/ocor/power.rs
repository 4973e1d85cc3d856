//! Which draws can show what the paper claims: those in which some order changes something. An order that costs nothing, wherever
//! requests wait, is the bound (the oracle). Each draw runs under it once; one that changes then runs under further seeds
//! ([`super::oracle`]), which tell whether it was chance.

use super::experiments::{ORACLE, WHERE};
use super::program::Program;
use super::run::Figures;
use super::values::coh;
use crate::Interval;
use crate::kit::Samples;

/// From so much of the overhead on, in percent and either way, an order changes something, if its 95% interval over seeds says so as
/// well: runs of many locks differ by as much by chance. The least reduction that the paper prints is 12.5.
pub(super) const CHANGES: f64 = 10.0;

/// What the oracle does to a draw.
pub(super) struct Power<'a> {
    pub(super) program: &'a Program,
    /// Reductions of its overhead, seed by seed, in percent.
    less: Vec<f64>,
}

impl<'a> Power<'a> {
    /// Of every draw that ran under the oracle.
    pub(super) fn of(samples: &Samples<'a, Program, Figures>) -> Vec<Power<'a>> {
        let mut all: Vec<Power<'a>> = Vec::new();
        for pair in samples.of(WHERE, ORACLE) {
            match all.iter_mut().find(|of| of.program == pair.program) {
                Some(of) => of.less.push(coh(&pair)),
                None => all.push(Power { program: pair.program, less: vec![coh(&pair)] }),
            }
        }
        all
    }

    /// Whether an order changes anything: only such a draw can show what the paper claims.
    pub(super) fn able(&self) -> bool {
        Interval::of(&self.less).is_some_and(|less| less.mean.abs() >= CHANGES && !less.includes_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit;
    use crate::kit::samples::Sample;
    use crate::ocor::results::{Results, View};
    use baton_programs::synthetic::Profile;

    #[test]
    fn a_draw_can_show_it_only_where_the_oracle_changes_more_than_chance_does() {
        let text = include_str!("../../../../profiles/ocor/vips.toml");
        let profile = Profile::from_toml(text, "vips.toml").unwrap();
        let programs = Program::of(&profile);
        let run = |overhead: u64| ((), crate::ocor::figures::tests::figures(1000, overhead, None));
        // Without an order 1,000 cycles of overhead: little changes; much, but by chance; much, always.
        let seeds = [[980, 1010, 1000], [400, 1600, 700], [380, 420, 400]];
        let runs: Vec<[((), Figures); 2]> = seeds.iter().flatten().map(|on| [run(1000), run(*on)]).collect();
        let mut samples = Samples::default();
        for (n, arms) in runs.iter().enumerate() {
            samples.push((WHERE, ORACLE.to_owned()), Sample::of(&programs[n / 3], n as u64 % 3, arms));
            samples.push((kit::experiment::MAIN, String::new()), Sample::of(&programs[n / 3], n as u64 % 3, arms));
        }
        let results = Results::new(samples, &[]);
        assert_eq!(results.power().iter().map(Power::able).collect::<Vec<_>>(), [false, false, true]);
        let able = results.viewed(View { able: true, ..View::PAPER }).main();
        assert!(able.len() == 3 && able.iter().all(|pair| *pair.program == programs[2]));
        let shape = programs[0].shape;
        let shaped = results.viewed(View { shape: Some(shape), ..View::PAPER }).main();
        assert!(!shaped.is_empty() && shaped.iter().all(|pair| pair.program.shape == shape));
    }
}
