//! Starvation at reader-writer locks: a writer waits while readers that came later take the lock
//! again and again, or the other way round.

use crate::clock::Ticks;
use crate::event::Mode;

/// The waits of one lock in which threads were overtaken by threads of the other mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Starved {
    /// Waits of writers that readers who came later overtook.
    pub writers: Overtaken,
    /// Waits of readers that writers who came later overtook.
    pub readers: Overtaken,
}

/// Waits in which threads of the other mode that came later got the lock first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overtaken {
    /// Number of such waits.
    pub waits: u64,
    /// Number of acquisitions by which the waiting threads were overtaken, summed over waits.
    pub by: u64,
    /// The greatest number of acquisitions that overtook one wait.
    pub most: u64,
    /// Time from the first acquisition that overtook a wait to the wait's end, summed over waits.
    pub time: Ticks,
    /// The longest of these times.
    pub longest: Ticks,
}

impl Overtaken {
    fn merge(&mut self, other: &Overtaken) {
        self.waits += other.waits;
        self.by += other.by;
        self.most = self.most.max(other.most);
        self.time += other.time;
        self.longest = self.longest.max(other.longest);
    }
}

impl Starved {
    pub(super) fn merge(&mut self, other: &Starved) {
        self.writers.merge(&other.writers);
        self.readers.merge(&other.readers);
    }

    /// Adds a wait that has ended.
    pub(super) fn add(&mut self, now: Ticks, wait: &Passed) {
        let (Some(mode), Some(since)) = (wait.mode, wait.since) else { return };
        let time = now.since(since);
        let one = Overtaken { waits: 1, by: wait.by, most: wait.by, time, longest: time };
        match mode {
            Mode::Exclusive => self.writers.merge(&one),
            Mode::Shared => self.readers.merge(&one),
        }
    }
}

/// By what a wait in progress has been overtaken so far.
#[derive(Clone, Copy, Default)]
pub(super) struct Passed {
    /// The mode in which the waiting thread wants the lock; `None` for a wait that began outside of
    /// the window.
    mode: Option<Mode>,
    /// Number of acquisitions in the other mode by threads that came later.
    by: u64,
    /// When the first of these acquisitions was.
    since: Option<Ticks>,
}

impl Passed {
    pub(super) fn new(mode: Mode) -> Passed {
        Passed { mode: Some(mode), by: 0, since: None }
    }

    /// Records that a thread which came later took the lock in `mode`. Only the other mode counts.
    pub(super) fn passed(&mut self, now: Ticks, mode: Mode) {
        if self.mode.is_some_and(|own| own != mode) {
            self.by += 1;
            self.since.get_or_insert(now);
        }
    }
}
