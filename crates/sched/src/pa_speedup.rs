//! Parallelism and speed-up: uses the classes of [`pa`](crate::pa), and within SP and MP prefers
//! the threads that gain most from a fast core.
//!
//! The speed-ups were measured beforehand ([`Born::speedup`](crate::Born)); a thread without one
//! gains nothing. In MP, threads with equal speed-ups take turns, so that without any speed-ups
//! this policy equals `pa`.

use crate::pa::Pa;
use crate::placement::{Adapter, Answer, Board, Event, Placement, Rank, Ranked, Rule};
use crate::{Cpus, Params, Policy, ThreadId};

/// The policy's row in the registry.
pub const POLICY: Policy = Policy {
    name: "pa-speedup",
    what: "as pa, and of threads in one class those with the highest known speed-ups first",
    source: "PA: Saez and others, CF 2010; ranked by speed-up within a class as by Static-IPC-Driven",
    make: |cpus, params| Adapter::boxed(cpus, params, placement(cpus, params)),
};

struct BySpeedup(Pa);

impl Rule for BySpeedup {
    fn rank(&self, board: &Board, id: ThreadId) -> Rank {
        let rank = self.0.rank(board, id);
        // A thread of a highly parallel application, or one that spins, gains nothing for its
        // application.
        let gains = if rank.class >= Pa::MP { board.thread(id).speedup } else { 0 };
        Rank { class: rank.class << 32 | u64::from(gains), ..rank }
    }

    fn hears(&mut self, now: u64, board: &Board, event: &Event, answers: &mut Vec<Answer>) {
        self.0.hears(now, board, event, answers);
    }

    fn due(&self) -> u64 {
        self.0.due()
    }
}

/// Makes the placement without run queues.
pub fn placement(cpus: &Cpus, params: &Params) -> Box<dyn Placement> {
    Box::new(Ranked::new(Board::new(cpus, params), BySpeedup(Pa::new())))
}
