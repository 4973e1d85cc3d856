//! What is counted of a guest thread: every cycle of its life by its reason, and how often it did what.

use super::locks::Timeline;
use crate::engine::reason::{REASONS, Reason};
use crate::memory::PARTS;
use crate::power::meter::Finer;

/// A thread's counters.
pub(crate) struct Stats {
    /// When the thread was created.
    pub(crate) born: u64,
    /// Its cycles up to here have a reason.
    pub(crate) since: u64,
    /// Its cycles by reason.
    pub(crate) times: [u64; REASONS],
    /// Where the cycles of requests that were not served at once went.
    pub(crate) parts: [u64; PARTS],
    /// Operations that were done one by one.
    pub(crate) operations: u64,
    /// Tries of waits, counted ones included.
    pub(crate) tries: u64,
    /// How often it slept.
    pub(crate) sleeps: u64,
    /// When it last fell asleep.
    pub(crate) last_sleep: Option<u64>,
    /// How often its CPU was taken from it.
    pub(crate) preemptions: u64,
    /// What energy needs to know beside the cycle stack.
    pub(crate) finer: Finer,
    /// What it does while it waits for a lock, if a study asks for it.
    pub(crate) timeline: Timeline,
}

impl Stats {
    /// Those of a thread that is created now.
    pub(crate) fn new(now: u64) -> Stats {
        Stats {
            born: now,
            since: now,
            times: [0; REASONS],
            parts: [0; PARTS],
            operations: 0,
            tries: 0,
            sleeps: 0,
            last_sleep: None,
            preemptions: 0,
            finer: Finer::NONE,
            timeline: Timeline::default(),
        }
    }

    /// All time since the last charge, on that CPU or without one, had this reason.
    #[inline(always)]
    pub(crate) fn charge(&mut self, reason: Reason, now: u64, cpu: u32) {
        self.times[reason as usize] += now - self.since;
        if self.timeline.open {
            self.timeline.note(reason, cpu, self.since, now, &self.parts);
        }
        self.since = now;
    }

    /// Of the time under that reason, so much was for another one.
    pub(crate) fn shift(&mut self, from: Reason, to: Reason, cycles: u64) {
        self.times[from as usize] -= cycles;
        self.times[to as usize] += cycles;
    }
}
