//! One run: applications start together, and start again until the longest has run often enough;
//! its figures say what each application had.

use baton_chip::{Application, Chip, Options, Outcome, Runs, Simulated, Simulation, Spawn, act};
use baton_machine::{Machine, Notice, Wait, units::Cycles};
use baton_programs::phases::{PhaseProgram, Program};
use baton_units::CpuId;
use baton_workloads::{Silent, Workload, xorshift};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;

/// The inputs of a run: everything on which its figures depend, except the code.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The chip, whole: every key and value; the policy is one of them.
    pub(super) chip: String,
    pub(super) parts: Vec<Part>,
    /// CPUs that are on: a program begins on one of them at random.
    pub(super) on: Vec<u32>,
    /// A fast core and a slow one, on which each program's first thread is measured alone.
    pub(super) ends: [u32; 2],
    /// Whether the policy is told how much faster each program is on the fast core.
    pub(super) told: bool,
    pub(super) wait: String,
    /// Whether the thread that runs `main` declares itself the master of its application.
    pub(super) master: bool,
    pub(super) seed: u64,
    /// The case of the run, by which results are found. Runs with equal inputs are done once,
    /// whatever their case.
    #[serde(skip)]
    pub(super) case: Case,
}

/// An application of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Part {
    /// The text of the application's profile.
    pub(super) profile: String,
    pub(super) threads: u32,
    /// The number of sequential parts in a run, if it replaces the profile's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rounds: Option<u64>,
}

/// Identifies a run among the results.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) machine: super::machine::Machine,
    /// The ratio of the clocks, in tenths.
    pub(super) ratio: u64,
    pub(super) mix: &'static str,
    /// The index of the only application that runs, instead of the whole mix.
    pub(super) alone: Option<usize>,
    pub(super) policy: &'static str,
    pub(super) wait: &'static str,
    pub(super) master: bool,
    /// The number of threads of each parallel program, instead of the mix's.
    pub(super) threads: Option<u32>,
    /// The number of sequential parts in a run of each program that has some, instead of its
    /// profile's.
    pub(super) rounds: Option<u64>,
    /// Further keys of the chip with their values, separated by `; `.
    pub(super) key: &'static str,
    pub(super) seed: u64,
}

/// What a run showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The length of the run, in simulated seconds.
    pub seconds: f64,
    /// What each application had, in the order of the mix.
    pub apps: Vec<Had>,
}

/// The figures of one application in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Had {
    /// The geometric mean of its complete runs, in seconds.
    pub time: f64,
    /// The number of complete runs of the application.
    pub runs: u32,
    /// The share of the application's time on CPUs that it spent on fast cores.
    pub fast: f64,
    /// The share of the run in which the application was in the class SP.
    pub sp: f64,
    /// The number of moves of the application's threads from core to core.
    pub migrations: u64,
    /// The number of the application's swaps with other threads.
    pub swaps: u64,
    /// How often the application lost the class SP because its time in the class was over.
    pub demotions: u64,
    /// How much faster the application's first thread alone is on a fast core, in thousandths; 0 if
    /// this was not measured.
    pub speedup: u32,
}

/// The least length of a run, in simulated seconds: in shorter runs no boost of one second comes to
/// its end.
const LONG_ENOUGH: f64 = 30.0;
/// The least number of complete runs of the longest application.
const RUNS: u32 = 3;
/// All threads begin within this many cycles.
const BEGIN: u64 = 2_000_000;
/// The greatest number of threads, over all runs of the applications.
const THREADS: usize = 4096;
/// The number of instructions with which a speed-up is measured.
const MEASURED: u64 = 1_000_000_000;

impl Run {
    pub(super) fn figures(&self) -> Result<Figures, String> {
        let chip = Chip::from_toml(&self.chip, "the study's chip").map_err(|error| error.to_string())?;
        let wait: Wait = self.wait.parse().map_err(|_| format!("`{}` is no wait policy", self.wait))?;
        let read = |part: &Part| {
            let mut program = Program::from_toml(&part.profile, "a profile").map_err(|error| error.to_string())?;
            program.rounds = part.rounds.unwrap_or(program.rounds);
            Ok((Arc::new(program), part.threads))
        };
        let programs = self.parts.iter().map(read).collect::<Result<Vec<_>, String>>()?;
        let hertz = chip.core.clock.0 as f64;
        let paces =
            programs.iter().map(|(program, _)| self.paces(&chip, program)).collect::<Result<Vec<_>, String>>()?;
        let speedup = |[fast, slow]: &[f64; 2]| self.told.then(|| (1000.0 * slow / fast) as u32);
        let speedups: Vec<Option<u32>> = paces.iter().map(speedup).collect();
        let once = |times: u32| self.once(&chip, wait, &programs, &speedups, times);
        // The longest program alone would take long enough with this many runs; beside other
        // programs it takes longer.
        let expected = programs.iter().zip(&paces).map(|((program, threads), [fast, slow])| {
            let parallel = program.parallel * slow / f64::from(*threads);
            program.instructions as f64 * ((1.0 - program.parallel) * fast + parallel) / hertz
        });
        let times = |length: f64| (LONG_ENOUGH / length).ceil().max(f64::from(RUNS)) as u32;
        let runs = times(expected.fold(1e-3, f64::max));
        let mut outcome = once(runs)?;
        let length = outcome.cycles.0 as f64 / hertz;
        if length < LONG_ENOUGH {
            outcome = once(times(length / f64::from(runs) * 0.9))?;
        }
        Ok(figures(&outcome, hertz, &speedups))
    }

    /// The cycles of an instruction of a program's first thread, alone on the fast core and on the
    /// slow one.
    fn paces(&self, chip: &Chip, program: &Program) -> Result<[f64; 2], String> {
        let pace = |core: u32| {
            let options = Options { threads: 1, ..Options::default() };
            let mut simulation = Simulation::new(chip, &options).map_err(|error| error.to_string())?;
            let behaviour = program.alone.clone();
            let spawn = Spawn { cpus: vec![CpuId(core)], ..Spawn::default() };
            let body = move || _ = Simulated::phase(&behaviour, MEASURED);
            simulation.spawn(spawn, body).map_err(|error| error.to_string())?;
            let outcome = simulation.run().map_err(|stuck| stuck.to_string())?;
            Ok::<_, String>(outcome.cycles.0.max(1) as f64 / MEASURED as f64)
        };
        Ok([pace(self.ends[0])?, pace(self.ends[1])?])
    }

    /// Runs all programs together until each has run `times` times.
    fn once(
        &self,
        chip: &Chip,
        wait: Wait,
        programs: &[(Arc<Program>, u32)],
        speedups: &[Option<u32>],
        times: u32,
    ) -> Result<Outcome, String> {
        let options = Options { seed: self.seed, threads: THREADS, ..Options::default() };
        let mut simulation = Simulation::new(chip, &options).map_err(|error| error.to_string())?;
        // Mixes draw independently, also those with as many applications.
        let names = programs.iter().flat_map(|(program, _)| program.name.bytes());
        let mixed = names.fold(self.seed, |all, byte| (all ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut state = mixed | 1;
        let mut first = self.on.clone();
        let wrong = Rc::new(RefCell::new(None));
        for (at, (program, threads)) in programs.iter().enumerate() {
            // Each program begins on a CPU of its own, drawn at random, and may then go anywhere.
            let begin = first.swap_remove((xorshift(&mut state) >> 33) as usize % first.len());
            let seed = xorshift(&mut state);
            let threads = NonZeroU32::new(*threads).ok_or("a program without threads")?;
            let played = PhaseProgram::of(program.clone(), "central", threads, seed).ok_or("no such barrier")?;
            let spawn = Spawn { speedup: speedups[at], ..Spawn::default() };
            let main = Spawn { cpus: vec![CpuId(begin)], after: Cycles(seed % BEGIN), ..spawn.clone() };
            let application =
                Application { name: program.name.clone(), runs: Runs::Together(times), start: Cycles(0), main };
            let body = member(played, wait, self.master, spawn, seed, wrong.clone());
            simulation.application(application, body).map_err(|error| error.to_string())?;
        }
        let outcome = simulation.run().map_err(|stuck| stuck.to_string())?;
        match wrong.take() {
            Some(wrong) => Err(wrong),
            None => Ok(outcome),
        }
    }
}

/// What an application's first thread does in each of its runs.
fn member(
    played: PhaseProgram,
    wait: Wait,
    master: bool,
    spawn: Spawn,
    seed: u64,
    wrong: Rc<RefCell<Option<String>>>,
) -> impl Fn() {
    let state = Cell::new(seed | 1);
    move || {
        let mut draw = state.get();
        if let Some(me) = act::this() {
            // An empty list of CPUs stands for all, so the call never fails.
            let _ = act::set_affinity(me, &[], &[]);
        }
        if master {
            Simulated::notify(Notice::Master);
        }
        let team = match act::outside(|| played.team::<Simulated, _>(wait, Silent)) {
            Ok(team) => team,
            Err(refused) => {
                wrong.borrow_mut().get_or_insert(format!("{refused:?}"));
                return;
            }
        };
        let mut bodies = team.bodies.into_iter();
        let Some(first) = bodies.next() else { return };
        let others: Vec<_> = bodies
            .map(|body| act::spawn(Spawn { after: Cycles(xorshift(&mut draw) % BEGIN), ..spawn.clone() }, body))
            .collect();
        state.set(draw);
        first();
        others.into_iter().for_each(act::join);
        if let Err(error) = act::outside(team.verify) {
            let _ = wrong.borrow_mut().get_or_insert(error);
        }
    }
}

fn figures(outcome: &Outcome, hertz: f64, speedups: &[Option<u32>]) -> Figures {
    let all = outcome.cycles.0.max(1) as f64;
    let had = |(app, speedup): (&baton_chip::AppFigures, &Option<u32>)| {
        let logs: f64 = app.runs.iter().map(|run| (run.0 as f64 / hertz).ln()).sum();
        let amp = app.amp.unwrap_or_default();
        Had {
            time: (logs / app.runs.len().max(1) as f64).exp(),
            runs: app.runs.len() as u32,
            fast: amp.fast as f64 / (amp.fast + amp.slow).max(1) as f64,
            sp: amp.sp as f64 / all,
            migrations: amp.migrations,
            swaps: amp.swaps,
            demotions: amp.demotions,
            speedup: speedup.unwrap_or(0),
        }
    };
    // The first application is that of the simulation itself; it has no threads in this study.
    let apps = outcome.apps.iter().filter(|app| app.counts.exits > 0 || !app.runs.is_empty());
    Figures { seconds: all / hertz, apps: apps.zip(speedups).map(had).collect() }
}
