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
//! | [`window`] | what threads do in the first cycles: figure 10 |
//! | [`real`] | real programs on the same chip |
//! | [`table`] | locks by networks, at several numbers of cores |
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
pub mod real;
mod results;
pub mod run;
pub mod table;
pub mod window;

use crate::{Extent, Findings, Frozen, Study, StudyError, hash};
use baton_chip::Chip;
use baton_chip::config::coherent::Topology;
use baton_workloads::profile::Draw;
use baton_workloads::profile::Profile;
use baton_workloads::profile::set::Set;
use experiments::{DRAWS, DRAWS_BESIDE, Experiment, QUICK, Who};
use program::Program;
use real::RealPair;
use results::{Pair, Results};
use run::{Figures, Run};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The study.
pub struct Ocor {
    chip_file: String,
    chip_text: String,
    /// Routers on the longest way of its mesh; of another topology it is not known here.
    routers: Option<u32>,
    profiles: Vec<Profile>,
    programs: Vec<Program>,
    /// Profiles that have no draw yet.
    without: Vec<String>,
    frozen: Frozen,
}

/// The program whose first cycles figure 10 shows.
const WINDOW: &str = "bodytrack";

/// A run of the study. Its serialised form is its address in the cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Job {
    /// A stand-in.
    StandIn(Run),
    /// A stand-in, watched for figure 10.
    Window {
        /// The run.
        window: Run,
    },
    /// A real program.
    Real {
        /// The run.
        real: real::Run,
    },
    /// A cell of the table of locks and networks.
    Table {
        /// The run.
        table: table::Run,
    },
}

/// Seconds of one core for an acquisition of a stand-in on 64 cores: from the quick study, as measured with sections of a
/// few hundred cycles and waits of some thousand.
const SECONDS: f64 = 0.000_5;

impl Job {
    /// About how long it takes on one core. Events of an acquisition grow with the ways on the chip.
    fn seconds(&self) -> f64 {
        let of = |threads: u32, acquisitions: u64| {
            SECONDS * f64::from(threads) * acquisitions as f64 * (f64::from(threads) / 64.0).sqrt()
        };
        match self {
            Job::StandIn(run) | Job::Window { window: run } => of(run.threads, run.acquisitions),
            Job::Table { table: run } => of(run.threads, run.acquisitions),
            // About as a stand-in with the fewest acquisitions.
            Job::Real { real } => of(real.threads, 30),
        }
    }
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
        let Some(coherent) = &checked.coherent else {
            return Err(input(&format!("{chip_file}: key `memory.model` is \"fixed\"; this study needs \"coherent\"")));
        };
        let (width, height) = (coherent.network.width, coherent.network.height);
        let routers = (coherent.network.topology == Topology::Mesh).then_some(width + height - 1);
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
        let profiles = set.profiles;
        Ok(Ocor { chip_file, chip_text, routers, profiles, programs, without, frozen })
    }

    fn cases(&self, extent: Extent) -> (Vec<Experiment>, Vec<Case>) {
        let full = extent == Extent::Full;
        let experiments: Vec<Experiment> = experiments::all().into_iter().filter(|e| full || e.quick).collect();
        let mut cases = Vec::new();
        for (experiment, what) in experiments.iter().enumerate() {
            for (program, of) in self.programs.iter().enumerate() {
                let wanted = match what.who {
                    Who::All if full => of.place < DRAWS,
                    Who::All => of.place == 0 && QUICK.contains(&of.name.as_str()),
                    Who::First(names) => {
                        names.contains(&of.name.as_str()) && of.place < if full { DRAWS_BESIDE } else { 1 }
                    }
                };
                let seeds = if wanted { what.seeds[usize::from(full)] } else { 0 };
                for again in 0..seeds {
                    let seed = of.seed(again);
                    cases.extend([false, true].map(|marked| Case { experiment, program, seed, marked }));
                }
            }
        }
        (experiments, cases)
    }

    fn chip(&self, experiment: &Experiment, marked: bool) -> Result<String, String> {
        let mut settings = experiment.both.clone();
        settings.push(format!("ocor.enabled={}", marked || experiment.against.is_some()));
        match experiment.against {
            _ if marked => settings.extend(experiment.marked.iter().cloned()),
            Some(rule) => settings.push(format!("ocor.rule={rule}")),
            None => {}
        }
        self.chip_with(experiment.threads, &settings)
    }

    fn chip_with(&self, threads: u32, settings: &[String]) -> Result<String, String> {
        let chip = Chip::from_toml_at(&self.chip_text, &self.chip_file, Some(threads.max(4)), settings);
        Ok(chip.map_err(|error| error.to_string())?.to_toml())
    }

    /// A run of a case on the chip of its arm.
    fn stand_in(&self, experiment: &Experiment, case: &Case, chip: Result<String, String>) -> Result<Run, String> {
        let mut program = self.programs[case.program].clone();
        program.draw.section_lines = experiment.lines.unwrap_or(program.draw.section_lines);
        if let Some(crowd) = experiment.crowd {
            let (hot, even, phase, section_lines) = (0.0, 1.0, 0, 0);
            let (locks, section_cycles, think_cycles) = (crowd.locks, crowd.section, crowd.think);
            program.draw =
                Draw { locks, hot, even, section_cycles, section_lines, think_cycles, phase, ..program.draw };
        }
        Ok(Run {
            chip: chip?,
            lock: experiment.lock,
            tries: experiment.tries,
            threads: experiment.threads,
            acquisitions: program.draw.acquisitions,
            program,
            seed: case.seed,
        })
    }

    /// Both arms of figure 10's run: the first draw of its program, if it has one.
    fn window(&self, experiments: &[Experiment]) -> Vec<(String, Result<Job, String>)> {
        let program = self.programs.iter().position(|of| of.name == WINDOW && of.place == 0);
        let Some((program, main)) = program.zip(experiments.first()) else { return Vec::new() };
        let arm = |marked| {
            let seed = self.programs[program].seed(0);
            let case = Case { experiment: 0, program, seed, marked };
            let run = self.stand_in(main, &case, self.chip(main, marked)).map(|window| Job::Window { window });
            (format!("{WINDOW} {}, seed {seed}, figure 10, {}", self.programs[program].number, arm(marked)), run)
        };
        [false, true].map(arm).into()
    }

    fn real(&self, extent: Extent) -> Vec<(String, Result<Job, String>)> {
        let both = |case: &real::Case| {
            let real::Case { what, threads, seed } = *case;
            [false, true].map(|marked| {
                let chip = self.chip_with(threads, &[format!("ocor.enabled={marked}")]);
                let run = chip.map(|chip| Job::Real { real: real::Run { chip, what, threads, seed } });
                let name = what.program.info().name;
                (format!("{name}, {threads} threads, seed {seed}, real program, {}", arm(marked)), run)
            })
        };
        real::cases(extent == Extent::Full).iter().flat_map(both).collect()
    }

    /// Cells of the table of locks and networks: none without its program.
    fn cells(&self, extent: Extent) -> Vec<(table::Case, &Program)> {
        let program = self.programs.iter().find(|of| of.name == table::PROGRAM && of.place == 0);
        let of = |program| table::cases(extent == Extent::Full).into_iter().map(move |case| (case, program));
        program.into_iter().flat_map(of).collect()
    }

    fn table(&self, extent: Extent) -> Vec<(String, Result<Job, String>)> {
        let run = |(case, program): (table::Case, &Program)| {
            let chip = self.chip_with(case.threads(), &case.settings());
            (case.name(), chip.map(|chip| Job::Table { table: case.run(chip, program) }))
        };
        self.cells(extent).into_iter().map(run).collect()
    }

    /// How many different runs it is, and about how long they take on two cores, in minutes.
    pub fn estimate(&self, extent: Extent) -> (usize, f64) {
        let runs = self.runs(extent);
        let jobs = runs.iter().filter_map(|(_, job)| job.as_ref().ok());
        let different: BTreeMap<String, &Job> =
            jobs.map(|job| (serde_json::to_string(job).unwrap_or_default(), job)).collect();
        (different.len(), different.values().map(|job| job.seconds()).sum::<f64>() / 120.0)
    }
}

fn arm(marked: bool) -> &'static str {
    if marked { "marked" } else { "original" }
}

impl Study for Ocor {
    type Run = Result<Job, String>;
    type Figures = Figures;

    fn version(&self) -> &'static str {
        // Raised whenever the simulator or the account gives other figures for the same inputs.
        "ocor 3"
    }

    fn runs(&self, extent: Extent) -> Vec<(String, Self::Run)> {
        let (experiments, cases) = self.cases(extent);
        // Programs and seeds share a chip.
        let chips: Vec<_> = experiments.iter().map(|of| [false, true].map(|marked| self.chip(of, marked))).collect();
        let run = |case: &Case| {
            let (experiment, program) = (&experiments[case.experiment], &self.programs[case.program]);
            let (group, place) = &experiment.id;
            let arm = arm(case.marked);
            let name = format!("{} {}, seed {}, {group} {place}, {arm}", program.name, program.number, case.seed);
            let chip = chips[case.experiment][usize::from(case.marked)].clone();
            (name, self.stand_in(experiment, case, chip).map(Job::StandIn))
        };
        let stand_ins = cases.iter().map(run);
        stand_ins.chain(self.window(&experiments)).chain(self.real(extent)).chain(self.table(extent)).collect()
    }

    fn run(&self, run: &Self::Run) -> Result<Figures, String> {
        match run.as_ref().map_err(Clone::clone)? {
            Job::StandIn(run) => run.figures(),
            Job::Window { window } => window.with_window(),
            Job::Real { real } => real.figures(),
            Job::Table { table } => table.figures(),
        }
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
        let mut results = Results::new(pairs, &self.profiles).with_routers(self.routers);
        let mut rest = &done[cases.len()..];
        if let [(Ok(Job::Window { .. }), off), (Ok(Job::Window { .. }), on), others @ ..] = rest {
            (results, rest) = (results.with_window(off, on), others);
        }
        let real = real::cases(extent == Extent::Full);
        let (real_runs, rest) = rest.split_at(2 * real.len());
        let cells: Vec<figures::Cell<'_>> =
            self.cells(extent).into_iter().zip(rest).map(|((case, _), (_, figures))| (case, figures)).collect();
        let real: Vec<RealPair<'_>> = real
            .into_iter()
            .zip(real_runs.chunks_exact(2))
            .map(|(case, arms)| RealPair { case, off: &arms[0].1, on: &arms[1].1 })
            .collect();
        let full = extent == Extent::Full;
        let mut notes = vec![format!(
            "The programs are synthetic stand-ins, drawn towards what the paper prints of its programs without OCOR. They \
                 are not PARSEC or SPEC. {}",
            figures::shown(&results)
        )];
        let (different, minutes) = self.estimate(extent);
        notes.push(format!(
            "{different} different runs, about {minutes:.0} minutes on two quiet cores, by threads and acquisitions; what is in the \
             cache takes none."
        ));
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
            falsifiers: open::falsifiers(&results).into_iter().chain(figures::starvation(&results)).collect(),
            unspecified: open::unspecified(&results),
            frozen: self.frozen.clone(),
            figures: figures::all(&results, &real, &cells),
            notes,
        }
    }
}
