//! What is run: experiments, programs and seeds as jobs, each on the chip of its arm.

use super::experiments::{self, HOME, Setting};
use super::program::{Program, Shape};
use super::refit::Refit;
use super::run::Run;
use super::study::{Ocor, WINDOW};
use super::{joint, map, real, table};
use crate::kit::{Draw as _, On, Plan};
use crate::{Extent, Study};
use baton_programs::synthetic::Draw;
use serde::Serialize;
use std::collections::BTreeMap;

/// A run of the study. Its serialised form is its address in the cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Job {
    /// A stand-in for one of the paper's programs.
    StandIn(Run),
    /// A stand-in's draw, fitted once more.
    Refit { refit: Refit },
    /// A stand-in whose threads are watched for figure 10.
    Window { window: Run },
    /// A real program.
    Real { real: real::Run },
    /// A run for a cell of the table of locks and networks.
    Table { table: table::Run },
}

/// Runs to be made, each with its name for people; `Err` says why the chip of the run is not
/// possible.
pub(super) type Runs = Vec<(String, Result<Job, String>)>;

/// The seconds that one core of the host takes to simulate an acquisition of a stand-in on 64
/// cores, measured in the quick study with sections of a few hundred cycles and waits of some
/// thousand.
const SECONDS: f64 = 0.000_5;

impl Job {
    /// Estimates the seconds that the run takes on one core of the host. An acquisition has more
    /// events on a larger chip, where messages travel further.
    pub(super) fn seconds(&self) -> f64 {
        let of = |threads: u32, acquisitions: u64| {
            SECONDS * f64::from(threads) * acquisitions as f64 * (f64::from(threads) / 64.0).sqrt()
        };
        match self {
            Job::StandIn(run) | Job::Window { window: run } => of(run.threads, run.acquisitions),
            // Most fits end after a few runs of the draw, here taken as three.
            Job::Refit { refit } => 3.0 * of(refit.run.threads, refit.run.acquisitions),
            Job::Table { table: run } => of(run.threads, run.acquisitions),
            // A run costs about as much as that of a stand-in with 30 acquisitions a thread.
            Job::Real { real } => of(real.threads, 30),
        }
    }
}

/// The arms: without marks, and with them.
pub(super) const ARMS: [&str; 2] = ["original", "marked"];

impl Ocor {
    /// Experiments on stand-ins.
    pub(super) fn plan(&self, extent: Extent) -> Plan<'_, Setting, Program> {
        Plan::new(experiments::all(), &self.programs, &ARMS, extent)
    }

    /// Experiments on crowds with meetings.
    pub(super) fn crowd(&self, extent: Extent) -> Plan<'_, Setting, Program> {
        Plan::new(experiments::crowd(), &self.programs, &ARMS, extent)
    }

    /// The programs of a trial, with their first `draws` draws: the programs of the experiments
    /// beside the main one, and crowds of one program, in which an order can change something.
    pub(super) fn tried(&self, draws: usize) -> Vec<&Program> {
        let On::These(names) = experiments::extremes().on else { return Vec::new() };
        let (crowd, shape) = joint::CROWD;
        let wanted = |of: &&Program| names.contains(&of.name.as_str()) || (of.name == crowd && of.shape == shape);
        self.programs.iter().filter(|of| wanted(of) && of.place < draws).collect()
    }

    /// The chips of both arms.
    pub(super) fn chips(&self, setting: &Setting) -> [Result<String, String>; 2] {
        let marked = [vec!["ocor.enabled=true".to_owned()], setting.marked.clone()].concat();
        [setting.other.settings(&setting.marked), marked]
            .map(|own| self.chip_with(setting.threads, &[setting.both.clone(), own].concat()))
    }

    pub(super) fn chip_with(&self, threads: u32, settings: &[String]) -> Result<String, String> {
        self.chip.with(Some(threads.max(4)), settings)
    }

    /// The runs of a plan.
    pub(super) fn stand_ins(&self, plan: &Plan<'_, Setting, Program>) -> Runs {
        // A chip depends on the experiment and the arm, so that all programs and seeds share it.
        let chips: Vec<_> = plan.experiments.iter().map(|of| self.chips(&of.setting)).collect();
        plan.runs(|case, experiment, program| {
            let chip = chips[case.experiment][case.arm].clone();
            Ok(Job::StandIn(stand_in(&experiment.setting, program, program.seed(case.again), chip?)))
        })
    }

    /// The three arms of figure 10, the last with the order at the home, on the first draw of the
    /// figure's program; none if the program has no draw.
    pub(super) fn window(&self) -> Runs {
        let Some(program) = self.programs.iter().find(|of| of.name == WINDOW && of.place == 0) else {
            return Vec::new();
        };
        let (main, seed) = (Setting::default(), program.seed(0));
        let [off, on] = self.chips(&main);
        let [_, home] = self.chips(&Setting { marked: experiments::heeded(HOME), ..Setting::default() });
        let arm = |(arm, chip): (&str, Result<String, String>)| {
            let run = chip.map(|chip| Job::Window { window: stand_in(&main, program, seed, chip) });
            (format!("{}, seed {seed}, figure 10, {arm}", program.label()), run)
        };
        [(ARMS[0], off), (ARMS[1], on), ("marked, order at the home", home)].into_iter().map(arm).collect()
    }

    pub(super) fn real(&self, extent: Extent) -> Runs {
        let both = |case: &real::Case| {
            let real::Case { arms, what, threads, seed } = *case;
            let of = move |((arm, settings), lock): ((&str, Vec<String>), real::Lock)| {
                let chip = self.chip_with(threads, &settings);
                let run = chip.map(|chip| Job::Real { real: real::Run { chip, what, lock, threads, seed } });
                let (name, arms) = (what.program.info().name, arms.name());
                (format!("{name}, {threads} threads, seed {seed}, real program, {arms}, {arm}"), run)
            };
            ARMS.into_iter().zip(arms.settings()).zip(arms.locks()).map(of)
        };
        real::cases(extent == Extent::Full).iter().flat_map(both).collect()
    }

    /// The cells of the table of locks and networks for which the program has a draw, each with the
    /// draw.
    pub(super) fn cells(&self, extent: Extent) -> Vec<(table::Case, &Program)> {
        let program =
            |case: &table::Case| self.programs.iter().find(|of| of.name == table::PROGRAM && of.place == case.draw);
        table::cases(extent == Extent::Full).into_iter().filter_map(|case| Some((case, program(&case)?))).collect()
    }

    pub(super) fn table(&self, extent: Extent) -> Runs {
        let run = |(case, program): (table::Case, &Program)| {
            let chip = self.chip_with(case.threads(), &case.settings());
            (case.name(), chip.map(|chip| Job::Table { table: case.run(chip, program) }))
        };
        self.cells(extent).into_iter().map(run).collect()
    }

    /// The runs of the designers' map.
    pub(super) fn map(&self, extent: Extent) -> Runs {
        let run = |case: map::Case| {
            let chip = self.chip_with(case.threads(), &case.settings());
            (case.name(), chip.map(|chip| Job::Table { table: case.run(chip) }))
        };
        map::cases(extent == Extent::Full).into_iter().map(run).collect()
    }

    /// The number of different runs in a study, those of its later rounds estimated, and about how
    /// many minutes they take on two cores of the host.
    pub fn estimate(&self, extent: Extent) -> (usize, f64) {
        let runs = self.runs(extent);
        let jobs = runs.iter().filter_map(|(_, job)| job.as_ref().ok());
        let different: BTreeMap<String, &Job> =
            jobs.map(|job| (serde_json::to_string(job).unwrap_or_default(), job)).collect();
        // A draw that changes under the oracle is run again in both arms under two more seeds; all
        // crowds with meetings are taken to change.
        let crowds = self.programs.iter().filter(|of| of.shape == Shape::Crowd).count();
        let later = if extent == Extent::Full { joint::about_runs() + 4 * crowds } else { 0 };
        let seconds: f64 = different.values().map(|job| job.seconds()).sum();
        (different.len() + later, (seconds + SECONDS * 64.0 * 30.0 * later as f64) / 120.0)
    }
}

/// The run of a stand-in on `chip`: its draw, with the parameters that the experiment replaces.
pub(super) fn stand_in(setting: &Setting, program: &Program, seed: u64, chip: String) -> Run {
    let mut program = program.clone();
    program.draw.section_lines = setting.lines.unwrap_or(program.draw.section_lines);
    if let Some(crowd) = setting.crowd {
        let (hot, even, phase, section_lines) = (0.0, 1.0, u32::from(crowd.meets), crowd.lines);
        let (locks, section_cycles, think_cycles) = (crowd.locks, crowd.section, crowd.think);
        program.draw = Draw { locks, hot, even, section_cycles, section_lines, think_cycles, phase, ..program.draw };
    }
    let Setting { lock, tries, threads, .. } = *setting;
    Run { chip, lock, tries, threads, acquisitions: program.draw.acquisitions, program, seed }
}
