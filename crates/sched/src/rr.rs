//! Equal shares of fast and slow cores: in each round of swaps, the threads that were on a fast
//! core least recently get the fast cores.

use crate::placement::{Adapter, Board, Placement, Rank, Ranked, Rule};
use crate::{Cpus, Params, Policy, ThreadId};
use std::cmp::Reverse;

/// The policy's row in the registry.
pub const POLICY: Policy = Policy {
    name: "rr",
    what: "all threads take turns on the fast cores",
    source: "Round-Robin: Becchi and Crowley, CF 2006, as in Saez and others, CF 2010, section 2.3",
    make: |cpus, params| Adapter::boxed(cpus, params, placement(cpus, params)),
};

struct RoundRobin;

impl Rule for RoundRobin {
    fn rank(&self, board: &Board, id: ThreadId) -> Rank {
        Rank { class: 0, turn: Reverse(board.thread(id).was_fast) }
    }
}

/// Makes the placement without run queues.
pub fn placement(cpus: &Cpus, params: &Params) -> Box<dyn Placement> {
    Box::new(Ranked::new(Board::new(cpus, params), RoundRobin))
}
