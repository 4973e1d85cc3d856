//! Orders of locks that could deadlock.

use super::standstill::Scene;
use crate::model::{LockOrder, OrderStep, Standstill};
use baton_trace::Trace;
use baton_trace::analysis::{Analysis, Order, Orders};
use std::collections::BTreeSet;

/// The circles of lock orders. `still` is the standstill of the run, in which one of the circles
/// may have deadlocked.
pub(super) fn orders(
    scene: &mut Scene<'_, '_>,
    analysis: &Analysis,
    found: &Orders,
    still: Option<&Standstill>,
) -> Vec<LockOrder> {
    let deadlocks = deadlocks(still);
    let mut orders = Vec::new();
    for circle in &found.circles {
        let steps: Option<Vec<OrderStep>> = circle.iter().map(|order| step(scene, order)).collect();
        let Some(steps) = steps else { continue };
        let locks: BTreeSet<u32> = steps.iter().map(|step| step.held).collect();
        let doubts = doubts(scene.trace(), analysis, &locks);
        orders.push(LockOrder { happened: deadlocks.contains(&locks), steps, doubts });
    }
    orders
}

fn step(scene: &mut Scene<'_, '_>, order: &Order) -> Option<OrderStep> {
    Some(OrderStep {
        thread: order.thread.0,
        held: scene.lock(order.held)?,
        held_at: scene.place(order.thread, order.held_at),
        wanted: scene.lock(order.wanted)?,
        wanted_at: scene.place(order.thread, order.wanted_at),
        times: order.times,
    })
}

/// The locks of each circle in which threads deadlocked.
fn deadlocks(still: Option<&Standstill>) -> Vec<BTreeSet<u32>> {
    let Some(still) = still else { return Vec::new() };
    let locks = |circle: &Vec<u32>| circle.iter().filter_map(|n| still.threads.get(*n as usize)?.lock).collect();
    still.circles.iter().map(locks).collect()
}

/// The doubts about a circle. Memory that held a lock may hold another lock later; only a call that
/// initialises a lock shows that.
fn doubts(trace: &Trace, analysis: &Analysis, locks: &BTreeSet<u32>) -> Vec<String> {
    let unknown = |lock: &u32| {
        let Some(object) = analysis.locks.get(*lock as usize).map(|lock| &lock.object) else { return false };
        let global = trace.module(object.process, object.address, object.born).is_some();
        object.init_site.is_none() && object.name.is_none() && !global
    };
    let doubt = "a lock in memory of the heap or a stack was never initialised by a call: the memory may have held different \
                 locks at different times";
    if locks.iter().any(unknown) { vec![doubt.to_owned()] } else { Vec::new() }
}
