//! The threads that gain most from a fast core get one, by speed-ups that were measured beforehand
//! ([`Born::speedup`](crate::Born)). A thread without a known speed-up gains nothing. What threads
//! report about themselves does not change their ranks, but an idle fast core takes no spinning
//! thread from a slow one.

use crate::placement::{Adapter, Board, Placement, Rank, Ranked, Rule};
use crate::{Cpus, Params, Policy, ThreadId};

/// The policy's row in the registry.
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

/// Makes the placement without run queues.
pub fn placement(cpus: &Cpus, params: &Params) -> Box<dyn Placement> {
    Box::new(Ranked::new(Board::new(cpus, params), BySpeedup))
}
