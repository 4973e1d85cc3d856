//! What a workload times of itself: each thread notes when the part that counts began and ended, by
//! the machine's clock.

use baton_machine::units::Nanos;
use baton_machine::{Atomic, Clock, Machine, Ordering::Relaxed, Owned, OwnedSlice};
use std::sync::Arc;

/// A figure that a workload measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The name of the figure, such as `nanoseconds_a_load`.
    pub name: &'static str,
    /// The value, in the unit that the name ends in or begins with.
    pub value: f64,
}

/// The beginning and end of one thread, on a pair of lines of its own.
#[repr(C, align(128))]
struct Span<M: Machine>(M::Atomic<u64>, M::Atomic<u64>);

/// The spans of all threads.
pub struct Spans<M: Machine>(Arc<Vec<Owned<M, Span<M>>>>);

impl<M: Machine> Clone for Spans<M> {
    fn clone(&self) -> Self {
        Spans(self.0.clone())
    }
}

impl<M: Machine> Spans<M> {
    pub fn new(threads: u32) -> Self {
        let span = |_| Owned::new(Span::<M>(M::Atomic::new(0), M::Atomic::new(0)));
        Spans(Arc::new((0..threads).map(span).collect()))
    }

    /// Times `f` as the part of `thread` that counts.
    pub fn time(&self, thread: u32, f: impl FnOnce()) {
        let began = M::now(Clock::Monotonic).0;
        f();
        let ended = M::now(Clock::Monotonic).0;
        let span = &self.0[thread as usize];
        // Relaxed: the end of the thread orders the stores.
        span.0.store(began, Relaxed);
        span.1.store(ended, Relaxed);
    }

    /// The time from the first thread's beginning to the last thread's end. A thread that never
    /// called [`Spans::time`] counts as one that began at time 0.
    pub fn whole(&self) -> Nanos {
        let began = self.0.iter().map(|span| span.0.load(Relaxed)).min().unwrap_or(0);
        let ended = self.0.iter().map(|span| span.1.load(Relaxed)).max().unwrap_or(0);
        Nanos(ended.saturating_sub(began))
    }
}

/// A block of memory, as words of eight bytes. A block has [`WORDS`] words whatever the machine's
/// line size: on a machine with longer lines a stride says how many blocks make one line.
pub type Block<M> = [<M as Machine>::Atomic<u64>; WORDS];

/// Number of words in a block, which has 64 bytes.
pub const WORDS: usize = 8;

/// `n` blocks in a row, at a multiple of their size. Word 0 of each block is `value(block)`, the
/// other words are 0.
pub fn blocks<M: Machine>(n: usize, mut value: impl FnMut(usize) -> u64) -> Arc<OwnedSlice<M, Aligned<M>>> {
    Arc::new(OwnedSlice::new(n, |block| {
        let first = value(block);
        Aligned(core::array::from_fn(|word| M::Atomic::new(if word == 0 { first } else { 0 })))
    }))
}

/// A block at a multiple of its size.
#[repr(C, align(64))]
pub struct Aligned<M: Machine>(pub Block<M>);
