//! The threads that gain most by a fast core get them: by speed-ups that were measured beforehand ([`Born::speedup`](crate::Born)).
//! A thread of which none is known gains nothing. What threads say of themselves has no part in it.

use crate::placement::{Adapter, Board, Placement, Rank, Ranked, Rule};
use crate::{Cpus, Params, Policy, ThreadId};

/// Its row in the registry.
pub const POLICY: Policy = Policy {
    name: "static-ipc",
    what: "the threads with the highest known speed-ups get the fast cores",
    source: "Static-IPC-Driven: Becchi and Crowley, CF 2006, with ratios measured beforehand, as in Saez and others, CF 2010",
    make: |cpus, params| Adapter::boxed(cpus, params, placement(cpus, params)),
};

struct BySpeedup;

impl Rule for BySpeedup {
    fn rank(&self, board: &Board, id: ThreadId) -> Rank {
        Rank::plain(u64::from(board.thread(id).speedup))
    }
}

/// The placement alone.
pub fn placement(cpus: &Cpus, params: &Params) -> Box<dyn Placement> {
    Box::new(Ranked::new(Board::new(cpus, params), BySpeedup))
}
