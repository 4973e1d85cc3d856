//! One word that all threads add to: measures how many requests a second one line serves.

use crate::timing::{Figure, Spans};
use crate::{Knobs, Probe, Refused, Team, Think, Workload, WorkloadInfo, expect, share};
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Ordering::Relaxed, Wait};

/// The word, on a pair of lines of its own.
#[repr(C, align(128))]
struct Word<M: Machine>(M::Atomic<u64>);

/// The settings of the workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hot {
    /// Number of threads.
    pub threads: u32,
    /// Mean number of cycles computed between additions.
    pub think: Cycles,
    /// Largest deviation of a computation from `think`, as a share of `think`.
    pub spread: f64,
    /// Number of additions of each thread.
    pub iterations: u64,
}

impl Hot {
    /// The threads. The check: the word counted every addition.
    pub fn team<M: Machine>(self) -> Team {
        let word = share::<M, Word<M>>(Word(M::Atomic::new(0)));
        let spans = Spans::<M>::new(self.threads);
        let body = |thread: u32| {
            let (word, spans) = (word.clone(), spans.clone());
            let mut think = Think::new(self.think, self.spread, u64::from(thread));
            Box::new(move || {
                spans.time(thread, || {
                    for _ in 0..self.iterations {
                        if self.think.0 != 0 {
                            M::work(think.draw());
                        }
                        word.0.fetch_add(1, Relaxed);
                    }
                });
            }) as crate::Body
        };
        let bodies = (0..self.threads).map(body).collect();
        let expected = u64::from(self.threads).saturating_mul(self.iterations);
        Team {
            bodies,
            verify: Box::new(move || expect("additions", word.0.load(Relaxed), expected)),
            figures: Box::new(move || {
                vec![Figure { name: "additions_a_nanosecond", value: expected as f64 / spans.whole().0.max(1) as f64 }]
            }),
        }
    }
}

impl Workload for Hot {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "hot-line",
        what: "One word that all add to",
        figure: "measured.additions_a_kilocycle",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Hot, Refused> {
        let (think, spread, iterations) = (Cycles(knobs.think), knobs.spread, knobs.iterations_or(1000));
        Ok(Hot { threads: knobs.threads_or_two(), think, spread, iterations })
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn team<M: Machine, P: Probe>(&self, _: Wait, _: P) -> Result<Team, Refused> {
        Ok(Hot::team::<M>(*self))
    }
}
