//! Threads that each count in a word of their own: words side by side in one line move together
//! (false sharing), words further apart do not.

use crate::timing::{Figure, Spans, WORDS, blocks};
use crate::{Knobs, Probe, Refused, Team, Workload, WorkloadInfo, expect};
use baton_machine::{Atomic, Machine, Ordering::Relaxed, Wait};

/// The settings of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Number of threads.
    pub threads: u32,
    /// Bytes from one thread's word to the next thread's word: with 8 the words are side by side.
    pub spacing: usize,
    /// Number of additions of each thread.
    pub iterations: u64,
}

impl Sharing {
    /// The threads. The check: every word counted the additions of its thread.
    pub fn team<M: Machine>(self) -> Team {
        let words = (self.spacing / 8).max(1);
        let place = move |thread: u32| (thread as usize * words / WORDS, thread as usize * words % WORDS);
        let counters = blocks::<M>(place(self.threads).0 + 1, |_| 0);
        let spans = Spans::<M>::new(self.threads);
        let body = |thread: u32| {
            let (counters, spans) = (counters.clone(), spans.clone());
            Box::new(move || {
                let (block, word) = place(thread);
                let mine = &counters[block].0[word];
                spans.time(thread, || {
                    for _ in 0..self.iterations {
                        // No other thread writes the word: a load and a store do, as for a thread's
                        // own statistics.
                        mine.store(mine.load(Relaxed) + 1, Relaxed);
                    }
                });
            }) as crate::Body
        };
        let bodies = (0..self.threads).map(body).collect();
        let (threads, iterations) = (self.threads, self.iterations);
        Team {
            bodies,
            verify: Box::new(move || {
                (0..threads).try_for_each(|thread| {
                    let (block, word) = place(thread);
                    expect("additions of a thread", counters[block].0[word].load(Relaxed), iterations)
                })
            }),
            figures: Box::new(move || {
                let value = spans.whole().0 as f64 / iterations.max(1) as f64;
                vec![Figure { name: "nanoseconds_an_addition", value }]
            }),
        }
    }
}

impl Workload for Sharing {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "false-sharing",
        what: "Each thread counts in a word of its own, --spacing bytes from the next",
        figure: "measured.cycles_an_addition",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Sharing, Refused> {
        let (threads, iterations) = (knobs.threads_or_two(), knobs.iterations_or(1000));
        Ok(Sharing { threads, spacing: knobs.spacing, iterations })
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn team<M: Machine, P: Probe>(&self, _: Wait, _: P) -> Result<Team, Refused> {
        Ok(Sharing::team::<M>(*self))
    }

    fn bytes(&self) -> usize {
        self.spacing.saturating_mul(self.threads as usize)
    }
}
