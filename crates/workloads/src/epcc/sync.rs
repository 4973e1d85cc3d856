//! Syncbench: constructs at which threads meet, and the first measurements of the other groups that
//! a reader would ask for.

use super::bench::{Construct, Group, in_region, one_at_a_time, region_each};
use super::task;
use crate::WorkloadInfo;
use baton_machine::Machine;
use baton_omp::ScheduleKind;
use baton_omp::waits::Why;

/// The group of synchronization measurements.
#[derive(Clone)]
pub struct Syncbench;

impl Group for Syncbench {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "epcc",
        what: "What OpenMP's constructs cost on Baton's runtime, by EPCC's reference-time method",
        figure: "measured.nanoseconds_of_barrier",
        has_locks: false,
    };

    fn constructs<M: Machine>() -> Vec<Construct<M>> {
        let all = |threads| threads;
        vec![
            region_each("nanoseconds_of_parallel", |bench, _| bench.delay()),
            region_each("nanoseconds_of_parallel_for", |bench, context| bench.own_iteration(context)),
            region_each("nanoseconds_of_reduction", |bench, _| {
                bench.delay();
                bench.update(|sum| sum + 1.0);
            }),
            in_region("nanoseconds_of_for", all, |bench, context| {
                for _ in 0..bench.iterations {
                    bench.own_iteration(context);
                    context.barrier(Why::Barrier);
                }
            }),
            in_region("nanoseconds_of_barrier", all, |bench, context| {
                for _ in 0..bench.iterations {
                    bench.delay();
                    context.barrier(Why::Barrier);
                }
            }),
            in_region(
                "nanoseconds_of_single",
                |_| 1,
                |bench, context| {
                    for _ in 0..bench.iterations {
                        if context.single() {
                            bench.delay();
                        }
                        context.barrier(Why::Barrier);
                    }
                },
            ),
            one_at_a_time("nanoseconds_of_critical", all, |bench, context| bench.in_turn(context)),
            Construct {
                alone: 0,
                ..one_at_a_time(
                    "nanoseconds_of_atomic",
                    |_| 0,
                    |bench, _| (0..bench.iterations).for_each(|_| bench.update(|value| value * 1.000_001)),
                )
            },
            one_at_a_time("nanoseconds_of_ordered", all, |bench, context| {
                bench.share_out(context, bench.iterations, ScheduleKind::Static, 1, true);
                // A team of one thread has all iterations in one chunk.
                while let Some((from, to)) = context.next_ordered_chunk() {
                    (from..to).for_each(|_| {
                        context.ordered();
                        bench.delay();
                    });
                }
                context.leave();
            }),
            task::parallel_task(),
            task::master_task(),
            in_region("nanoseconds_of_dynamic", all, |bench, context| {
                bench.share_out(context, bench.iterations, ScheduleKind::Dynamic, 1, false);
                while context.next_chunk().is_some() {
                    bench.delay();
                }
                context.leave();
            }),
        ]
    }
}
