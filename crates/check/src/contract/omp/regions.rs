//! A whole runtime: regions, critical sections, loops, many tasks.

use super::harness::{Steps, everywhere, many, under_each_queue};
use crate::world::World;
use baton_machine::Machine;
use baton_omp::objects::{AnyLock, lock};
use baton_omp::share::Work;
use baton_omp::team::Context;
use baton_omp::waits::Why;
use baton_omp::{Schedule, ScheduleKind, Space};

/// Each thread of a team runs the region once and sees, behind the barrier, what all did before it;
/// smaller teams follow.
pub fn regions<W: World>() {
    everywhere::<W>(
        Steps::Few,
        |runtime, threads, tally| {
            let all = threads as usize;
            for size in [threads, 1, 2, threads] {
                runtime.region(size, |context| {
                    tally.count(context.id as usize);
                    tally.count(all);
                    context.barrier(Why::Barrier);
                    tally.expect(tally.counted(all) == size && context.team().size == size);
                });
                tally.forget(all);
            }
        },
        |tally, threads| {
            let expected: Vec<u32> = (0..threads).map(|id| [4, 3, 2][id.min(2)]).collect();
            assert_eq!(tally.counts(threads), expected, "threads of the regions");
        },
    );
}

/// A region's threads see what was done before the region, and the code after the region sees what
/// they did. The code after the runtime's workers have ended sees it too.
pub fn fork_and_join<W: World>() {
    everywhere::<W>(
        Steps::Few,
        |runtime, threads, tally| {
            tally.note(threads as usize, 7);
            runtime.region(threads, |context| {
                tally.expect(tally.noted(threads as usize) == 7);
                tally.note(context.id as usize, 1);
            });
            (0..threads as usize).for_each(|id| tally.expect(tally.noted(id) == 1));
        },
        |_, _| {},
    );
}

/// Only one thread at a time is in a critical section.
pub fn critical<W: World>() {
    everywhere::<W>(
        Steps::Few,
        |runtime, threads, tally| {
            let section: Box<dyn AnyLock<W::M>> = lock(&runtime.settings.lock).expect("a lock of the settings");
            runtime.region(threads, |context| {
                let wait = context.waits().of(Why::Lock);
                for _ in 0..many::<W>() / 4 {
                    section.lock(wait);
                    tally.note(0, tally.noted(0) + 1);
                    // SAFETY: this thread took the lock above, with the same policy.
                    unsafe { section.unlock(wait) };
                }
            });
        },
        |tally, threads| assert_eq!(tally.noted(0), many::<W>() / 4 * threads, "critical sections lost"),
    );
}

fn each_chunk<M: Machine>(context: &Context<M>, count: usize, schedule: Schedule, mut body: impl FnMut(usize)) {
    let space = Space::signed(0, count as i64, 1);
    context.enter(|| Work { space, schedule, ..Work::default() });
    while let Some((from, to)) = context.next_chunk() {
        (from..to).for_each(|at| body(at as usize));
    }
    context.leave();
}

/// Each iteration of a loop runs once under every schedule, and each `single` runs once in one
/// thread.
pub fn loops<W: World>() {
    everywhere::<W>(
        Steps::VeryMany,
        |runtime, threads, tally| {
            runtime.region(threads, |context| {
                for kind in [ScheduleKind::Static, ScheduleKind::Dynamic, ScheduleKind::Guided] {
                    let schedule = Schedule { kind, chunk: 3, monotonic: false };
                    each_chunk(context, many::<W>(), schedule, |at| tally.count(at));
                }
                if context.single() {
                    (0..many::<W>()).for_each(|at| tally.count(at));
                }
            });
        },
        |tally, _| assert_eq!(tally.counts(many::<W>()), vec![4; many::<W>()], "iterations"),
    );
}

/// Each thread adds up its iterations of a loop, and behind the barrier the first thread adds up
/// the sums of all.
pub fn reduction<W: World>() {
    everywhere::<W>(
        Steps::Many,
        |runtime, threads, tally| {
            let count = many::<W>();
            runtime.region(threads, |context| {
                let mut sum = 0;
                let schedule = Schedule { kind: ScheduleKind::Dynamic, chunk: 1, monotonic: false };
                each_chunk(context, count, schedule, |at| sum += at);
                tally.note(context.id as usize, sum);
                context.barrier(Why::Barrier);
                if context.id == 0 {
                    let all: usize = (0..threads as usize).map(|id| tally.noted(id)).sum();
                    tally.expect(all == count * (count - 1) / 2);
                }
            });
        },
        |_, _| {},
    );
}

/// Each task runs once, and ends before its creator's wait or the barrier ends.
pub fn tasks<W: World>() {
    under_each_queue::<W>(
        Steps::VeryMany,
        |runtime, threads, tally| {
            let all = many::<W>();
            runtime.region(threads, |context| {
                if context.id == 0 {
                    for at in 0..all / 2 {
                        // SAFETY: what the tasks borrow outlives the region.
                        unsafe { context.task(move || tally.count(at)) };
                    }
                    context.taskwait();
                    (0..all / 2).for_each(|at| tally.expect(tally.counted(at) == 1));
                    for at in all / 2..all {
                        // SAFETY: what the tasks borrow outlives the region.
                        unsafe { context.task(move || tally.count(at)) };
                    }
                }
                context.barrier(Why::Barrier);
                (0..all).for_each(|at| tally.expect(tally.counted(at) == 1));
            });
        },
        |tally, _| assert_eq!(tally.counts(many::<W>()), vec![1; many::<W>()], "tasks"),
    );
}
