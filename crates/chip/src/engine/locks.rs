//! What happens to lock words, to the cycle: every change of a word that a guest has asked to be watched, at the moment when
//! it is visible to all cores, and what each thread does between a request for a lock and its acquisition.
//!
//! From these two a study computes blocking, critical sections and competition overhead by two ways that share nothing.

use crate::engine::thread::{Reason, ThreadId};
use crate::memory::PARTS;
use baton_units::Cycles;

/// A watched word has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordChange {
    /// When, as every core sees it.
    pub at: Cycles,
    /// The word, by its offset in guest memory.
    pub word: u64,
    /// Who changed it.
    pub thread: u32,
    /// What it held.
    pub from: u32,
    /// What it holds.
    pub to: u32,
}

/// A stretch of a thread's time within a wait for a lock, with one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its first cycle.
    pub from: Cycles,
    /// The first one behind it.
    pub to: Cycles,
    /// What it went to.
    pub reason: Reason,
    /// If that is memory: what the cycles went to, in the order of [`MEMORY_PARTS`](crate::MEMORY_PARTS); what is left of
    /// the stretch were hits.
    pub parts: [u32; PARTS],
}

/// What was watched in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockLog {
    /// Changes of watched words, in order of time.
    pub changes: Vec<WordChange>,
    /// By thread: its stretches between requests for locks and their acquisitions, in order of time.
    pub waits: Vec<Vec<Stretch>>,
}

/// A thread's stretches, as long as it waits.
#[derive(Default)]
pub(crate) struct Timeline {
    pub(crate) open: bool,
    before: [u64; PARTS],
    pub(crate) stretches: Vec<Stretch>,
}

impl Timeline {
    /// A wait begins: what the thread's requests had gone to before does not count.
    pub(crate) fn open(&mut self, parts: &[u64; PARTS]) {
        (self.open, self.before) = (true, *parts);
    }

    pub(crate) fn note(&mut self, reason: Reason, from: u64, to: u64, parts: &[u64; PARTS]) {
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
        self.stretches.push(Stretch { from: Cycles(from), to: Cycles(to), reason, parts: own });
    }
}

/// Watched words and their changes.
#[derive(Default)]
pub(crate) struct Watch {
    /// Offsets, and what stands there.
    words: Vec<(usize, u32)>,
    changes: Vec<WordChange>,
}

impl Watch {
    pub(crate) fn add(&mut self, offset: usize, value: u32) {
        if !self.words.iter().any(|word| word.0 == offset) {
            self.words.push((offset, value));
        }
    }

    /// Something was written at `offset`; `value` reads the word.
    #[inline]
    pub(crate) fn wrote(&mut self, offset: usize, thread: ThreadId, now: u64, value: impl FnOnce() -> u32) {
        let Some(word) = self.words.iter_mut().find(|word| word.0 == offset) else { return };
        let to = value();
        let from = std::mem::replace(&mut word.1, to);
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
