//! Storage of a guest thread: a dense index and a few words that the algorithms share out among themselves.

use core::cell::Cell;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

/// How many words a thread has.
pub const WORDS: usize = 8;

/// Which algorithm uses which word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// `sync`: head of the thread's free list of queue nodes.
    QueueNodes,
    /// `sync`: the thread's HemLock grant cell.
    HemGrant,
    /// `sync`: completed critical sections, the PROG of OCOR's hint.
    Progress,
    /// `sync`: state of the thread's generator for back-off.
    Backoff,
    /// `sync`: the monitors of ids that the thread has and that no acquisition uses.
    Monitors,
    /// `sync`: an id that the thread keeps for a wait with a deadline.
    SpareMonitor,
    /// `omp`: the thread as its OpenMP runtime knows it.
    OpenMp,
}

/// Called with a word's value when its thread ends.
pub type Ending = fn(usize);

/// What a guest thread keeps: no allocation, no `Drop`, so that it can stand in constant-initialised
/// thread-local storage. A machine calls [`Local::finish`] when the thread ends.
#[derive(Debug)]
pub struct Local {
    index: Cell<u32>,
    words: [Cell<usize>; WORDS],
    endings: [Cell<Option<Ending>>; WORDS],
}

impl Local {
    /// The index of a thread that has none yet.
    pub const UNNUMBERED: u32 = u32::MAX;

    /// Storage of a new thread, all words zero.
    pub const fn new(index: u32) -> Local {
        Local {
            index: Cell::new(index),
            words: [const { Cell::new(0) }; WORDS],
            endings: [const { Cell::new(None) }; WORDS],
        }
    }

    /// A dense number, from 0, that no other live thread has; it is used again after the thread is gone.
    #[inline(always)]
    pub fn index(&self) -> u32 {
        self.index.get()
    }

    /// Gives the thread its number: for machines.
    pub fn set_index(&self, index: u32) {
        self.index.set(index);
    }

    /// The word of `user`; zero until it is set.
    #[inline(always)]
    pub fn get(&self, user: Use) -> usize {
        self.words[user as usize].get()
    }

    /// Sets the word of `user`.
    #[inline(always)]
    pub fn set(&self, user: Use, value: usize) {
        self.words[user as usize].set(value);
    }

    /// Sets the word of `user` and returns what it was, in one step for the signal handlers of the thread.
    pub fn swap(&self, user: Use, value: usize) -> usize {
        // SAFETY: the word is aligned, and lives as long as `self`; only this thread accesses it, and an access by `get` or `set` lies
        // before or after this one.
        unsafe { AtomicUsize::from_ptr(self.words[user as usize].as_ptr()) }.swap(value, Relaxed)
    }

    /// Has `ending` called with the word's value when the thread ends, if the word is not zero then.
    pub fn at_end(&self, user: Use, ending: Ending) {
        self.endings[user as usize].set(Some(ending));
    }

    /// Ends the thread's use of its storage: runs the endings and zeroes the words. For machines. An ending
    /// that sets a word again has it ended too.
    pub fn finish(&self) {
        while let Some(i) = (0..WORDS).find(|&i| self.words[i].get() != 0) {
            let value = self.words[i].replace(0);
            if let Some(ending) = self.endings[i].get() {
                ending(value);
            }
        }
    }
}
