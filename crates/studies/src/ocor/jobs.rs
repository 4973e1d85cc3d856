//! What is run: experiments, programs and seeds as jobs, each on the chip of its arm.

use super::experiments::{self, DRAWS, DRAWS_BESIDE, Experiment, QUICK, Who};
use super::program::Program;
use super::run::Run;
use super::{Ocor, WINDOW, joint, real, table};
use crate::{Extent, Study};
use baton_chip::Chip;
use baton_workloads::profile::Draw;
use serde::Serialize;
use std::collections::BTreeMap;

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
    pub(super) fn seconds(&self) -> f64 {
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
pub(super) struct Case {
    pub(super) experiment: usize,
    pub(super) program: usize,
    pub(super) seed: u64,
    pub(super) marked: bool,
}

/// A run of a trial: which program, and its seed.
pub(super) type Tried = (usize, u64);

impl Ocor {
    /// The programs and seeds of a trial: the first draws of the programs of experiments beside the main one.
    pub(super) fn tried(&self, draws: usize) -> Vec<Tried> {
        let Who::First(names) = experiments::extremes().who else { return Vec::new() };
        let all = self.programs.iter().enumerate();
        let wanted = all.filter(|(_, of)| names.contains(&of.name.as_str()) && of.place < draws);
        wanted.map(|(program, of)| (program, of.seed(0))).collect()
    }

    pub(super) fn cases(&self, extent: Extent) -> (Vec<Experiment>, Vec<Case>) {
        let full = extent == Extent::Full;
        let experiments: Vec<Experiment> = experiments::all().into_iter().filter(|e| full || e.quick).collect();
        let mut cases = Vec::new();
        for (experiment, what) in experiments.iter().enumerate() {
            for (program, of) in self.programs.iter().enumerate() {
                let wanted = match what.who {
                    Who::All if full => of.place < DRAWS,
                    Who::All => of.place == 0 && QUICK.contains(&of.name.as_str()),
                    Who::First(names) => {
                        names.contains(&of.name.as_str()) && of.place < if full { what.draws } else { 1 }
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

    pub(super) fn chip(&self, experiment: &Experiment, marked: bool) -> Result<String, String> {
        let mut settings = experiment.both.clone();
        if marked {
            settings.push("ocor.enabled=true".to_owned());
            settings.extend(experiment.marked.iter().cloned());
        } else {
            settings.extend(experiment.other.settings(&experiment.marked));
        }
        self.chip_with(experiment.threads, &settings)
    }

    pub(super) fn chip_with(&self, threads: u32, settings: &[String]) -> Result<String, String> {
        let chip = Chip::from_toml_at(&self.chip_text, &self.chip_file, Some(threads.max(4)), settings);
        Ok(chip.map_err(|error| error.to_string())?.to_toml())
    }

    /// A run of a case on the chip of its arm.
    pub(super) fn stand_in(
        &self,
        experiment: &Experiment,
        case: &Case,
        chip: Result<String, String>,
    ) -> Result<Run, String> {
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
    pub(super) fn window(&self, experiments: &[Experiment]) -> Vec<(String, Result<Job, String>)> {
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

    pub(super) fn real(&self, extent: Extent) -> Vec<(String, Result<Job, String>)> {
        let both = |case: &real::Case| {
            let real::Case { price, what, threads, seed } = *case;
            let of = |marked: bool| {
                let chip = self.chip_with(threads, &price.settings()[usize::from(marked)]);
                let run = chip.map(|chip| Job::Real { real: real::Run { chip, what, threads, seed } });
                let (name, price) = (what.program.info().name, price.name());
                (
                    format!("{name}, {threads} threads, seed {seed}, real program, registers {price}, {}", arm(marked)),
                    run,
                )
            };
            [false, true].map(of)
        };
        real::cases(extent == Extent::Full).iter().flat_map(both).collect()
    }

    /// Cells of the table of locks and networks: those whose draw there is.
    pub(super) fn cells(&self, extent: Extent) -> Vec<(table::Case, &Program)> {
        let program =
            |case: &table::Case| self.programs.iter().find(|of| of.name == table::PROGRAM && of.place == case.draw);
        table::cases(extent == Extent::Full).into_iter().filter_map(|case| Some((case, program(&case)?))).collect()
    }

    pub(super) fn table(&self, extent: Extent) -> Vec<(String, Result<Job, String>)> {
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
        let later = if extent == Extent::Full { joint::most_runs(DRAWS_BESIDE) } else { 0 };
        let seconds: f64 = different.values().map(|job| job.seconds()).sum();
        (different.len() + later, (seconds + SECONDS * 64.0 * 30.0 * later as f64) / 120.0)
    }
}

pub(super) fn arm(marked: bool) -> &'static str {
    if marked { "marked" } else { "original" }
}
