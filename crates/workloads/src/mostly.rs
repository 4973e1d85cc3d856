//! Lines that all threads read and a small share of accesses writes: measures what reads cost where
//! a write invalidates all copies.

use crate::timing::{Figure, Spans, blocks};
use crate::{Knobs, Probe, Refused, Team, Think, Workload, WorkloadInfo, expect, share, xorshift};
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Ordering::Relaxed, Wait};

/// The settings of the workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mostly {
    /// Number of threads.
    pub threads: u32,
    /// Number of shared lines of 64 bytes.
    pub lines: u32,
    /// The reciprocal of the share of accesses that are writes; 0: no access is a write.
    pub one_write_in: u64,
    /// Mean number of cycles computed between accesses.
    pub think: Cycles,
    /// Largest deviation of a computation from `think`, as a share of `think`.
    pub spread: f64,
    /// Number of accesses of each thread.
    pub iterations: u64,
}

impl Mostly {
    /// The threads. The check: the lines counted every write.
    pub fn team<M: Machine>(self) -> Team {
        let lines = blocks::<M>(self.lines.max(1) as usize, |_| 0);
        let written = share::<M, M::Atomic<u64>>(M::Atomic::new(0));
        let spans = Spans::<M>::new(self.threads);
        let body = |thread: u32| {
            let (lines, written, spans) = (lines.clone(), written.clone(), spans.clone());
            let mut think = Think::new(self.think, self.spread, u64::from(thread));
            let mut state = (u64::from(thread) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Box::new(move || {
                let mut writes = 0;
                spans.time(thread, || {
                    for _ in 0..self.iterations {
                        if self.think.0 != 0 {
                            M::work(think.draw());
                        }
                        let chance = xorshift(&mut state);
                        let cell = &lines[(chance >> 32) as usize % lines.len()].0[0];
                        if self.one_write_in != 0 && (chance & 0xffff_ffff).is_multiple_of(self.one_write_in) {
                            cell.fetch_add(1, Relaxed);
                            writes += 1;
                        } else {
                            cell.load(Relaxed);
                        }
                    }
                });
                written.fetch_add(writes, Relaxed);
            }) as crate::Body
        };
        let bodies = (0..self.threads).map(body).collect();
        let iterations = self.iterations.max(1) as f64;
        Team {
            bodies,
            verify: Box::new(move || {
                let counted = lines.iter().map(|line| line.0[0].load(Relaxed)).sum();
                expect("writes that the lines counted", counted, written.load(Relaxed))
            }),
            figures: Box::new(move || {
                vec![Figure { name: "nanoseconds_an_access", value: spans.whole().0 as f64 / iterations }]
            }),
        }
    }
}

impl Workload for Mostly {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "read-mostly",
        what: "--lines that all read, and one access in --one-write-in writes",
        figure: "measured.cycles_an_access",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Mostly, Refused> {
        let (think, spread, iterations) = (Cycles(knobs.think), knobs.spread, knobs.iterations_or(1000));
        let (lines, one_write_in) = (knobs.lines.max(1), knobs.one_write_in);
        Ok(Mostly { threads: knobs.threads_or_two(), lines, one_write_in, think, spread, iterations })
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn team<M: Machine, P: Probe>(&self, _: Wait, _: P) -> Result<Team, Refused> {
        Ok(Mostly::team::<M>(*self))
    }
}
