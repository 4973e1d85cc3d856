//! Storage of a guest thread: a dense index and a few words, one for each algorithm that needs one.

use core::cell::Cell;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

/// Number of words of a thread.
pub const WORDS: usize = 11;

/// The algorithm that owns a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// `sync`: the head of the thread's free list of queue nodes.
    QueueNodes,
    /// `sync`: the thread's HemLock grant cell.
    HemGrant,
    /// `sync`: the number of critical sections that the thread has completed, PROG in OCOR's hint.
    Progress,
    /// `sync`: the state of the thread's random number generator for back-off.
    Backoff,
    /// `sync`: the list of the thread's monitors (ids in the lock `1spinner`) that no acquisition
    /// uses now.
    Monitors,
    /// `sync`: a monitor that the thread keeps for its next wait with a deadline.
    SpareMonitor,
    /// `omp`: the OpenMP runtime's record of the thread.
    OpenMp,
    /// `omp`: the thread's context in the OpenMP team that it is in.
    OpenMpContext,
    /// The native machine: the thread's row on the page that a scheduler reads.
    Notices,
    /// `machine`: 1 while the thread counts as one that waits by the policy `adaptive`.
    Adaptive,
    /// The native machine: 1 if the thread has spun for a time in vain, and what it waited for came
    /// soon after it slept. It reads 0 on other machines. Its reader clears it.
    SpunInVain,
}

/// A function that is called with a word's value when the thread ends.
pub type Ending = fn(usize);

/// The storage itself. It neither allocates nor implements `Drop`, so that it can live in a
/// constant-initialised thread-local. The machine calls [`Local::finish`] when the thread ends.
#[derive(Debug)]
pub struct Local {
    index: Cell<u32>,
    words: [Cell<usize>; WORDS],
    endings: [Cell<Option<Ending>>; WORDS],
}

impl Local {
    /// The index of a thread before it is numbered.
    pub const UNNUMBERED: u32 = u32::MAX;

    /// Creates storage with the given index; all words are zero.
    pub const fn new(index: u32) -> Local {
        Local {
            index: Cell::new(index),
            words: [const { Cell::new(0) }; WORDS],
            endings: [const { Cell::new(None) }; WORDS],
        }
    }

    /// A dense number, counted from 0, that no other live thread has. It is reused after the thread
    /// ends.
    #[inline(always)]
    pub fn index(&self) -> u32 {
        self.index.get()
    }

    /// Numbers the thread. For machines only.
    pub fn set_index(&self, index: u32) {
        self.index.set(index);
    }

    /// Returns the word of `user`, which is zero until it is set.
    #[inline(always)]
    pub fn get(&self, user: Use) -> usize {
        self.words[user as usize].get()
    }

    /// Sets the word of `user`.
    #[inline(always)]
    pub fn set(&self, user: Use, value: usize) {
        self.words[user as usize].set(value);
    }

    /// Sets the word of `user` and returns the old value, atomically with respect to signal
    /// handlers of the same thread.
    pub fn swap(&self, user: Use, value: usize) -> usize {
        // SAFETY: the word is aligned and lives as long as `self`; only this thread accesses it, so
        // `get` and `set` do not overlap this access.
        unsafe { AtomicUsize::from_ptr(self.words[user as usize].as_ptr()) }.swap(value, Relaxed)
    }

    /// Registers `ending`, which is called with the word's value when the thread ends, unless the
    /// word is zero then.
    pub fn at_end(&self, user: Use, ending: Ending) {
        self.endings[user as usize].set(Some(ending));
    }

    /// Ends the storage: runs the endings and zeroes the words. For machines only. If an ending
    /// sets a word again, that word is ended as well.
    pub fn finish(&self) {
        while let Some(i) = (0..WORDS).find(|&i| self.words[i].get() != 0) {
            let value = self.words[i].replace(0);
            if let Some(ending) = self.endings[i].get() {
                ending(value);
            }
        }
    }
}
