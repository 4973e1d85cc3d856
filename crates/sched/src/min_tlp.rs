//! The applications with the fewest runnable threads get the fast cores (MinTLP). Threads with
//! equal rights stay where they are: the policy does not share fast cores fairly.
//!
//! A thread that has reported that it spins comes last, and a master has the priority that the
//! parameter `master` says, like under [`pa`](crate::pa).

use crate::placement::{Adapter, Board, Master, Placement, Rank, Ranked, Rule};
use crate::{Cpus, Params, Policy, ThreadId};

/// The policy's row in the registry.
pub const POLICY: Policy = Policy {
    name: "min-tlp",
    what: "applications with the fewest runnable threads get the fast cores, by periodic swaps",
    source: "MinTLP: Saez and others, CF 2010, section 2.1",
    make: |cpus, params| Adapter::boxed(cpus, params, placement(cpus, params)),
};

struct MinTlp;

impl Rule for MinTlp {
    fn rank(&self, board: &Board, id: ThreadId) -> Rank {
        let app = board.app_of(id);
        let fewest = 1 + u64::from(u32::MAX - board.counted(app));
        Rank::plain(match board.amp.master {
            _ if board.thread(id).marked => 0,
            Master::Sp | Master::First if app.master == Some(id) => u64::MAX,
            // The master comes before the other threads of applications with equally many runnable
            // threads.
            Master::Mp if app.master == Some(id) => 2 * fewest + 1,
            _ => 2 * fewest,
        })
    }
}

/// Makes the placement without run queues.
pub fn placement(cpus: &Cpus, params: &Params) -> Box<dyn Placement> {
    Box::new(Ranked::new(Board::new(cpus, params), MinTlp))
}
