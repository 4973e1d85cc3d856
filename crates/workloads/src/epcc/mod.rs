//! What OpenMP's constructs cost, by the reference-time method of EPCC's microbenchmarks (Bull,
//! Reid and McDonnell, version 3), in our own code: a loop of delays is timed without a construct
//! and with one. The difference per iteration is the overhead of the construct.
//!
//! The workload runs on the OpenMP runtime (`crates/omp`), whose workers are the workload's
//! threads. The lock under test guards the team's tasks and is the lock of the measurement
//! *critical*; the barrier under test is the team's barrier; everything waits by one wait policy.
//!
//! | file | workload | measurements |
//! | --- | --- | --- |
//! | [`sync`] | `epcc` | syncbench, and of the others *parallel task*, *master task* and *dynamic* |
//! | [`sched`] | `epcc-sched` | schedbench |
//! | [`array`](mod@array) | `epcc-array` | arraybench |
//! | [`task`] | `epcc-task` | taskbench |
//!
//! `bench` holds what a measurement is and how it is timed; `rows` holds the arrays that threads copy.
//!
//! | construct | what an iteration is |
//! | --- | --- |
//! | parallel, parallel for, reduction, arrays | a region whose threads have one delay each |
//! | for, barrier, single, copyprivate | a delay, or a thread's part of a loop, and a barrier |
//! | critical, ordered | one delay of one thread, with the others kept out |
//! | atomic | one multiplication |
//! | tasks | a task a thread, or a tree of tasks |
//! | schedules | a loop with 128 delays a thread, and a barrier |

pub mod array;
mod bench;
mod rows;
pub mod sched;
pub mod sync;
pub mod task;

pub use bench::{Bench, Construct, Group};

use crate::{Body, Charge, Dispatch, Knobs, Probe, Refused, Team, Workload, WorkloadInfo, share};
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Counted, Machine, Wait};
use baton_omp::objects::lock;
use baton_omp::settings::TaskQueue;
use baton_omp::waits::Waits;
use baton_omp::{Crew, Runtime, Settings};
use bench::Line;
use core::marker::PhantomData;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

/// Tries before a waiter sleeps, as in libgomp.
const TRIES: u32 = 300_000;

/// The workload that runs one group of measurements.
#[derive(Clone)]
pub struct Measured<G> {
    group: PhantomData<G>,
    set: Set,
}

/// The workload of syncbench.
pub type Epcc = Measured<sync::Syncbench>;
/// The workload of schedbench.
pub type EpccSched = Measured<sched::Schedbench>;
/// The workload of arraybench.
pub type EpccArray = Measured<array::Arraybench>;
/// The workload of taskbench.
pub type EpccTask = Measured<task::Taskbench>;

/// The settings of the workload.
#[derive(Clone)]
struct Set {
    threads: u32,
    iterations: u64,
    delay: Cycles,
    lock: String,
    barrier: String,
    /// Which queues tasks wait in until a thread takes them: the team's one queue, or a list for
    /// each thread.
    tasks: TaskQueue,
}

/// Instructions and accesses of the runtime's own code for one iteration of every measurement of
/// `epcc` together, in a team of eight, without delays and without waiting (counted by
/// `scripts/check/omp-instructions`).
pub const COUNTED: Counted = Counted { instructions: 33_117.0, accesses: 817 };

/// Instructions and accesses of a region whose eight threads make twenty tasks each, counted in the
/// same way.
pub const COUNTED_TASKS: Counted = Counted { instructions: 90_402.0, accesses: 2536 };

impl Epcc {
    /// Settings without delays, with which the runtime's instructions and accesses are counted.
    pub fn counted(threads: u32, iterations: u64) -> Epcc {
        let (lock, barrier) = ("futex".to_owned(), "gomp".to_owned());
        Measured {
            group: PhantomData,
            set: Set { threads, iterations, delay: Cycles(0), lock, barrier, tasks: TaskQueue::Team },
        }
    }
}

impl<G: Group> Workload for Measured<G> {
    const INFO: WorkloadInfo = G::INFO;

    fn choose(knobs: &Knobs<'_>) -> Result<Self, Refused> {
        let (info, _) = knobs.lock()?;
        let threads = knobs.threads_or_two();
        if threads == 0 {
            return Err(Refused::because("a team needs a thread"));
        }
        let (lock, barrier) = (info.name.to_owned(), knobs.barrier()?.name.to_owned());
        let tasks = match knobs.inputs.dispatch {
            None | Some(Dispatch::Shared) => TaskQueue::Team,
            Some(Dispatch::Steal) => TaskQueue::Steal,
            Some(other) => {
                let name = other.name();
                return Err(Refused::because(format!(
                    "threads of a team are given no tasks by `{name}`; expected shared or steal"
                )));
            }
        };
        let (iterations, delay) = (knobs.iterations_or(20).max(1), Cycles(knobs.think));
        let set = Set { threads, iterations, delay, lock, barrier, tasks };
        Ok(Measured { group: PhantomData, set })
    }

    fn threads(&self) -> u32 {
        self.set.threads
    }

    fn wait(&self, asked: Option<Wait>) -> Wait {
        asked.unwrap_or(Wait::SpinPark(TRIES))
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        let Set { threads, iterations, delay, lock: lock_name, barrier, tasks } = self.set.clone();
        let crew = Crew::<M>::new(threads - 1, threads, wait);
        let section = lock::<M>(&lock_name).map_err(Refused::because)?;
        let waits = Some(Waits::all(wait));
        let settings = Settings { lock: lock_name, barrier, waits, tasks, ..Settings::new(threads) };
        let bench = Arc::new(Bench {
            runtime: Runtime::new(settings, Box::new(crew.clone())),
            threads,
            iterations,
            delay,
            section,
            value: share::<M, _>(Line(M::Atomic::new(1f64.to_bits()))),
            arrays: rows::arrays(if G::ARRAYS { threads as usize } else { 0 }),
            delays: AtomicU64::new(0),
            copies: AtomicU64::new(0),
        });
        let found = Arc::new(Mutex::new(Vec::new()));
        let (first, put, all) = (bench.clone(), found.clone(), crew.clone());
        let program = move || {
            *put.lock().unwrap_or_else(PoisonError::into_inner) = first.run(&G::constructs());
            first.runtime.release();
            all.dismiss();
        };
        let mut bodies: Vec<Body> = vec![Box::new(program)];
        bodies.extend((0..threads - 1).map(|seat| {
            let crew = crew.clone();
            Box::new(move || crew.serve(seat)) as Body
        }));
        let verify = move || bench.verify(&G::constructs());
        let figures = move || found.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Team { bodies, verify: Box::new(verify), figures: Box::new(figures) })
    }

    fn charge(&self) -> Charge {
        Charge::Counted(COUNTED)
    }

    fn bytes(&self) -> usize {
        if G::ARRAYS { rows::bytes(self.set.threads as usize) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Inputs, Silent};
    use baton_machine::Native;

    fn computes<G: Group>(threads: u32, lock: &str, barrier: &str, dispatch: Dispatch) {
        let inputs = Inputs { dispatch: Some(dispatch), ..Inputs::default() };
        let (threads, iterations) = (Some(threads), Some(3));
        let knobs = Knobs { threads, lock, barrier, iterations, think: 1, inputs, ..Knobs::default() };
        let epcc = Measured::<G>::choose(&knobs).unwrap();
        let team = epcc.team::<Native, _>(Wait::SpinPark(100), Silent).unwrap();
        let threads: Vec<_> =
            team.bodies.into_iter().map(|body| std::thread::Builder::new().spawn(body).unwrap()).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        (team.verify)().unwrap();
        let names: Vec<_> = (team.figures)().iter().map(|figure| figure.name).collect();
        let expected: Vec<_> = G::constructs::<Native>().iter().map(|construct| construct.figure).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn each_measurement_computes_its_delays_and_copies_under_every_pair_of_lock_and_barrier() {
        for (threads, lock, barrier) in [(1, "futex", "gomp"), (3, "mcs", "two-level"), (4, "spin-park", "central")] {
            computes::<sync::Syncbench>(threads, lock, barrier, Dispatch::Shared);
            computes::<sched::Schedbench>(threads, lock, barrier, Dispatch::Shared);
            computes::<array::Arraybench>(threads, lock, barrier, Dispatch::Shared);
            for dispatch in [Dispatch::Shared, Dispatch::Steal] {
                computes::<task::Taskbench>(threads, lock, barrier, dispatch);
            }
        }
    }

    #[test]
    fn tasks_that_are_dealt_out_are_refused() {
        let inputs = Inputs { dispatch: Some(Dispatch::Dealt), ..Inputs::default() };
        let refused = EpccTask::choose(&Knobs { inputs, ..Knobs::default() }).err().unwrap().to_string();
        assert_eq!(refused, "threads of a team are given no tasks by `dealt`; expected shared or steal");
    }

    #[test]
    fn a_team_of_none_is_refused() {
        let knobs = Knobs { threads: Some(0), ..Knobs::default() };
        assert_eq!(Epcc::choose(&knobs).err().unwrap().to_string(), "a team needs a thread");
    }
}
