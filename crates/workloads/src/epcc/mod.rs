//! What OpenMP's constructs cost, by the reference-time method of EPCC's microbenchmarks (Bull,
//! Reid and McDonnell, version 3), in our own code: a loop of delays is timed without a construct
//! and with one. The difference per iteration is the overhead of the construct.
//!
//! The workload runs on the OpenMP runtime (`crates/omp`), whose workers are the workload's
//! threads. The lock under test guards the team's tasks and is the lock of the measurements that
//! use a lock; the barrier under test is the team's barrier; everything waits by one wait policy.
//!
//! | file | workload | measurements |
//! | --- | --- | --- |
//! | [`sync`] | `epcc` | syncbench, and of the others *parallel task*, *master task* and *dynamic* |
//! | [`sched`] | `epcc-sched` | schedbench |
//! | [`array`](mod@array) | `epcc-array` | arraybench |
//! | [`task`] | `epcc-task` | taskbench |
//!
//! | construct | what an iteration is |
//! | --- | --- |
//! | parallel, parallel for, reduction, arrays | a region whose threads have one delay each |
//! | for, barrier, single, copyprivate | a delay, or a thread's part of a loop, and a barrier |
//! | critical, lock, ordered | one delay of one thread, with the others kept out |
//! | atomic | one multiplication |
//! | tasks | a task a thread, or a tree of tasks |
//! | schedules | a loop with 128 delays a thread, and a barrier |

pub mod array;
pub mod sched;
pub mod sync;
pub mod task;

use crate::timing::Figure;
use crate::{Body, Charge, Dispatch, Knobs, Probe, Refused, Shared, Team, Workload, WorkloadInfo, expect, share};
use baton_machine::Ordering::Relaxed;
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Clock, Counted, Machine, OwnedSlice, Wait};
use baton_omp::objects::{AnyLock, lock};
use baton_omp::settings::TaskQueue;
use baton_omp::share::Work;
use baton_omp::space::static_chunk;
use baton_omp::team::Context;
use baton_omp::waits::{Waits, Why};
use baton_omp::{Crew, Runtime, Schedule, ScheduleKind, Settings, Space};
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

/// A group of measurements.
pub trait Group: Clone + Send + Sync + 'static {
    /// The name and description of the workload.
    const INFO: WorkloadInfo;

    /// Whether each thread has an array.
    const ARRAYS: bool = false;

    /// The measurements of the group.
    fn constructs<M: Machine>() -> Vec<Construct<M>>;
}

/// The settings of the workload.
#[derive(Clone)]
struct Set {
    threads: u32,
    iterations: u64,
    delay: Cycles,
    lock: String,
    barrier: String,
    /// Where tasks wait until a thread takes them.
    tasks: TaskQueue,
}

/// Instructions and accesses of the runtime's own code for one iteration of every measurement
/// together, in a team of eight, without delays and without waiting (counted by
/// `scripts/check/omp-instructions`).
pub const COUNTED: Counted = Counted { instructions: 28_693.0, accesses: 809 };

/// Instructions and accesses of a region whose eight threads make twenty tasks each, counted in the
/// same way.
pub const COUNTED_TASKS: Counted = Counted { instructions: 96_195.0, accesses: 2528 };

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

/// The values that the threads share.
pub struct Bench<M: Machine> {
    runtime: Runtime<M>,
    threads: u32,
    iterations: u64,
    delay: Cycles,
    section: Box<dyn AnyLock<M>>,
    /// The number that the atomics and reductions of the measurements change.
    value: Shared<M, Line<M>>,
    /// The array of each thread, in groups that have arrays.
    arrays: OwnedSlice<M, array::Line>,
    /// Number of delays that were computed.
    delays: AtomicU64,
    /// Number of arrays that were copied without an error.
    copies: AtomicU64,
}

/// A word alone in its pair of lines.
#[repr(C, align(128))]
struct Line<M: Machine>(M::Atomic<u64>);

/// One measurement: a construct, and what to expect of its iterations.
pub struct Construct<M: Machine> {
    figure: &'static str,
    /// Whether each iteration is a region of its own; otherwise all iterations are in one region.
    regions: bool,
    /// Whether one thread at a time computes, and each thread does all iterations.
    serial: bool,
    /// Number of delays of an iteration, of all threads together, by the number of threads.
    delays: fn(u64) -> u64,
    /// Number of delays that an iteration takes without the construct.
    alone: u64,
    /// Number of arrays that are copied in an iteration, of all threads together.
    copies: fn(u64) -> u64,
    /// What each thread does in a region.
    body: fn(&Bench<M>, &Context<M>),
}

/// A construct of which each iteration is a region, with one delay in each thread.
fn region_each<M: Machine>(figure: &'static str, body: fn(&Bench<M>, &Context<M>)) -> Construct<M> {
    Construct { regions: true, ..in_region(figure, |threads| threads, body) }
}

/// A construct whose iterations are all in one region, with `alone` delays in each iteration.
fn in_region<M: Machine>(
    figure: &'static str,
    delays: fn(u64) -> u64,
    body: fn(&Bench<M>, &Context<M>),
) -> Construct<M> {
    Construct { figure, regions: false, serial: false, delays, alone: 1, copies: |_| 0, body }
}

/// A construct in which threads come one after another.
fn one_at_a_time<M: Machine>(
    figure: &'static str,
    delays: fn(u64) -> u64,
    body: fn(&Bench<M>, &Context<M>),
) -> Construct<M> {
    Construct { serial: true, ..in_region(figure, delays, body) }
}

impl<M: Machine> Bench<M> {
    fn delay(&self) {
        M::work(self.delay);
        self.delays.fetch_add(1, Relaxed);
    }

    /// The thread's part of a loop with one iteration for each thread, as compilers share out such
    /// a loop.
    fn own_iteration(&self, context: &Context<M>) {
        let threads = u64::from(context.team().size);
        if let Some((from, to)) = static_chunk(threads, 0, 0, u64::from(context.id), threads) {
            (from..to).for_each(|_| self.delay());
        }
    }

    fn in_turn(&self, context: &Context<M>) {
        let wait = context.waits().of(Why::Lock);
        for _ in 0..self.iterations {
            self.section.lock(wait);
            self.delay();
            // SAFETY: locked above, with the same policy.
            unsafe { self.section.unlock(wait) };
        }
    }

    /// A loop of `each` iterations for each thread.
    fn share_out(&self, context: &Context<M>, each: u64, kind: ScheduleKind, chunk: u64, ordered: bool) {
        let count = each * u64::from(context.team().size);
        let schedule = Schedule { kind, chunk, monotonic: true };
        context.enter(|| Work { space: Space::signed(0, count as i64, 1), schedule, ordered, ..Work::default() });
    }

    /// Makes a task as a child of the calling thread's current task. What `body` borrows must
    /// outlive the region; the bench does.
    fn task(&self, context: &Context<M>, body: impl FnOnce() + Send) {
        // SAFETY: what the task borrows outlives the region, which ends behind its tasks.
        unsafe { context.task(body) };
    }

    fn copied(&self) {
        self.copies.fetch_add(1, Relaxed);
    }

    /// An atomic multiplication or addition. It is a loop, as compilers make for floating-point
    /// numbers.
    fn update(&self, change: impl Fn(f64) -> f64) {
        // Relaxed, all accesses: the end of the region orders them.
        let mut now = self.value.0.load(Relaxed);
        while let Err(other) =
            self.value.0.compare_exchange(now, change(f64::from_bits(now)).to_bits(), Relaxed, Relaxed)
        {
            now = other;
        }
    }

    /// Nanoseconds that `f` took.
    fn time(&self, f: impl FnOnce()) -> f64 {
        let began = M::now(Clock::Monotonic).0;
        f();
        (M::now(Clock::Monotonic).0 - began) as f64
    }

    /// The overhead of one iteration in nanoseconds. `delay` is the time of one delay in
    /// nanoseconds.
    fn measure(&self, construct: &Construct<M>, delay: f64) -> f64 {
        let took = self.time(|| {
            for _ in 0..if construct.regions { self.iterations } else { 1 } {
                self.runtime.region(self.threads, |context| (construct.body)(self, context));
            }
        });
        let count = self.iterations * if construct.serial { u64::from(self.threads) } else { 1 };
        took / count as f64 - delay * construct.alone as f64
    }

    /// Runs all measurements of a group: the first thread's program.
    fn run(&self, constructs: &[Construct<M>]) -> Vec<Figure> {
        // Workers are hired before anything is timed.
        self.runtime.region(self.threads, |_| ());
        let delay = self.time(|| (0..self.iterations).for_each(|_| self.delay())) / self.iterations as f64;
        let figure =
            |construct: &Construct<M>| Figure { name: construct.figure, value: self.measure(construct, delay) };
        constructs.iter().map(figure).collect()
    }

    /// Checks that each delay was computed and each array copied.
    fn verify(&self, constructs: &[Construct<M>]) -> Result<(), String> {
        let threads = u64::from(self.threads);
        let of = |each: fn(u64) -> u64| self.iterations * each(threads);
        let delays: u64 = constructs.iter().map(|construct| of(construct.delays)).sum();
        let copies: u64 = constructs.iter().map(|construct| of(construct.copies)).sum();
        expect("delays that were computed", self.delays.load(Relaxed), self.iterations + delays)?;
        expect("arrays that were copied", self.copies.load(Relaxed), copies)
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
            arrays: array::arrays(if G::ARRAYS { threads as usize } else { 0 }),
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
        if G::ARRAYS { array::bytes(self.set.threads as usize) } else { 0 }
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
