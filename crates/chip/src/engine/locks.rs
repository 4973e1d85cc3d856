//! Records what happens to lock words, to the cycle: each change of a word on which a hinted atomic
//! was done, at the moment when all cores can see it; and what each thread does between a request
//! for a lock and its acquisition.
//!
//! From these two records a study computes blocking, critical sections and competition overhead in
//! two independent ways.

use crate::base::thread::ThreadId;
use crate::engine::reason::Reason;
use baton_memory::PARTS;
use baton_units::{CpuId, Cycles};

/// A change of a watched word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordChange {
    /// The moment at which every core sees the change.
    pub at: Cycles,
    /// The word, as an offset in guest memory.
    pub word: u64,
    /// The thread that changed the word.
    pub thread: u32,
    /// The former value.
    pub from: u32,
    /// The new value.
    pub to: u32,
}

/// A stretch of a thread's time within a wait for a lock, with one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first cycle.
    pub from: Cycles,
    /// The first cycle after the stretch.
    pub to: Cycles,
    /// The reason.
    pub reason: Reason,
    /// The CPU that the thread has, or had last.
    pub cpu: CpuId,
    /// For the memory reason: the cycles by part, in the order of
    /// [`MEMORY_PARTS`](crate::MEMORY_PARTS). The rest of the stretch were hits.
    pub parts: [u32; PARTS],
}

/// The record of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockLog {
    /// The changes of watched words, in the order of time.
    pub changes: Vec<WordChange>,
    /// For each thread, the stretches between requests for locks and acquisitions, in the order of
    /// time.
    pub waits: Vec<Vec<Stretch>>,
}

/// The stretches of a thread during its waits for locks.
#[derive(Default)]
pub(crate) struct Timeline {
    pub(crate) open: bool,
    before: [u64; PARTS],
    pub(crate) stretches: Vec<Stretch>,
}

impl Timeline {
    /// A wait begins. Time of the thread's requests before that moment does not count.
    pub(crate) fn open(&mut self, parts: &[u64; PARTS]) {
        (self.open, self.before) = (true, *parts);
    }

    pub(crate) fn note(&mut self, reason: Reason, cpu: u32, from: u64, to: u64, parts: &[u64; PARTS]) {
        if !self.open || from == to {
            return;
        }
        let mut own = [0; PARTS];
        if reason == Reason::Memory {
            for (own, (now, before)) in own.iter_mut().zip(parts.iter().zip(self.before)) {
                *own = (now - before) as u32;
            }
            self.before = *parts;
        }
        self.stretches.push(Stretch { from: Cycles(from), to: Cycles(to), reason, cpu: CpuId(cpu), parts: own });
    }
}

/// The watched words and their changes.
#[derive(Default)]
pub(crate) struct Watch {
    /// Whether lock words are watched: words on which a hinted atomic was done.
    pub(crate) on: bool,
    /// The offsets and current values of watched words, sorted by offset.
    words: Vec<(usize, u32)>,
    changes: Vec<WordChange>,
}

impl Watch {
    pub(crate) fn new(on: bool) -> Watch {
        Watch { on, ..Watch::default() }
    }

    fn place(&self, offset: usize) -> Result<usize, usize> {
        self.words.binary_search_by_key(&offset, |word| word.0)
    }

    /// Watches the word at `offset`, which holds `value`, because it belongs to a lock.
    pub(crate) fn add(&mut self, offset: usize, value: impl FnOnce() -> u32) {
        if let Err(at) = self.place(offset) {
            self.words.insert(at, (offset, value()));
        }
    }

    /// The thread has written at `offset`. `value` reads the watched word.
    pub(crate) fn wrote(&mut self, offset: usize, thread: ThreadId, now: u64, value: impl FnOnce() -> u32) {
        let Ok(at) = self.place(offset) else { return };
        let to = value();
        let from = std::mem::replace(&mut self.words[at].1, to);
        if from != to {
            self.changes.push(WordChange { at: Cycles(now), word: offset as u64, thread, from, to });
        }
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub(crate) fn take(&mut self) -> Vec<WordChange> {
        std::mem::take(&mut self.changes)
    }
}
