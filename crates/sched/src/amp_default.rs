//! Asymmetry-agnostic: the baseline of chips with fast and slow cores, after the dispatcher of
//! OpenSolaris.
//!
//! The placement moves no thread. The adapter's run queues, which follow `uts/common/disp/disp.c`,
//! do everything. A thread goes back to the CPU whose caches are warm for it (`setbackdq`,
//! `cpu_choose`), to an idle CPU nearby if that one is busy, and to a shorter queue if its own is
//! longer by two or more (`RUNQ_MAX_DIFF`). An idle CPU takes waiting threads from others
//! (`disp_getwork`). The dispatcher's priorities are left out, because threads that compute all the
//! time have the same one.

use crate::placement::{Adapter, Answer, Event, Placement};
use crate::{Cpus, Params, Policy};
use baton_units::Cycles;

/// The policy's row in the registry.
pub const POLICY: Policy = Policy {
    name: "amp-default",
    what: "asymmetry-agnostic: threads return to warm caches, idle CPUs steal, queues are levelled",
    source: "OpenSolaris' dispatcher, without priorities: \"Default\" of Saez and others, CF 2010",
    make: |cpus, params| Adapter::boxed(cpus, params, placement(cpus, params)),
};

/// A placement that moves no thread.
struct Agnostic;

impl Placement for Agnostic {
    fn hears(&mut self, _: Cycles, _: &Event, _: &mut Vec<Answer>) {}
}

/// Makes the placement without run queues.
pub fn placement(_: &Cpus, _: &Params) -> Box<dyn Placement> {
    Box::new(Agnostic)
}
