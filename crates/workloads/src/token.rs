//! A lock that is a token in a queue: the thread that takes the token out is inside, and puts the
//! token back to leave.

use crate::lock::{Contention, Exclusion};
use crate::{Charge, Knobs, Probe, Refused, Team, Workload, WorkloadInfo};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Wait};
use baton_sync::queue::{self, QueueError, QueueInfo, QueueVisitor, RawQueue, Side};
use core::marker::PhantomData;

/// The token; its value says nothing.
const TOKEN: u64 = 1;

/// A queue for the token. Its capacity is 2, although one place would do.
struct Token<M: Machine, Q: RawQueue<M, Item = u64>>(Q, PhantomData<M>);

// SAFETY: there is one token, which the first thread puts in. A dequeue gives it to one thread,
// which alone can put it back, and what was done before an item was put into the queue happens
// before the item is taken out.
unsafe impl<M: Machine, Q: RawQueue<M, Item = u64>> Exclusion for Token<M, Q> {
    type Token = u64;

    fn open(&self, wait: Wait) {
        // SAFETY: the queue allows many threads on each side, which `TokenLock::choose` checks.
        unsafe { self.0.enqueue(TOKEN, wait) };
    }

    fn enter(&self, wait: Wait) -> u64 {
        // SAFETY: as above.
        unsafe { self.0.dequeue(wait) }
    }

    unsafe fn leave(&self, token: u64, wait: Wait) {
        // SAFETY: as above.
        unsafe { self.0.enqueue(token, wait) };
    }
}

/// Makes the team of [`Contention`] for a token in a queue of the registry.
#[derive(Clone, Copy)]
pub struct TokenLock {
    queue: &'static QueueInfo,
    contention: Contention,
}

struct Make<P>(Contention, Wait, P);
impl<M: Machine, P: Probe> QueueVisitor<M> for Make<P> {
    type Out = Result<Team, QueueError>;
    fn visit<Q: RawQueue<M, Item = u64>>(self) -> Self::Out {
        Ok(self.0.team_at::<M, _, P>(Token::<M, Q>(Q::with_capacity(2)?, PhantomData), self.1, self.2))
    }
}

impl Workload for TokenLock {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "token",
        what: "Think, take the token out of a queue, compute, put it back",
        figure: "lock.rate_per_kilocycle",
        has_locks: true,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<TokenLock, Refused> {
        let queue = knobs.queue()?;
        if queue.producers == Side::Single || queue.consumers == Side::Single {
            let needed = "every thread takes the token and puts it back: many producers and consumers";
            return Err(Refused::because(format!("{needed}, and queue `{}` has one on a side", queue.name)));
        }
        let contention = Contention {
            threads: knobs.threads_or_two(),
            critical: Cycles(knobs.critical),
            think: Cycles(knobs.think),
            spread: knobs.spread,
            lines: knobs.lines,
            iterations: knobs.iterations_or(1000),
        };
        Ok(TokenLock { queue, contention })
    }

    fn threads(&self) -> u32 {
        self.contention.threads
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, probe: P) -> Result<Team, Refused> {
        let made =
            queue::visit::<M, _>(self.queue.name, Make(self.contention, wait, probe)).map_err(Refused::because)?;
        made.map_err(|error| Refused::because(format!("queue `{}`: {error}", self.queue.name)))
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.queue.name)
    }

    fn charge(&self) -> Charge {
        Charge::Counted(self.queue.counted)
    }
}
