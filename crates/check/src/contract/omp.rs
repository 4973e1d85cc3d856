//! What the OpenMP runtime must do on every machine: regions, barriers, critical sections, loops, tasks.

use crate::world::{Scenario, Shared, World, share};
use baton_machine::Ordering::Relaxed;
use baton_machine::{Atomic, Machine, Slot, Wait};
use baton_omp::objects::{AnyLock, lock};
use baton_omp::share::Work;
use baton_omp::team::Context;
use baton_omp::waits::{Waits, Why};
use baton_omp::{Crew, Runtime, Schedule, ScheduleKind, Settings, Space};
use std::sync::Arc;

/// Iterations of a loop, and tasks.
const MANY: usize = 40;

/// What threads count.
struct Tally<M: Machine> {
    /// By thread, iteration or task.
    each: [M::Atomic<u32>; MANY],
    /// What was not as it must be.
    wrong: M::Atomic<u32>,
    /// Under a critical section.
    guarded: M::Slot<u32>,
}

// SAFETY: the slot is accessed by the holder of a critical section, or when the guests have ended.
unsafe impl<M: Machine> Sync for Tally<M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Send for Tally<M> {}

impl<M: Machine> Tally<M> {
    fn new() -> Shared<M, Self> {
        let each = core::array::from_fn(|_| M::Atomic::new(0));
        share(Tally { each, wrong: M::Atomic::new(0), guarded: M::Slot::new(0) })
    }

    /// Relaxed, here and below: the end of the region orders them.
    fn count(&self, at: usize) {
        self.each[at].fetch_add(1, Relaxed);
    }

    fn expect(&self, holds: bool) {
        self.wrong.fetch_add(u32::from(!holds), Relaxed);
    }

    fn counts(&self, to: usize) -> Vec<u32> {
        self.each[..to].iter().map(|one| one.load(Relaxed)).collect()
    }
}

/// What the first guest does, with so many threads.
type Program<M> = fn(&Runtime<M>, u32, &Tally<M>);

/// Runs `program` in the first guest, with a runtime whose threads are the others; then `check` looks at what was counted.
fn run<W: World>(threads: usize, wait: Wait, program: Program<W::M>, check: fn(&Tally<W::M>, usize)) {
    W::run(move || {
        let tally = Tally::<W::M>::new();
        let crew = Crew::<W::M>::new(threads as u32 - 1, threads as u32, wait);
        let waits = Some(Waits::all(wait));
        let settings = Settings { waits, ..Settings::new(threads as u32) };
        let runtime = Arc::new(Runtime::<W::M>::new(settings, Box::new(crew.clone())));
        let (counted, all) = (tally.clone(), crew.clone());
        let first = move || {
            program(&runtime, threads as u32, &counted);
            runtime.release();
            all.dismiss();
        };
        let other = move |seat: usize| {
            let crew = crew.clone();
            move || crew.serve(seat as u32)
        };
        Scenario::new().guest(first).guests(threads - 1, other).finally(move || {
            assert_eq!(tally.wrong.load(Relaxed), 0, "something was not as it must be");
            check(&tally, threads);
        })
    });
}

fn everywhere<W: World>(program: Program<W::M>, check: fn(&Tally<W::M>, usize)) {
    for threads in [2, 5] {
        W::WAITS.iter().for_each(|&wait| run::<W>(threads, wait, program, check));
    }
}

/// Each thread of a team runs the region once, behind the barrier it sees what all did before it, and smaller teams follow.
pub fn regions<W: World>() {
    everywhere::<W>(
        |runtime, threads, tally| {
            for size in [threads, 1, 2, threads] {
                runtime.region(size, |context| {
                    tally.count(context.id as usize);
                    tally.count(MANY - 1);
                    context.barrier(Why::Barrier);
                    let all = tally.each[MANY - 1].load(Relaxed);
                    tally.expect(all == size && context.team().size == size);
                });
                tally.each[MANY - 1].store(0, Relaxed);
            }
        },
        |tally, threads| {
            let expected: Vec<u32> = (0..threads).map(|id| [4, 3, 2][id.min(2)]).collect();
            assert_eq!(tally.counts(threads), expected, "threads of the regions");
        },
    );
}

/// One thread at a time is in a critical section.
pub fn critical<W: World>() {
    everywhere::<W>(
        |runtime, threads, tally| {
            let section: Box<dyn AnyLock<W::M>> = lock(&runtime.settings.lock).expect("a lock of the settings");
            runtime.region(threads, |context| {
                let wait = context.waits().of(Why::Lock);
                for _ in 0..10 {
                    section.lock(wait);
                    // SAFETY: the lock is held; that no other thread accesses the slot meanwhile is what is tested.
                    unsafe { tally.guarded.write(|count| *count += 1) };
                    // SAFETY: locked above, with the same policy.
                    unsafe { section.unlock(wait) };
                }
            });
        },
        |tally, threads| {
            // SAFETY: the guests have ended.
            let count = unsafe { tally.guarded.read(|count| *count) };
            assert_eq!(count as usize, 10 * threads, "critical sections lost");
        },
    );
}

fn each_chunk<M: Machine>(context: &Context<M>, schedule: Schedule, mut body: impl FnMut(usize)) {
    let space = Space::signed(0, MANY as i64, 1);
    context.enter(|| Work { space, schedule, ..Work::default() });
    while let Some((from, to)) = context.next_chunk() {
        (from..to).for_each(|at| body(at as usize));
    }
    context.leave();
}

/// Each iteration of a loop runs once, under every schedule; so does each single, in one thread.
pub fn loops<W: World>() {
    everywhere::<W>(
        |runtime, threads, tally| {
            runtime.region(threads, |context| {
                for kind in [ScheduleKind::Static, ScheduleKind::Dynamic, ScheduleKind::Guided] {
                    each_chunk(context, Schedule { kind, chunk: 3, monotonic: false }, |at| tally.count(at));
                }
                if context.single() {
                    (0..MANY).for_each(|at| tally.count(at));
                }
            });
        },
        |tally, _| assert_eq!(tally.counts(MANY), [4; MANY], "iterations"),
    );
}

/// Each task runs once, before its creator's wait for it ends or before the barrier does.
pub fn tasks<W: World>() {
    everywhere::<W>(
        |runtime, threads, tally| {
            runtime.region(threads, |context| {
                if context.id == 0 {
                    for at in 0..MANY / 2 {
                        // SAFETY: what the tasks borrow outlives the region.
                        unsafe { context.task(move || tally.count(at)) };
                    }
                    context.taskwait();
                    (0..MANY / 2).for_each(|at| tally.expect(tally.each[at].load(Relaxed) == 1));
                    for at in MANY / 2..MANY {
                        // SAFETY: as above.
                        unsafe { context.task(move || tally.count(at)) };
                    }
                }
                context.barrier(Why::Barrier);
                (0..MANY).for_each(|at| tally.expect(tally.each[at].load(Relaxed) == 1));
            });
        },
        |tally, _| assert_eq!(tally.counts(MANY), [1; MANY], "tasks"),
    );
}
