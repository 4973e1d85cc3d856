//! Two threads that hand a line to and fro: the shortest way to measure what a transfer costs.

use crate::{Knobs, Probe, Refused, Team, Workload, WorkloadInfo, expect, share};
use baton_machine::{Atomic, Machine, Ordering, Wait};

/// The word that goes to and fro, on a pair of lines of its own.
#[repr(C, align(128))]
struct Ball<M: Machine>(M::Atomic<u64>);

/// The settings of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingPong {
    /// How often the ball goes over and comes back.
    pub iterations: u64,
}

impl PingPong {
    /// The two threads. The check: the ball was passed as often as asked.
    pub fn team<M: Machine>(self, wait: Wait) -> Team {
        let ball = share::<M, _>(Ball::<M>(M::Atomic::new(0)));
        let body = |thread: u64| {
            let ball = ball.clone();
            Box::new(move || {
                for turn in 0..self.iterations {
                    let mine = 2 * turn + thread;
                    loop {
                        let seen = ball.0.load(Ordering::Acquire);
                        if seen == mine {
                            break;
                        }
                        let _ = M::wait_while(&ball.0, seen, wait, None);
                    }
                    // Release: the other thread sees what this thread wrote before.
                    ball.0.store(mine + 1, Ordering::Release);
                    M::wake::<u64>(&ball.0, 1, wait);
                }
            }) as crate::Body
        };
        let bodies = (0..2).map(body).collect();
        let verify =
            Box::new(move || expect("passes", ball.0.load(Ordering::Acquire), self.iterations.saturating_mul(2)));
        Team::new(bodies, verify)
    }
}

impl Workload for PingPong {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "pingpong",
        what: "Two threads hand a line to and fro",
        figure: "cycles",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<PingPong, Refused> {
        match knobs.threads_or_two() {
            2 => Ok(PingPong { iterations: knobs.iterations_or(1000) }),
            threads => Err(Refused::because(format!("pingpong is for 2 threads, not {threads}"))),
        }
    }

    fn threads(&self) -> u32 {
        2
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        Ok(PingPong::team::<M>(*self, wait))
    }
}
