//! What a measurement is, and how its overhead is timed.

use super::rows;
use crate::timing::Figure;
use crate::{Shared, WorkloadInfo, expect};
use baton_machine::Ordering::Relaxed;
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Clock, Machine, OwnedSlice};
use baton_omp::objects::AnyLock;
use baton_omp::share::Work;
use baton_omp::space::StaticChunks;
use baton_omp::team::Context;
use baton_omp::waits::Why;
use baton_omp::{Runtime, Schedule, ScheduleKind, Space};
use std::sync::atomic::AtomicU64;

/// A group of measurements.
pub trait Group: Clone + Send + Sync + 'static {
    /// The name and description of the workload.
    const INFO: WorkloadInfo;

    /// Whether each thread has an array.
    const ARRAYS: bool = false;

    /// The measurements of the group.
    fn constructs<M: Machine>() -> Vec<Construct<M>>;
}

/// The values that the threads share.
pub struct Bench<M: Machine> {
    pub(super) runtime: Runtime<M>,
    pub(super) threads: u32,
    pub(super) iterations: u64,
    pub(super) delay: Cycles,
    pub(super) section: Box<dyn AnyLock<M>>,
    /// The number that the atomics and reductions of the measurements change.
    pub(super) value: Shared<M, Line<M>>,
    /// The array of each thread, in groups that have arrays.
    pub(super) arrays: OwnedSlice<M, rows::Line>,
    /// Number of delays that were computed.
    pub(super) delays: AtomicU64,
    /// Number of arrays that were copied without an error.
    pub(super) copies: AtomicU64,
}

/// A word alone in its pair of lines.
#[repr(C, align(128))]
pub(super) struct Line<M: Machine>(pub(super) M::Atomic<u64>);

/// One measurement: a construct, and what to expect of its iterations.
pub struct Construct<M: Machine> {
    pub(super) figure: &'static str,
    /// Whether each iteration is a region of its own; otherwise all iterations are in one region.
    pub(super) regions: bool,
    /// Whether one thread at a time computes, and each thread does all iterations.
    pub(super) serial: bool,
    /// Number of delays of an iteration, of all threads together, by the number of threads.
    pub(super) delays: fn(u64) -> u64,
    /// Number of delays that an iteration takes without the construct.
    pub(super) alone: u64,
    /// Number of arrays that are copied in an iteration, of all threads together.
    pub(super) copies: fn(u64) -> u64,
    /// What each thread does in a region.
    pub(super) body: fn(&Bench<M>, &Context<M>),
}

/// A construct of which each iteration is a region, with one delay in each thread.
pub(super) fn region_each<M: Machine>(figure: &'static str, body: fn(&Bench<M>, &Context<M>)) -> Construct<M> {
    Construct { regions: true, ..in_region(figure, |threads| threads, body) }
}

/// A construct whose iterations are all in one region, with `delays` delays of all threads together
/// in each iteration, and with one delay where the construct is absent.
pub(super) fn in_region<M: Machine>(
    figure: &'static str,
    delays: fn(u64) -> u64,
    body: fn(&Bench<M>, &Context<M>),
) -> Construct<M> {
    Construct { figure, regions: false, serial: false, delays, alone: 1, copies: |_| 0, body }
}

/// A construct in which threads come one after another.
pub(super) fn one_at_a_time<M: Machine>(
    figure: &'static str,
    delays: fn(u64) -> u64,
    body: fn(&Bench<M>, &Context<M>),
) -> Construct<M> {
    Construct { serial: true, ..in_region(figure, delays, body) }
}

impl<M: Machine> Bench<M> {
    pub(super) fn delay(&self) {
        M::work(self.delay);
        self.delays.fetch_add(1, Relaxed);
    }

    /// The thread's part of a loop with one iteration for each thread, as compilers share out such
    /// a loop.
    pub(super) fn own_iteration(&self, context: &Context<M>) {
        let threads = u64::from(context.team().size);
        for (from, to) in StaticChunks::new(threads, 0, u64::from(context.id), threads) {
            (from..to).for_each(|_| self.delay());
        }
    }

    pub(super) fn in_turn(&self, context: &Context<M>) {
        let wait = context.waits().of(Why::Lock);
        for _ in 0..self.iterations {
            self.section.lock(wait);
            self.delay();
            // SAFETY: this thread took the lock above, with the same policy.
            unsafe { self.section.unlock(wait) };
        }
    }

    /// Begins a loop of `each` iterations for each thread, whose chunks the schedule gives out.
    pub(super) fn share_out(&self, context: &Context<M>, each: u64, kind: ScheduleKind, chunk: u64, ordered: bool) {
        let count = each * u64::from(context.team().size);
        let schedule = Schedule { kind, chunk, monotonic: true };
        context.enter(|| Work { space: Space::signed(0, count as i64, 1), schedule, ordered, ..Work::default() });
    }

    /// Makes a task as a child of the calling thread's current task. What `body` borrows must
    /// outlive the region; the bench does.
    pub(super) fn task(&self, context: &Context<M>, body: impl FnOnce() + Send) {
        // SAFETY: what the task borrows outlives the region, which ends after all of its tasks.
        unsafe { context.task(body) };
    }

    /// The calling thread's place in its team, for a task of a region.
    pub(super) fn here(&self) -> &Context<M> {
        // SAFETY: tasks use the place before they end, and the region ends after its tasks.
        unsafe { self.runtime.context() }
    }

    pub(super) fn copied(&self) {
        self.copies.fetch_add(1, Relaxed);
    }

    /// An atomic multiplication or addition. It is a loop, as compilers make for floating-point
    /// numbers.
    pub(super) fn update(&self, change: impl Fn(f64) -> f64) {
        // Relaxed, all accesses: the end of the region orders them.
        let mut now = self.value.0.load(Relaxed);
        while let Err(other) =
            self.value.0.compare_exchange(now, change(f64::from_bits(now)).to_bits(), Relaxed, Relaxed)
        {
            now = other;
        }
    }

    /// Nanoseconds that `f` took.
    pub(super) fn time(&self, f: impl FnOnce()) -> f64 {
        let began = M::now(Clock::Monotonic).0;
        f();
        (M::now(Clock::Monotonic).0 - began) as f64
    }

    /// The overhead of one iteration in nanoseconds. `delay` is the time of one delay in
    /// nanoseconds.
    pub(super) fn measure(&self, construct: &Construct<M>, delay: f64) -> f64 {
        let took = self.time(|| {
            for _ in 0..if construct.regions { self.iterations } else { 1 } {
                self.runtime.region(self.threads, |context| (construct.body)(self, context));
            }
        });
        let count = self.iterations * if construct.serial { u64::from(self.threads) } else { 1 };
        took / count as f64 - delay * construct.alone as f64
    }

    /// Runs all measurements of a group: the first thread's program.
    pub(super) fn run(&self, constructs: &[Construct<M>]) -> Vec<Figure> {
        // Workers are hired before anything is timed.
        self.runtime.region(self.threads, |_| ());
        let delay = self.time(|| (0..self.iterations).for_each(|_| self.delay())) / self.iterations as f64;
        let figure =
            |construct: &Construct<M>| Figure { name: construct.figure, value: self.measure(construct, delay) };
        constructs.iter().map(figure).collect()
    }

    /// Checks that each delay was computed and each array copied.
    pub(super) fn verify(&self, constructs: &[Construct<M>]) -> Result<(), String> {
        let threads = u64::from(self.threads);
        let of = |each: fn(u64) -> u64| self.iterations * each(threads);
        let delays: u64 = constructs.iter().map(|construct| of(construct.delays)).sum();
        let copies: u64 = constructs.iter().map(|construct| of(construct.copies)).sum();
        expect("delays that were computed", self.delays.load(Relaxed), self.iterations + delays)?;
        expect("arrays that were copied", self.copies.load(Relaxed), copies)
    }
}
