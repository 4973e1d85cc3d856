//! Shares of the measured part of a run, as in figures 2, 11b and 12 of OCOR's paper.

use baton_trace::Trace;
use baton_trace::analysis::{Analysis, Window};

/// Shares of thread time (threads × length), and rates. All are 0 where there is nothing to divide
/// by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// The length of the measured part, in cycles.
    pub cycles: u64,
    /// The number of acquisitions.
    pub acquisitions: u64,
    /// The share of thread time in critical sections.
    pub sections: f64,
    /// The share of thread time in competition overhead: waiting for a lock that no thread holds.
    pub overhead: f64,
    /// The share of thread time waiting for locks: critical sections of other threads plus
    /// competition overhead.
    pub blocked: f64,
    /// The share of acquisitions whose thread did not sleep while it waited.
    pub entered_spinning: f64,
    /// The share of acquisitions that waited.
    pub contended: f64,
    /// Acquisitions per thousand cycles and thread.
    pub rate: f64,
    /// The difference, in cycles, between two ways of computing the overhead; 0 in a complete
    /// trace.
    pub residual: u128,
}

impl Shares {
    /// The shares of `threads` threads within `window`.
    pub fn of(trace: &Trace, window: Window, threads: u32) -> Shares {
        let cycles = window.length().0;
        let analysis = Analysis::of(trace, window);
        let (mut held, mut overhead, mut blocked, mut residual) = (0, 0, 0, 0u128);
        let (mut acquisitions, mut contended, mut slept) = (0, 0, 0);
        for lock in &analysis.locks {
            let stats = &lock.stats;
            held += stats.busy.0;
            overhead += stats.overhead.0;
            blocked += stats.blocked.0;
            residual += stats.residual().unsigned_abs();
            acquisitions += stats.acquisitions;
            contended += stats.contended;
            slept += stats.entered_sleeping;
        }
        let over = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let thread_time = cycles.saturating_mul(u64::from(threads));
        Shares {
            cycles,
            acquisitions,
            sections: over(held, thread_time),
            overhead: over(overhead, thread_time),
            blocked: over(blocked, thread_time),
            entered_spinning: over(acquisitions - slept.min(acquisitions), acquisitions),
            contended: over(contended, acquisitions),
            rate: over(acquisitions.saturating_mul(1000), thread_time),
            residual,
        }
    }
}
