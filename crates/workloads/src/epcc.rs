//! What OpenMP's constructs cost, by the reference-time method of EPCC's microbenchmarks (Bull, Reid and McDonnell, version 3), in code of
//! our own: a loop of delays is timed without a construct and with one, and the difference, by iteration, is the construct's overhead.
//!
//! It runs on the OpenMP runtime (`crates/omp`), whose workers are the workload's threads. The lock is that of the team's tasks and of the
//! measurements with a lock, the barrier is the team's, and everything waits by the one policy.
//!
//! | measurement | what an iteration is |
//! | --- | --- |
//! | parallel, parallel for, reduction | a region whose threads have one delay each |
//! | for, barrier, single | a delay, or a thread's part of a loop, and a barrier |
//! | critical, lock, ordered | one delay of one thread, with the others kept out |
//! | atomic | one multiplication |
//! | parallel task, master task | a task a thread, made by each or by the first |
//! | dynamic | an iteration a thread of a loop in chunks of one |

use crate::timing::Figure;
use crate::{Body, Charge, Knobs, Probe, Refused, Shared, Team, Workload, WorkloadInfo, expect, share};
use baton_machine::Ordering::Relaxed;
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Clock, Counted, Machine, Wait};
use baton_omp::objects::{AnyLock, lock};
use baton_omp::share::Work;
use baton_omp::space::static_chunk;
use baton_omp::team::Context;
use baton_omp::waits::{Waits, Why};
use baton_omp::{Crew, Runtime, Schedule, ScheduleKind, Settings, Space};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

/// Tries before a waiter sleeps: libgomp's.
const TRIES: u32 = 300_000;

/// The workload.
#[derive(Clone)]
pub struct Epcc {
    threads: u32,
    iterations: u64,
    delay: Cycles,
    lock: String,
    barrier: String,
}

/// What an iteration of each measurement takes a team of eight, all of them together, without delays and waiting: the runtime's own code
/// (`scripts/omp-instructions.sh`).
pub const COUNTED: Counted = Counted { instructions: 30_435.0, accesses: 893 };

/// The same of a region whose eight threads make twenty tasks each.
pub const COUNTED_TASKS: Counted = Counted { instructions: 144_350.0, accesses: 3159 };

impl Epcc {
    /// Without delays: what the runtime's instructions and accesses are counted with.
    pub fn counted(threads: u32, iterations: u64) -> Epcc {
        let (lock, barrier) = ("futex".to_owned(), "gomp".to_owned());
        Epcc { threads, iterations, delay: Cycles(0), lock, barrier }
    }
}

/// What the threads share.
struct Bench<M: Machine> {
    runtime: Runtime<M>,
    epcc: Epcc,
    section: Box<dyn AnyLock<M>>,
    /// What atomics and reductions are done on.
    value: Shared<M, Line<M>>,
    /// Delays that were computed.
    delays: AtomicU64,
}

/// A word alone in its pair of lines.
#[repr(C, align(128))]
struct Line<M: Machine>(M::Atomic<u64>);

/// A measurement.
struct Construct<M: Machine> {
    figure: &'static str,
    /// An iteration is a region of its own; else all are in one.
    regions: bool,
    /// One thread at a time computes, and each thread has all iterations.
    serial: bool,
    /// Delays of an iteration, of all threads together.
    delays: fn(u64) -> u64,
    /// What each thread does in a region.
    body: fn(&Bench<M>, &Context<M>),
}

impl<M: Machine> Bench<M> {
    fn delay(&self) {
        M::work(self.epcc.delay);
        self.delays.fetch_add(1, Relaxed);
    }

    /// The thread's part of a loop with an iteration a thread, as compilers share it out.
    fn own_iteration(&self, context: &Context<M>) {
        let threads = u64::from(context.team().size);
        if let Some((from, to)) = static_chunk(threads, 0, 0, u64::from(context.id), threads) {
            (from..to).for_each(|_| self.delay());
        }
    }

    fn in_turn(&self, context: &Context<M>, section: &dyn AnyLock<M>) {
        let wait = context.waits().of(Why::Lock);
        for _ in 0..self.epcc.iterations {
            section.lock(wait);
            self.delay();
            // SAFETY: locked above, with the same policy.
            unsafe { section.unlock(wait) };
        }
    }

    /// A loop of so many iterations a thread.
    fn share_out(&self, context: &Context<M>, kind: ScheduleKind, ordered: bool) {
        let count = self.epcc.iterations * u64::from(context.team().size);
        let schedule = Schedule { kind, chunk: 1, monotonic: true };
        context.enter(|| Work { space: Space::signed(0, count as i64, 1), schedule, ordered, ..Work::default() });
    }

    fn task(&self, context: &Context<M>) {
        // SAFETY: what the task borrows outlives the region, which ends behind its tasks.
        unsafe { context.task(|| self.delay()) };
    }

    /// An atomic multiplication, or an addition: compilers make a loop of both for floating point.
    fn update(&self, change: impl Fn(f64) -> f64) {
        // Relaxed, all: the end of the region orders them.
        let mut now = self.value.0.load(Relaxed);
        while let Err(other) =
            self.value.0.compare_exchange(now, change(f64::from_bits(now)).to_bits(), Relaxed, Relaxed)
        {
            now = other;
        }
    }

    /// Nanoseconds.
    fn time(&self, f: impl FnOnce()) -> f64 {
        let began = M::now(Clock::Monotonic).0;
        f();
        (M::now(Clock::Monotonic).0 - began) as f64
    }

    /// The overhead of an iteration in nanoseconds, where the delays of one take so long.
    fn measure(&self, construct: &Construct<M>, reference: f64) -> f64 {
        let Epcc { threads, iterations, .. } = self.epcc;
        let took = self.time(|| {
            for _ in 0..if construct.regions { iterations } else { 1 } {
                self.runtime.region(threads, |context| (construct.body)(self, context));
            }
        });
        let count = iterations * if construct.serial { u64::from(threads) } else { 1 };
        let reference = if (construct.delays)(1) == 0 { 0.0 } else { reference };
        took / count as f64 - reference
    }

    /// All of them: the first thread's program.
    fn run(&self) -> Vec<Figure> {
        let Epcc { threads, iterations, .. } = self.epcc;
        // Workers are hired before anything is timed.
        self.runtime.region(threads, |_| ());
        let reference = self.time(|| (0..iterations).for_each(|_| self.delay())) / iterations as f64;
        let figure =
            |construct: &Construct<M>| Figure { name: construct.figure, value: self.measure(construct, reference) };
        constructs().iter().map(figure).collect()
    }

    /// The delays of all measurements.
    fn expected(&self) -> u64 {
        let Epcc { threads, iterations, .. } = self.epcc;
        let of = |construct: &Construct<M>| iterations * (construct.delays)(u64::from(threads));
        iterations + constructs().iter().map(of).sum::<u64>()
    }
}

/// Of syncbench.
fn constructs<M: Machine>() -> Vec<Construct<M>> {
    let parallel = |figure, body| Construct { figure, regions: true, serial: false, delays: |threads| threads, body };
    let inside = |figure, delays, body| Construct { figure, regions: false, serial: false, delays, body };
    let serial = |figure, delays, body| Construct { figure, regions: false, serial: true, delays, body };
    let mut all: Vec<Construct<M>> = vec![
        parallel("nanoseconds_of_parallel", |bench, _| bench.delay()),
        parallel("nanoseconds_of_parallel_for", |bench, context| bench.own_iteration(context)),
        parallel("nanoseconds_of_reduction", |bench, _| {
            bench.delay();
            bench.update(|sum| sum + 1.0);
        }),
        inside(
            "nanoseconds_of_for",
            |threads| threads,
            |bench, context| {
                for _ in 0..bench.epcc.iterations {
                    bench.own_iteration(context);
                    context.barrier(Why::Barrier);
                }
            },
        ),
        inside(
            "nanoseconds_of_barrier",
            |threads| threads,
            |bench, context| {
                for _ in 0..bench.epcc.iterations {
                    bench.delay();
                    context.barrier(Why::Barrier);
                }
            },
        ),
        inside(
            "nanoseconds_of_single",
            |_| 1,
            |bench, context| {
                for _ in 0..bench.epcc.iterations {
                    if context.single() {
                        bench.delay();
                    }
                    context.barrier(Why::Barrier);
                }
            },
        ),
        serial("nanoseconds_of_critical", |threads| threads, |bench, context| bench.in_turn(context, &*bench.section)),
        serial(
            "nanoseconds_of_atomic",
            |_| 0,
            |bench, _| {
                (0..bench.epcc.iterations).for_each(|_| bench.update(|value| value * 1.000_001));
            },
        ),
        serial(
            "nanoseconds_of_ordered",
            |threads| threads,
            |bench, context| {
                bench.share_out(context, ScheduleKind::Static, true);
                while context.next_ordered_chunk().is_some() {
                    context.ordered();
                    bench.delay();
                }
                context.leave();
            },
        ),
    ];
    all.extend(tasks_and_chunks());
    all
}

/// A few of taskbench and schedbench.
fn tasks_and_chunks<M: Machine>() -> [Construct<M>; 3] {
    let of = |figure, body| Construct { figure, regions: false, serial: false, delays: |threads| threads, body };
    [
        of("nanoseconds_of_parallel_task", |bench, context| {
            (0..bench.epcc.iterations).for_each(|_| bench.task(context));
        }),
        of("nanoseconds_of_master_task", |bench, context| {
            if context.id == 0 {
                let all = bench.epcc.iterations * u64::from(context.team().size);
                (0..all).for_each(|_| bench.task(context));
            }
        }),
        of("nanoseconds_of_dynamic", |bench, context| {
            bench.share_out(context, ScheduleKind::Dynamic, false);
            while context.next_chunk().is_some() {
                bench.delay();
            }
            context.leave();
        }),
    ]
}

impl Workload for Epcc {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "epcc",
        what: "What OpenMP's constructs cost on Baton's runtime, by EPCC's reference-time method",
        figure: "measured.nanoseconds_of_barrier",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Epcc, Refused> {
        let (info, _) = knobs.lock()?;
        let threads = knobs.threads_or_two();
        if threads == 0 {
            return Err(Refused::because("a team needs a thread"));
        }
        let (lock, barrier) = (info.name.to_owned(), knobs.barrier()?.name.to_owned());
        Ok(Epcc { threads, iterations: knobs.iterations_or(20).max(1), delay: Cycles(knobs.think), lock, barrier })
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn wait(&self, asked: Option<Wait>) -> Wait {
        asked.unwrap_or(Wait::SpinPark(TRIES))
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        let threads = self.threads;
        let crew = Crew::<M>::new(threads - 1, threads, wait);
        let (lock_name, barrier) = (self.lock.clone(), self.barrier.clone());
        let waits = Some(Waits::all(wait));
        let settings = Settings { lock: lock_name, barrier, waits, ..Settings::new(threads) };
        let section = lock::<M>(&self.lock).map_err(Refused::because)?;
        let bench = Arc::new(Bench {
            runtime: Runtime::new(settings, Box::new(crew.clone())),
            epcc: self.clone(),
            section,
            value: share::<M, _>(Line(M::Atomic::new(1f64.to_bits()))),
            delays: AtomicU64::new(0),
        });
        let found = Arc::new(Mutex::new(Vec::new()));
        let (first, put, all) = (bench.clone(), found.clone(), crew.clone());
        let program = move || {
            *put.lock().unwrap_or_else(PoisonError::into_inner) = first.run();
            first.runtime.release();
            all.dismiss();
        };
        let mut bodies: Vec<Body> = vec![Box::new(program)];
        bodies.extend((0..threads - 1).map(|seat| {
            let crew = crew.clone();
            Box::new(move || crew.serve(seat)) as Body
        }));
        let verify = move || expect("delays that were computed", bench.delays.load(Relaxed), bench.expected());
        let figures = move || found.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Team { bodies, verify: Box::new(verify), figures: Box::new(figures) })
    }

    fn charge(&self) -> Charge {
        Charge::Counted(COUNTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;
    use baton_machine::Native;

    #[test]
    fn each_measurement_computes_its_delays_under_every_pair_of_lock_and_barrier() {
        for (threads, lock, barrier) in [(1, "futex", "gomp"), (3, "mcs", "two-level"), (4, "spin-park", "central")] {
            let knobs =
                Knobs { threads: Some(threads), lock, barrier, iterations: Some(3), think: 1, ..Knobs::default() };
            let epcc = Epcc::choose(&knobs).unwrap();
            let team = epcc.team::<Native, _>(Wait::SpinPark(100), Silent).unwrap();
            let threads: Vec<_> =
                team.bodies.into_iter().map(|body| std::thread::Builder::new().spawn(body).unwrap()).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            (team.verify)().unwrap();
            let names: Vec<_> = (team.figures)().iter().map(|figure| figure.name).collect();
            let expected: Vec<_> = constructs::<Native>().iter().map(|construct| construct.figure).collect();
            assert_eq!(names, expected);
        }
    }

    #[test]
    fn a_team_of_none_is_refused() {
        let knobs = Knobs { threads: Some(0), ..Knobs::default() };
        assert_eq!(Epcc::choose(&knobs).err().unwrap().to_string(), "a team needs a thread");
    }
}
