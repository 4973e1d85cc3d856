//! The history of lock words, to the cycle: every change of a word on which a hinted atomic was
//! done, with the time at which all cores see it, and what each thread does between a request for a
//! lock and its acquisition.
//!
//! A study computes blocking, critical sections and competition overhead once from the words and
//! once from the threads, two ways that share nothing.

use crate::base::thread::ThreadId;
use crate::engine::reason::Reason;
use baton_memory::PARTS;
use baton_units::{CpuId, Cycles};

/// A watched word has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordChange {
    /// The time at which every core sees the change.
    pub at: Cycles,
    /// The word's offset in guest memory.
    pub word: u64,
    /// The thread that changed the word.
    pub thread: u32,
    /// The value before.
    pub from: u32,
    /// The value after.
    pub to: u32,
}

/// A part of a thread's wait for a lock, spent for a single reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first cycle of this part of the wait.
    pub from: Cycles,
    /// The first cycle after this part of the wait.
    pub to: Cycles,
    /// The reason for which the thread spent the time.
    pub reason: Reason,
    /// The CPU that the thread had, or had last.
    pub cpu: CpuId,
    /// If the reason is memory: the cycles by part of the memory system, in the order of
    /// [`MEMORY_PARTS`](crate::MEMORY_PARTS). The rest of the time was spent on hits.
    pub parts: [u32; PARTS],
}

/// What a run recorded about its locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockLog {
    /// Changes of watched words, in order of time.
    pub changes: Vec<WordChange>,
    /// For each thread, the parts of its waits, from the request for a lock to the acquisition, in
    /// order of time.
    pub waits: Vec<Vec<Stretch>>,
}

/// What a thread spends its time on while it waits for a lock. Nothing is recorded outside of such
/// a wait (`open` is false).
#[derive(Default)]
pub(crate) struct Timeline {
    pub(crate) open: bool,
    before: [u64; PARTS],
    pub(crate) stretches: Vec<Stretch>,
}

impl Timeline {
    /// A wait for a lock begins. `parts` has the cycles of the thread's earlier requests, which are
    /// no part of the wait.
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

/// Watched words and their changes.
#[derive(Default)]
pub(crate) struct Watch {
    /// Whether lock words are watched at all: words on which a hinted atomic was done.
    pub(crate) on: bool,
    /// The offset of each watched word and the value that it holds, in the order of the offsets.
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

    /// Watches the word at `offset`, a lock's, from now on. `value` reads the word.
    pub(crate) fn add(&mut self, offset: usize, value: impl FnOnce() -> u32) {
        if let Err(at) = self.place(offset) {
            self.words.insert(at, (offset, value()));
        }
    }

    /// `thread` has written at `offset`. If the word there is watched and has changed, records the
    /// change; `value` reads the word.
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
