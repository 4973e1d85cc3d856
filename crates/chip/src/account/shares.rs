//! Shares of the part of a run that counts: what OCOR's figures 2, 11b and 12 are of.

use baton_trace::Trace;
use baton_trace::analysis::{Analysis, Window};

/// Shares of thread-time (threads × length), and rates. All 0 where there is nothing to divide by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// Cycles from the first beginning to the last end.
    pub cycles: u64,
    /// Acquisitions.
    pub acquisitions: u64,
    /// Thread-time in critical sections.
    pub sections: f64,
    /// Thread-time in competition overhead: waiting for a free lock.
    pub overhead: f64,
    /// Thread-time waiting for locks: others' critical sections and competition overhead.
    pub blocked: f64,
    /// Of all acquisitions, those of threads that had not slept for it.
    pub entered_spinning: f64,
    /// Of all acquisitions, those that waited.
    pub contended: f64,
    /// Acquisitions a thousand cycles and thread.
    pub rate: f64,
    /// Overhead that two ways of computing it disagree about, in cycles: 0 in a whole trace.
    pub residual: u128,
}

impl Shares {
    /// Of `threads` threads' locks within `window`.
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
