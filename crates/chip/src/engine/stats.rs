//! The counters of a guest thread: every cycle of its life by its reason, and how often it did
//! what.

use super::locks::Timeline;
use crate::engine::reason::Reason;
use crate::power::meter::Finer;
use baton_memory::PARTS;
use baton_memory::counters;

counters! {
    /// What a thread did how often.
    pub struct ThreadCounts {
        /// Operations done one by one.
        operations: Operations,
        /// Tries of waits, counted ones included.
        tries: Tries,
        /// How often it slept.
        sleeps: Times,
        /// How often its CPU was taken from it.
        preemptions: Times,
    }
}

/// A thread's counters.
pub(crate) struct Stats {
    /// When the thread was created.
    pub(crate) born: u64,
    /// The time up to which the thread's cycles are charged to reasons.
    pub(crate) since: u64,
    /// The thread's cycles by reason.
    pub(crate) times: [u64; Reason::COUNT],
    /// The cycles of requests that were not served at once, by the part of the memory system that
    /// took them.
    pub(crate) parts: [u64; PARTS],
    /// How often the thread did what.
    pub(crate) counts: ThreadCounts,
    /// The number of the thread's requests whose line came from memory.
    pub(crate) fetches: u64,
    /// The instructions that were charged to the thread and those of its tries, in units. Each of
    /// the thread's operations is one more instruction, which is not included.
    pub(crate) instructions: u64,
    /// The time at which the thread last fell asleep.
    pub(crate) last_sleep: Option<u64>,
    /// The split of the thread's time that energy needs beyond the reasons above.
    pub(crate) finer: Finer,
    /// What the thread spends its waits for locks on, if its guest announces such waits.
    pub(crate) timeline: Timeline,
}

impl Stats {
    /// The counters of a thread that is created now.
    pub(crate) fn new(now: u64) -> Stats {
        Stats {
            born: now,
            since: now,
            times: [0; Reason::COUNT],
            parts: [0; PARTS],
            counts: ThreadCounts::default(),
            fetches: 0,
            instructions: 0,
            last_sleep: None,
            finer: Finer::NONE,
            timeline: Timeline::default(),
        }
    }

    /// Charges all of the thread's time since its last charge to `reason`. `cpu` is the CPU that
    /// the thread had.
    #[inline(always)]
    pub(crate) fn charge(&mut self, reason: Reason, now: u64, cpu: u32) {
        self.times[reason as usize] += now - self.since;
        if self.timeline.open {
            self.timeline.note(reason, cpu, self.since, now, &self.parts);
        }
        self.since = now;
    }

    /// Moves `cycles` of the thread's time from one reason to another.
    pub(crate) fn shift(&mut self, from: Reason, to: Reason, cycles: u64) {
        self.times[from as usize] -= cycles;
        self.times[to as usize] += cycles;
    }
}
