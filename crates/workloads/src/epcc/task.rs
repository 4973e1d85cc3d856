//! Taskbench. In some measurements all threads make tasks: a task, a nested pair or a tree in each
//! iteration. In others one thread makes the tasks of all.

use super::bench::{Bench, Construct, Group, in_region};
use crate::WorkloadInfo;
use baton_machine::Machine;
use baton_omp::team::Context;
use baton_omp::waits::Why;

/// The group of task measurements.
#[derive(Clone)]
pub struct Taskbench;

/// Depth of a tree of tasks, in which each task makes two tasks.
const DEPTH: u32 = 6;

/// Number of tasks in a tree.
const BRANCHES: u64 = (2 << DEPTH) - 2;

/// Number of tasks on the last level of a tree.
const LEAVES: u64 = 1 << DEPTH;

/// Makes a tree of tasks of which each computes a delay.
fn branches<M: Machine>(bench: &Bench<M>, depth: u32) {
    for _ in 0..if depth == 0 { 0 } else { 2 } {
        bench.task(bench.here(), move || {
            branches(bench, depth - 1);
            bench.delay();
        });
    }
}

/// Makes a tree of tasks of which only those on the last level compute a delay.
fn leaves<M: Machine>(bench: &Bench<M>, depth: u32) {
    if depth == 0 {
        return bench.delay();
    }
    (0..2).for_each(|_| bench.task(bench.here(), move || leaves(bench, depth - 1)));
}

/// Makes a task that makes another task and waits for it.
fn nested<M: Machine>(bench: &Bench<M>, context: &Context<M>) {
    bench.task(context, || {
        let within = bench.here();
        bench.task(within, || bench.delay());
        within.taskwait();
    });
}

/// A measurement in which each thread makes one task in each iteration.
pub(super) fn parallel_task<M: Machine>() -> Construct<M> {
    in_region(
        "nanoseconds_of_parallel_task",
        |threads| threads,
        |bench, context| {
            (0..bench.iterations).for_each(|_| bench.task(context, || bench.delay()));
        },
    )
}

/// A measurement in which the first thread makes the tasks of all threads.
pub(super) fn master_task<M: Machine>() -> Construct<M> {
    in_region(
        "nanoseconds_of_master_task",
        |threads| threads,
        |bench, context| {
            if context.id == 0 {
                let all = bench.iterations * u64::from(context.team().size);
                (0..all).for_each(|_| bench.task(context, || bench.delay()));
            }
        },
    )
}

impl Group for Taskbench {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "epcc-task",
        what: "What OpenMP's tasks cost on Baton's runtime",
        figure: "measured.nanoseconds_of_parallel_task",
        has_locks: false,
    };

    fn constructs<M: Machine>() -> Vec<Construct<M>> {
        let all = |threads| threads;
        let each = |figure, body| in_region(figure, all, body);
        vec![
            parallel_task(),
            master_task(),
            each("nanoseconds_of_master_task_with_busy_others", |bench, context| {
                for _ in 0..bench.iterations {
                    if context.id == 0 {
                        bench.task(context, || bench.delay());
                    } else {
                        bench.delay();
                    }
                }
            }),
            each("nanoseconds_of_conditional_task", |bench, context| {
                (0..bench.iterations).for_each(|_| context.run_at_once(false, || bench.delay()));
            }),
            each("nanoseconds_of_task_and_taskwait", |bench, context| {
                for _ in 0..bench.iterations {
                    bench.task(context, || bench.delay());
                    context.taskwait();
                }
            }),
            each("nanoseconds_of_task_and_barrier", |bench, context| {
                for _ in 0..bench.iterations {
                    bench.task(context, || bench.delay());
                    context.barrier(Why::Barrier);
                }
            }),
            each("nanoseconds_of_nested_task", |bench, context| {
                (0..bench.iterations).for_each(|_| nested(bench, context));
            }),
            each("nanoseconds_of_nested_master_task", |bench, context| {
                if context.id == 0 {
                    let all = bench.iterations * u64::from(context.team().size);
                    (0..all).for_each(|_| nested(bench, context));
                }
            }),
            Construct {
                alone: BRANCHES,
                ..in_region(
                    "nanoseconds_of_branch_task_tree",
                    |threads| BRANCHES * threads,
                    |bench, _| (0..bench.iterations).for_each(|_| branches(bench, DEPTH)),
                )
            },
            Construct {
                alone: LEAVES,
                ..in_region(
                    "nanoseconds_of_leaf_task_tree",
                    |threads| LEAVES * threads,
                    |bench, _| (0..bench.iterations).for_each(|_| leaves(bench, DEPTH)),
                )
            },
        ]
    }
}
