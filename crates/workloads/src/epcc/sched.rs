//! Schedbench: loops of 128 iterations a thread under each schedule.

use super::bench::{Bench, Construct, Group, in_region};
use crate::WorkloadInfo;
use baton_machine::Machine;
use baton_omp::ScheduleKind::{self, Dynamic, Guided, Static};
use baton_omp::team::Context;
use baton_omp::waits::Why;

/// The group of schedule measurements.
#[derive(Clone)]
pub struct Schedbench;

/// Iterations of the loop for each thread.
const EACH: u64 = 128;

fn of<M: Machine>(figure: &'static str, body: fn(&Bench<M>, &Context<M>)) -> Construct<M> {
    Construct { alone: EACH, ..in_region(figure, |threads| EACH * threads, body) }
}

/// Runs a loop, with a barrier at its end, once for each iteration of the measurement. A chunk of 0
/// divides the iterations once among the threads.
fn loops<M: Machine>(bench: &Bench<M>, context: &Context<M>, kind: ScheduleKind, chunk: u64) {
    for _ in 0..bench.iterations {
        bench.share_out(context, EACH, kind, chunk, false);
        while let Some((from, to)) = context.next_chunk() {
            (from..to).for_each(|_| bench.delay());
        }
        context.leave();
        context.barrier(Why::Barrier);
    }
}

impl Group for Schedbench {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "epcc-sched",
        what: "What OpenMP's schedules cost on Baton's runtime: loops of 128 iterations a thread",
        figure: "measured.nanoseconds_of_dynamic_1",
        has_locks: false,
    };

    fn constructs<M: Machine>() -> Vec<Construct<M>> {
        vec![
            of("nanoseconds_of_static", |bench, context| loops(bench, context, Static, 0)),
            of("nanoseconds_of_static_1", |bench, context| loops(bench, context, Static, 1)),
            of("nanoseconds_of_static_8", |bench, context| loops(bench, context, Static, 8)),
            of("nanoseconds_of_static_64", |bench, context| loops(bench, context, Static, 64)),
            of("nanoseconds_of_dynamic_1", |bench, context| loops(bench, context, Dynamic, 1)),
            of("nanoseconds_of_dynamic_8", |bench, context| loops(bench, context, Dynamic, 8)),
            of("nanoseconds_of_dynamic_64", |bench, context| loops(bench, context, Dynamic, 64)),
            of("nanoseconds_of_guided_1", |bench, context| loops(bench, context, Guided, 1)),
            of("nanoseconds_of_guided_8", |bench, context| loops(bench, context, Guided, 8)),
            of("nanoseconds_of_guided_64", |bench, context| loops(bench, context, Guided, 64)),
        ]
    }
}
