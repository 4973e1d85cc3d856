//! The turns of an ordered loop.
//!
//! Each chunk has a word, for which seldom another chunk waits at the same time. When the
//! iterations before the chunk are done, the turn is passed to it by that word. So a turn wakes one
//! thread as a rule, and the other threads keep the lines that they wait for. libgomp has one word
//! for each thread. Here a word is found by the chunk's first iteration, because the thread that
//! passes a turn on need not know which thread waits for it.

use crate::waits::{Waits, Why};
use crate::work::Work;
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, OwnedSlice};

/// A word with the first iteration of the chunk whose turn it is, on its own pair of cache lines. A
/// loop has fewer iterations than [`NOBODY`].
#[repr(align(128))]
struct Turn<M: Machine>(M::Atomic<u64>);

/// The value of a word when no chunk has its turn there: no chunk begins with this iteration.
const NOBODY: u64 = u64::MAX;

/// The words by which the chunks of a work-share get their turns.
pub(crate) struct Turns<M: Machine>(OwnedSlice<M, Turn<M>>);

impl<M: Machine> Turns<M> {
    /// Makes the words for a team of `threads` threads, each of which waits for one chunk at a
    /// time. Their number is a power of two.
    pub(crate) fn new(threads: u32) -> Self {
        Turns(OwnedSlice::new(threads.next_power_of_two() as usize, |_| Turn(M::Atomic::new(NOBODY))))
    }

    /// Gives the first turn to the first iteration. No other thread is in the work-share.
    pub(crate) fn begin(&self) {
        for (at, turn) in self.0.iter().enumerate() {
            // Relaxed: the work-share's state publishes the words.
            turn.0.store(if at == 0 { 0 } else { NOBODY }, Relaxed);
        }
    }

    /// The word of the chunk that begins with iteration `from`. Two chunks may have the same word:
    /// then both threads are woken, and one waits on.
    #[inline]
    fn of(&self, work: &Work, from: u64) -> &M::Atomic<u64> {
        let at = (from >> work.turn_shift) as usize & (self.0.len() - 1);
        // SAFETY: there is a word, as a team has a thread, and their number is a power of two.
        unsafe { &self.0.get_unchecked(at).0 }
    }

    /// The iteration whose turn it is, as far as the word of iteration `from` says. If it is `from`,
    /// the thread has the turn.
    #[inline]
    pub(crate) fn now(&self, work: &Work, from: u64) -> u64 {
        let turn = self.of(work, from);
        // Acquire: the thread sees what the earlier iterations did.
        let now = turn.load(Acquire);
        if now == from {
            M::happens_after(core::ptr::from_ref(turn).cast());
        }
        now
    }

    /// Waits for the turn of iteration `from`, which begins the calling thread's chunk. The thread
    /// has seen that it is the turn of `seen`.
    pub(crate) fn wait(&self, work: &Work, from: u64, mut seen: u64, waits: &Waits) {
        while seen != from {
            waits.wait::<M, u64>(Why::Barrier, self.of(work, from), seen);
            seen = self.now(work, from);
        }
    }

    /// Passes the turn on to iteration `to`. The calling thread had the turn.
    #[inline]
    pub(crate) fn pass(&self, work: &Work, to: u64, waits: &Waits) {
        let turn = self.of(work, to);
        M::happens_before(core::ptr::from_ref(turn).cast());
        // Release: the next thread sees what this thread and the earlier ones did.
        turn.store(to, Release);
        waits.wake::<M, u64>(Why::Barrier, turn);
    }
}
