//! Linux on chips whose CPUs differ: capacities, misfit threads and asymmetric packing, without
//! energy. The kernel knows how much of a CPU each thread uses, but nothing of applications,
//! phases, locks or turns. A thread on a slow CPU waits until a fast one is idle.
//!
//! `docs/reference/asymmetric.md` lists what is left out.

use crate::placement::{Adapter, Board, Capacity, Placement};
use crate::{Cpus, Params, Policy};

/// The policy's row in the registry.
pub const POLICY: Policy = Policy {
    name: "linux",
    what: "by capacities and utilisation: an idle fast core takes a thread that is too busy for its slow one",
    source: "Linux 6: Documentation/scheduler/sched-capacity.rst; kernel/sched/fair.c and pelt.c (misfit, asymmetric packing)",
    make: |cpus, params| Adapter::boxed(cpus, params, placement(cpus, params)),
};

/// Makes the placement without run queues.
pub fn placement(cpus: &Cpus, params: &Params) -> Box<dyn Placement> {
    Box::new(Capacity::new(Board::new(cpus, params)))
}
