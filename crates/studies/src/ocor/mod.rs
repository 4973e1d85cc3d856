//! OCOR (Yao and Lu, *Opportunistic Competition Overhead Reduction for Expediting Critical Section in NoC based CMPs*, ISCA
//! 2016): locks that tell how many tries they have left, and a network that serves the last tries first.
//!
//! The programs are stand-ins: profiles drawn to show what the paper prints of its 25 programs without OCOR. Their
//! shares, where the paper prints none, are only bounded; no improvement was used (`docs/workloads.md`).
//!
//! | file | holds |
//! | --- | --- |
//! | [`program`] | a draw of a profile, as something that runs |
//! | [`run`] | one run, and what it shows |
//! | [`account`] | blocked time, critical sections, competition overhead and its causes, to the cycle |
//! | `experiments` | what is run: the pairs, as data |
//! | `results` | what came out, ready to be asked |
//! | `claims` | O1 to O21 with their rules |
//! | `open` | falsifiers, and what the paper leaves open |
//! | `figures` | the paper's figures, redrawn |

pub mod account;
mod claims;
mod experiments;
mod figures;
mod open;
pub mod program;
mod results;
pub mod run;

use crate::{Extent, Findings, Frozen, Study, StudyError, hash};
use baton_chip::Chip;
use baton_workloads::profile::set::Set;
use experiments::{DRAWS, DRAWS_BESIDE, Experiment, QUICK, Who};
use program::Program;
use results::{Pair, Results};
use run::{Figures, Run};
use std::path::Path;

/// Acquisitions a thread: the fixed work.
const ACQUISITIONS: u64 = 30;

/// The study.
pub struct Ocor {
    chip_file: String,
    chip_text: String,
    programs: Vec<Program>,
    /// Profiles that have no draw yet.
    without: Vec<String>,
    frozen: Frozen,
}

/// One run of an experiment.
struct Case {
    experiment: usize,
    program: usize,
    seed: u64,
    marked: bool,
}

impl Ocor {
    /// With the chip at `chip` and the profiles in `profiles`.
    ///
    /// # Errors
    /// With what is wrong with a file: its name, line, key, and what was expected.
    pub fn open(chip: &Path, profiles: &Path) -> Result<Ocor, StudyError> {
        let input = |error: &dyn std::fmt::Display| StudyError::Input(error.to_string());
        let chip_file = chip.display().to_string();
        let chip_text = std::fs::read_to_string(chip).map_err(|error| input(&format!("{chip_file}: {error}")))?;
        let checked = Chip::from_toml(&chip_text, &chip_file).map_err(|error| input(&error))?;
        if checked.coherent.is_none() {
            return Err(input(&format!("{chip_file}: key `memory.model` is \"fixed\"; this study needs \"coherent\"")));
        }
        let set = Set::open(profiles).map_err(|error| input(&error))?;
        let programs: Vec<Program> = set.profiles.iter().flat_map(Program::of).collect();
        if programs.is_empty() {
            let folder = profiles.display();
            return Err(input(&format!("{folder}: no profile has a draw; expected at least one with [[draw]]")));
        }
        let without = set.profiles.iter().filter(|profile| profile.draws.is_empty());
        let without = without.map(|profile| profile.name.clone()).collect();
        let frozen = Frozen {
            chip: hash::of(&chip_text).short(),
            profiles: set.hash,
            rules: hash::of(include_str!("claims.rs"))
                .and(include_str!("experiments.rs"))
                .and(include_str!("open.rs"))
                .short(),
            commit: option_env!("BATON_COMMIT").unwrap_or("").to_owned(),
        };
        Ok(Ocor { chip_file, chip_text, programs, without, frozen })
    }

    fn cases(&self, extent: Extent) -> (Vec<Experiment>, Vec<Case>) {
        let full = extent == Extent::Full;
        let experiments: Vec<Experiment> = experiments::all().into_iter().filter(|e| full || e.quick).collect();
        let mut cases = Vec::new();
        for (experiment, what) in experiments.iter().enumerate() {
            for (program, of) in self.programs.iter().enumerate() {
                let wanted = match what.who {
                    Who::All if full => of.number < DRAWS,
                    Who::All => of.number == 0 && QUICK.contains(&of.name.as_str()),
                    Who::First(names) => {
                        names.contains(&of.name.as_str()) && of.number < if full { DRAWS_BESIDE } else { 1 }
                    }
                };
                let seeds = if wanted { what.seeds[usize::from(full)] } else { 0 };
                for seed in 0..seeds {
                    // A draw is a program of its own; its number is its first seed as well.
                    let seed = 1 + of.number as u64 + 1000 * seed;
                    cases.extend([false, true].map(|marked| Case { experiment, program, seed, marked }));
                }
            }
        }
        (experiments, cases)
    }

    fn chip(&self, experiment: &Experiment, marked: bool) -> Result<String, String> {
        let mut settings = experiment.both.clone();
        settings.push(format!("ocor.enabled={marked}"));
        if marked {
            settings.extend(experiment.marked.iter().cloned());
        }
        let cores = Some(experiment.threads.max(4));
        let chip = Chip::from_toml_at(&self.chip_text, &self.chip_file, cores, &settings);
        Ok(chip.map_err(|error| error.to_string())?.to_toml())
    }
}

impl Study for Ocor {
    type Run = Result<Run, String>;
    type Figures = Figures;

    fn version(&self) -> &'static str {
        // Raised whenever the simulator or the account gives other figures for the same inputs.
        "ocor 2"
    }

    fn runs(&self, extent: Extent) -> Vec<(String, Self::Run)> {
        let (experiments, cases) = self.cases(extent);
        let run = |case: &Case| {
            let (experiment, program) = (&experiments[case.experiment], &self.programs[case.program]);
            let (group, place) = &experiment.id;
            let arm = if case.marked { "marked" } else { "original" };
            let name = format!("{} {}, seed {}, {group} {place}, {arm}", program.name, program.number, case.seed);
            let run = self.chip(experiment, case.marked).map(|chip| Run {
                chip,
                program: program.clone(),
                lock: experiment.lock,
                tries: experiment.tries,
                threads: experiment.threads,
                acquisitions: ACQUISITIONS,
                seed: case.seed,
            });
            (name, run)
        };
        cases.iter().map(run).collect()
    }

    fn run(&self, run: &Self::Run) -> Result<Figures, String> {
        run.as_ref().map_err(Clone::clone)?.figures()
    }

    fn judge(&self, extent: Extent, done: &[(Self::Run, Figures)]) -> Findings {
        let (experiments, cases) = self.cases(extent);
        let mut pairs = Vec::new();
        // The arm without marks comes first.
        for (cases, done) in cases.chunks_exact(2).zip(done.chunks_exact(2)) {
            let id = experiments[cases[0].experiment].id.clone();
            let (program, seed) = (&self.programs[cases[0].program], cases[0].seed);
            pairs.push((id, Pair { program, seed, off: &done[0].1, on: &done[1].1 }));
        }
        let results = Results::new(pairs);
        let full = extent == Extent::Full;
        let mut notes = vec![
            "The programs are synthetic stand-ins: drawn so that they show, without OCOR, what the paper prints of its \
             programs. They are not PARSEC or SPEC."
                .to_owned(),
        ];
        if !full {
            notes.push(format!(
                "A quick study: the first draw of {} programs at full length, three seeds each. Claims over all programs, and all \
                 experiments but the main one and the falsifiers, need the full run.",
                QUICK.len()
            ));
        }
        if !self.without.is_empty() {
            let names = self.without.join(", ");
            notes.push(format!(
                "Not run, as their profiles have no draw (docs/workloads.md says how one is fitted): {names}."
            ));
        }
        Findings {
            study: "ocor",
            full,
            // Means over all programs need all of them.
            claims: claims::all(&results, full && self.without.is_empty()),
            falsifiers: open::falsifiers(&results),
            unspecified: open::unspecified(&results),
            frozen: self.frozen.clone(),
            figures: figures::all(&results),
            notes,
        }
    }
}
