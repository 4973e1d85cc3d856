//! Threads that read or write long ranges, each thread its own: measures how many bytes a second
//! memory gives.

use crate::knobs::StreamKind;
use crate::timing::{Figure, Spans, blocks};
use crate::{Knobs, Probe, Refused, Team, Workload, WorkloadInfo, expect, share};
use baton_machine::{Atomic, Machine, Ordering::Relaxed, Wait};

/// The settings of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Number of threads.
    pub threads: u32,
    /// What the threads do with their ranges.
    pub kind: StreamKind,
    /// Bytes of each thread's range. The range must be larger than the thread's share of every
    /// cache; otherwise a cache is measured.
    pub bytes: usize,
    /// How often a thread goes through its range.
    pub iterations: u64,
}

/// Bytes that a thread asks for at once; a machine may overlap the accesses of one piece.
const PIECE: usize = 4096;

impl Stream {
    /// The threads. The check: each thread went through its range as often as asked.
    pub fn team<M: Machine>(self) -> Team {
        let blocks_each = (self.bytes / 64).max(2);
        let spans = Spans::<M>::new(self.threads);
        let done = share::<M, M::Atomic<u64>>(M::Atomic::new(0));
        let body = |thread: u32| {
            let range = blocks::<M>(blocks_each, |_| 0);
            let (spans, done) = (spans.clone(), done.clone());
            Box::new(move || {
                let start = range.as_ptr().cast::<u8>().cast_mut();
                let bytes = blocks_each * 64;
                spans.time(thread, || {
                    for _ in 0..self.iterations {
                        let read = match self.kind {
                            StreamKind::Read => bytes,
                            StreamKind::Write => 0,
                            StreamKind::Copy => bytes / 2,
                        };
                        let mut at = 0;
                        while at < read.max(bytes - read) {
                            if at < read {
                                // SAFETY: the piece lies within this thread's own range, and is
                                // only read.
                                unsafe { M::touch(start.add(at), PIECE.min(read - at), false) };
                            }
                            if at < bytes - read {
                                // SAFETY: the piece lies within this thread's own range. A touch
                                // that writes leaves the bytes as they are.
                                unsafe { M::touch(start.add(read + at), PIECE.min(bytes - read - at), true) };
                            }
                            at += PIECE;
                        }
                    }
                });
                done.fetch_add(self.iterations, Relaxed);
            }) as crate::Body
        };
        let bodies = (0..self.threads).map(body).collect();
        let moved = blocks_each as f64 * 64.0 * f64::from(self.threads) * self.iterations as f64;
        let expected = u64::from(self.threads).saturating_mul(self.iterations);
        Team {
            bodies,
            verify: Box::new(move || expect("passes over the ranges", done.load(Relaxed), expected)),
            figures: Box::new(move || {
                vec![Figure { name: "bytes_a_nanosecond", value: moved / (spans.whole().0.max(1) as f64) }]
            }),
        }
    }
}

impl Workload for Stream {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "stream",
        what: "Long ranges of --bytes a thread: bandwidth",
        figure: "measured.bytes_a_cycle",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Stream, Refused> {
        // A pass over a range is long: the usual number of passes is small.
        let (threads, iterations) = (knobs.threads_or_two(), knobs.iterations_or(3));
        Ok(Stream { threads, kind: knobs.stream, bytes: knobs.bytes, iterations })
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn team<M: Machine, P: Probe>(&self, _: Wait, _: P) -> Result<Team, Refused> {
        Ok(Stream::team::<M>(*self))
    }

    fn bytes(&self) -> usize {
        self.bytes.saturating_mul(self.threads as usize)
    }
}
