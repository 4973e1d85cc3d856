//! One run: its inputs, and its figures.

use baton_chip::energy::{Account, Component};
use baton_chip::{Chip, Instructions, Options, Simulated};
use baton_machine::units::Cycles;
use baton_machine::{Counted, Machine, Wait};
use baton_omp::waits::{Waits, Why};
use baton_omp::{Crew as Workers, Runtime, Settings};
use baton_sync::lock::{RawLock, known::Known, one_spinner_paper::OneSpinnerPaper};
use baton_workloads::barrier::Meeting;
use baton_workloads::lock::{Contended, Contention};
use baton_workloads::work::mix;
use baton_workloads::{Charge, Knobs, Silent, Team, Workload, epcc};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::kit::simulate::{Crew, Ended, on_cores};

/// The inputs of a run: everything on which its figures depend, except the code.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The chip, whole: every key and value.
    pub(super) chip: String,
    pub(super) case: Case,
    /// The instructions and accesses that a region of tasks is charged; `None` for loads without
    /// the OpenMP runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) charge: Option<Charged>,
}

/// A number of counted instructions, and the number of accesses among them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Charged {
    instructions: f64,
    accesses: u64,
}

impl Load {
    /// What the load is charged for the OpenMP runtime.
    pub(super) fn charge(self) -> Option<Charged> {
        let Counted { instructions, accesses } = epcc::COUNTED_TASKS;
        let tasks = matches!(self, Load::Tasks { .. } | Load::UnequalTasks { .. });
        tasks.then_some(Charged { instructions, accesses: accesses.into() })
    }
}

/// Identifies a run among the results.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Case {
    pub(super) load: Load,
    /// The number of threads, which run on the first cores.
    pub(super) cores: u32,
    pub(super) arm: Arm,
    /// The name of the change in `jobs.rs`; empty for no change.
    pub(super) change: &'static str,
    /// The number of tries of waiters that try before they sleep.
    pub(super) spin: u32,
    /// By how much the usual number of iterations is multiplied.
    pub(super) times: u64,
    pub(super) seed: u64,
}

/// What the threads do. Work is in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) enum Load {
    /// Figure 1: equal work inside and outside of a critical section.
    Sections { work: u64 },
    /// Figure 2: LOCK/UNLOCK of syncbench, with `delay` cycles of work under the lock.
    Lock { delay: u64 },
    /// Figures 3 and 4: PARALLEL TASK of taskbench, with tasks of `work` cycles.
    Tasks { work: u64 },
    /// Like [`Load::Tasks`], with tasks of unequal length, from half of `work` to one and a half
    /// times `work`, by [`unequal`].
    UnequalTasks { work: u64 },
    /// Figures 5 and 6: each thread works and then waits at a barrier.
    Barriers { work: u64 },
}

/// The lock or barrier under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Arm {
    /// A mutex whose waiters sleep at once.
    Pthread,
    /// libgomp's mutex, whose waiters read and then sleep; for barriers, libgomp's barrier.
    Original,
    /// The mutex of OCOR's paper, whose waiters try at each turn and then sleep. It stood for
    /// libgomp's mutex in earlier versions of this study.
    SpinPark,
    /// A ticket lock that spins.
    Ticket,
    /// MCS with MWAIT.
    Mcs,
    /// 1spinner with MWAIT; for barriers, two levels with MWAIT if threads are on several nodes,
    /// else the original barrier.
    New,
    /// 1spinner with MWAIT as the paper's algorithm 2 prints it, in 4 bytes.
    Printed,
    /// MCS that polls.
    McsPolls,
    /// Like [`Arm::New`], with waiters that poll.
    NewPolls,
    /// The original barrier with MWAIT.
    OriginalMwait,
}

/// The number of cores of a NUMA node.
pub(super) const NODE: u32 = 8;
const MWAIT: Wait = Wait::Mwait(1);

impl Arm {
    pub(super) fn name(self) -> &'static str {
        match self {
            Arm::Pthread => "pthread mutex",
            Arm::Original => "original",
            Arm::SpinPark => "mutex that tries at each turn",
            Arm::Ticket => "ticket spinlock",
            Arm::Mcs => "MCS/MWAIT",
            Arm::New => "1spinner",
            Arm::Printed => "1spinner as printed",
            Arm::McsPolls => "MCS that polls",
            Arm::NewPolls => "1spinner that polls",
            Arm::OriginalMwait => "original with MWAIT",
        }
    }

    /// The arm's name for barriers.
    pub(super) fn barrier_name(self) -> &'static str {
        match self {
            Arm::New => "two-level, MWAIT",
            Arm::NewPolls => "two-level that polls",
            other => other.name(),
        }
    }

    /// The lock, and the wait policy.
    fn lock(self, spin: u32) -> (&'static str, Wait) {
        match self {
            Arm::Pthread => ("futex", Wait::Futex),
            Arm::Original | Arm::OriginalMwait => ("gomp-mutex", Wait::SpinPark(spin)),
            Arm::SpinPark => ("spin-park", Wait::SpinPark(spin)),
            Arm::Ticket => ("ticket", Wait::Pause),
            Arm::Mcs => ("mcs", MWAIT),
            Arm::McsPolls => ("mcs", Wait::Pause),
            Arm::New => ("1spinner", MWAIT),
            Arm::Printed => ("1spinner-paper", MWAIT),
            Arm::NewPolls => ("1spinner", Wait::Pause),
        }
    }

    /// The barrier, and the wait policy.
    fn barrier(self, cores: u32, spin: u32) -> (&'static str, Wait) {
        match self {
            Arm::New if cores > NODE => ("two-level", MWAIT),
            Arm::NewPolls if cores > NODE => ("two-level", Wait::Pause),
            Arm::OriginalMwait => ("gomp", MWAIT),
            _ => ("gomp", Wait::SpinPark(spin)),
        }
    }
}

/// The cost of an iteration: the difference between a run with twice the iterations and one with
/// the usual number, divided by the iterations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The cycles of an iteration.
    pub cycles: f64,
    /// Joules without those of the platform's base.
    pub joules: f64,
    /// Joules of the platform's base.
    pub base: f64,
    /// Iterations of a thread in the run with the usual number.
    pub iterations: u64,
}

/// Cycles after which a run is cut off, which is an error.
const BOUND: u64 = 60_000_000_000;
/// The acquisitions of all threads together; each thread makes at least [`FEWEST`].
const ACQUISITIONS: u64 = 1280;
const FEWEST: u64 = 12;
/// The iterations of a thread: barriers, tasks, and tasks with `LONG` or more work. The paper makes
/// three tasks of 4000 µs.
const BARRIERS: u64 = 24;
pub(super) const TASKS: u64 = 12;
const LONG_TASKS: u64 = 3;
/// The least work of a long task: 1000 µs.
const LONG: u64 = 2_100_000;

impl Run {
    fn iterations(&self) -> u64 {
        let Case { load, cores, times, .. } = self.case;
        times
            * match load {
                Load::Sections { .. } | Load::Lock { .. } => (ACQUISITIONS / u64::from(cores)).max(FEWEST),
                Load::Barriers { .. } => BARRIERS,
                Load::Tasks { work } | Load::UnequalTasks { work } if work >= LONG => LONG_TASKS,
                Load::Tasks { .. } | Load::UnequalTasks { .. } => TASKS,
            }
    }

    pub(super) fn figures(&self) -> Result<Figures, String> {
        let chip = Chip::from_toml(&self.chip, "the study's chip").map_err(|error| error.to_string())?;
        let iterations = self.iterations();
        let [once, twice] = [1, 2].map(|times| self.totals(&chip, iterations * times));
        let (once, twice) = (once?, twice?);
        let each = |at: usize| (twice[at] - once[at]) / iterations as f64;
        Ok(Figures { cycles: each(0), joules: each(1), base: each(2), iterations })
    }

    /// A run's cycles, its joules without the platform's base, and the joules of the base.
    pub(super) fn totals(&self, chip: &Chip, iterations: u64) -> Result<[f64; 3], String> {
        let Case { load, cores, arm, spin, seed, .. } = self.case;
        let (charge, make) = match load {
            Load::Sections { work } => contended(cores, arm, spin, iterations, work, work)?,
            Load::Lock { delay } => contended(cores, arm, spin, iterations, delay, 0)?,
            Load::Barriers { work } => meeting(cores, arm, spin, iterations, work)?,
            Load::Tasks { work } => region_of_tasks(cores, arm, spin, iterations, move |_, _| work),
            Load::UnequalTasks { work } => {
                region_of_tasks(cores, arm, spin, iterations, move |thread, task| unequal(work, thread, task))
            }
        };
        let instructions = match charge {
            Charge::Counted(counted) => Instructions::of(counted),
            _ => Instructions::TYPICAL,
        };
        let bound = Some(Cycles(BOUND));
        let options = Options { seed, limit: bound, threads: cores as usize + 1, instructions, ..Options::default() };
        match on_cores(chip, &options, make)? {
            Ended::Locked(report) => Err(report),
            Ended::Whole(outcome) => {
                let account = Account::of(chip, &outcome).map_err(|missing| missing.to_string())?;
                Ok([outcome.cycles.0 as f64, account.without_base(), account.component(Component::Base)])
            }
        }
    }
}

/// Makes the threads of a run, once its simulation exists.
type Make = Box<dyn FnOnce() -> Result<Crew, String>>;

/// Threads of figures 1 and 2, with `critical` cycles of work under the lock and `think` cycles
/// outside.
fn contended(
    cores: u32,
    arm: Arm,
    spin: u32,
    iterations: u64,
    critical: u64,
    think: u64,
) -> Result<(Charge, Make), String> {
    let (lock, wait) = arm.lock(spin);
    let knobs = Knobs { lock, wait: Some(wait), critical, think, ..knobs(cores, iterations) };
    if arm == Arm::Printed { Ok(as_printed(&knobs, wait, iterations)) } else { of::<Contended>(&knobs) }
}

/// Threads that contend for 1spinner as its paper prints it. No registry has that lock, because it
/// excludes other threads only within limits.
fn as_printed(knobs: &Knobs<'_>, wait: Wait, iterations: u64) -> (Charge, Make) {
    type Printed = OneSpinnerPaper<Simulated>;
    let (critical, think) = (Cycles(knobs.critical), Cycles(knobs.think));
    let (spread, lines) = (knobs.spread, knobs.lines);
    let contention = Contention { threads: knobs.cores, critical, think, spread, lines, iterations };
    let make = move || Ok(crew(contention.team::<Simulated, Known<Simulated, Printed>, _>(wait, Silent)));
    (Charge::Counted(<Printed as RawLock<Simulated>>::INFO.counted), Box::new(make))
}

/// Threads of figures 5 and 6, which meet at a barrier.
fn meeting(cores: u32, arm: Arm, spin: u32, iterations: u64, work: u64) -> Result<(Charge, Make), String> {
    let (barrier, wait) = arm.barrier(cores, spin);
    of::<Meeting>(&Knobs { barrier, wait: Some(wait), critical: 0, think: work, ..knobs(cores, iterations) })
}

fn knobs(cores: u32, iterations: u64) -> Knobs<'static> {
    Knobs { threads: Some(cores), cores, iterations: Some(iterations), ..Knobs::default() }
}

/// A workload with one thread per core.
fn of<W: Workload + 'static>(knobs: &Knobs<'_>) -> Result<(Charge, Make), String> {
    let workload = W::choose(knobs).map_err(|refused| refused.to_string())?;
    let wait = knobs.wait.unwrap_or_default();
    let charge = workload.charge();
    let make = move || workload.team::<Simulated, _>(wait, Silent).map(crew).map_err(|refused| refused.to_string());
    Ok((charge, Box::new(make)))
}

/// The team's threads, one per core.
fn crew(team: Team) -> Crew {
    let bodies = team.bodies.into_iter().map(|body| body as Box<dyn FnOnce()>);
    Crew { bodies: (0..).zip(bodies).collect(), check: team.verify }
}

/// The work of a thread's task among tasks of unequal length. Threads 0 and 1, 2 and 3, and so on
/// together have twice `work`, so that all tasks of a region do as much as equal ones.
pub(super) fn unequal(work: u64, thread: u32, task: u64) -> u64 {
    // `part` is drawn evenly from 0 to `work`.
    let part = mix(u64::from(thread / 2), task) % (work + 1);
    if thread.is_multiple_of(2) { work / 2 + part } else { work + work / 2 - part }
}

/// Makes the threads of [`tasks`], and counts the instructions of the runtime itself.
fn region_of_tasks(
    cores: u32,
    arm: Arm,
    spin: u32,
    iterations: u64,
    work: impl Fn(u32, u64) -> u64 + Send + Sync + 'static,
) -> (Charge, Make) {
    let make: Make = Box::new(move || Ok(tasks(cores, arm, spin, work, iterations)));
    (Charge::Counted(epcc::COUNTED_TASKS), make)
}

/// PARALLEL TASK: each thread of a region creates its tasks, and the end of the region waits for
/// them. Workers are hired by an earlier region with one task per thread. The arm's lock guards the
/// team's tasks; nothing else differs between arms.
fn tasks(
    cores: u32,
    arm: Arm,
    spin: u32,
    work: impl Fn(u32, u64) -> u64 + Send + Sync + 'static,
    iterations: u64,
) -> Crew {
    let (lock, wait) = arm.lock(spin);
    let sleeps = Wait::SpinPark(spin);
    let mut waits = Waits::all(sleeps);
    waits.set(Why::Lock, wait);
    let settings = Settings { lock: lock.to_owned(), waits: Some(waits), ..Settings::new(cores) };
    let workers = Workers::<Simulated>::new(cores - 1, cores, sleeps);
    let runtime = Arc::new(Runtime::<Simulated>::new(settings, Box::new(workers.clone())));
    let done = Arc::new(AtomicU64::new(0));
    let (kept, counted) = (runtime.clone(), done.clone());
    let all = workers.clone();
    let first = move || {
        let (done, work) = (&*done, &work);
        for count in [1, iterations] {
            runtime.region(cores, |context| {
                for number in 0..count {
                    let cycles = Cycles(work(context.id, number));
                    let task = move || {
                        Simulated::work(cycles);
                        done.fetch_add(1, Relaxed);
                    };
                    // SAFETY: the task borrows only `done`, which outlives the region, and the
                    // region's end waits for its tasks.
                    unsafe { context.task(task) };
                }
            });
        }
        runtime.release();
        all.dismiss();
    };
    let mut bodies: Vec<(u32, Box<dyn FnOnce()>)> = vec![(0, Box::new(first))];
    bodies.extend((1..cores).map(|core| {
        let workers = workers.clone();
        (core, Box::new(move || workers.serve(core - 1)) as Box<dyn FnOnce()>)
    }));
    let expected = u64::from(cores) * (1 + iterations);
    let check = Box::new(move || {
        drop((kept, workers));
        let found = counted.load(Relaxed);
        if found == expected { Ok(()) } else { Err(format!("{found} tasks have run, expected {expected}")) }
    });
    Crew { bodies, check }
}
