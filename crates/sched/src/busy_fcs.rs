//! Keeps fast cores busy before slow ones: an idle fast core takes a waiting thread, or one that
//! runs on a slow core and has not reported that it spins.

use crate::placement::{Adapter, Board, Placement, Rank, Ranked, Rule};
use crate::{Cpus, Params, Policy, ThreadId};

/// The policy's row in the registry.
pub const POLICY: Policy = Policy {
    name: "busy-fcs",
    what: "an idle fast core takes a thread from a slow one; nothing else is moved",
    source: "BusyFCs: Balakrishnan and others, ISCA 2005, as in Saez and others, CF 2010, section 2.3",
    make: |cpus, params| Adapter::boxed(cpus, params, placement(cpus, params)),
};

struct BusyFcs;

impl Rule for BusyFcs {
    const SWAPS: bool = false;

    fn rank(&self, _: &Board, _: ThreadId) -> Rank {
        Rank::plain(0)
    }
}

/// Makes the placement without run queues.
pub fn placement(cpus: &Cpus, params: &Params) -> Box<dyn Placement> {
    Box::new(Ranked::new(Board::new(cpus, params), BusyFcs))
}
