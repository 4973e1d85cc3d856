//! The data of a team's threads, combined by a tree.
//!
//! Below thread `t` are the threads `4t + 1` to `4t + 4`. A thread waits until those below it have
//! arrived, combines their data with its own, and arrives at the thread above it. So the order in
//! which data are combined follows from the team's size alone, and so do the last bits of a sum.

use crate::waits::{Waits, Why};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, OwnedSlice};

/// The most threads that are directly below another one.
const BELOW: u32 = 4;

/// A thread's place in the tree.
#[repr(align(128))]
struct Node<M: Machine> {
    /// The number of threads directly below this one that have not arrived.
    missing: M::Atomic<u32>,
    /// The address of the thread's data.
    data: M::Atomic<usize>,
}

/// The tree of a team.
pub(crate) struct Tree<M: Machine>(OwnedSlice<M, Node<M>>);

impl<M: Machine> Tree<M> {
    /// Makes the tree of a team of `size` threads.
    pub(crate) fn new(size: u32) -> Self {
        Tree(OwnedSlice::new(size as usize, |id| Node {
            missing: M::Atomic::new(below(id as u32, size).len() as u32),
            data: M::Atomic::new(0),
        }))
    }

    fn node(&self, id: u32) -> &Node<M> {
        &self.0[id as usize]
    }

    /// Waits until the threads below thread `id` have arrived, and calls `combine` with the address of
    /// each one's data, in order. Then arrives at the thread above with the address `data`. While the
    /// thread waits, it calls `run`, which returns whether it ran something.
    pub(crate) fn gather(
        &self,
        id: u32,
        data: usize,
        waits: &Waits,
        run: impl Fn() -> bool,
        combine: impl FnMut(usize),
    ) {
        let node = self.node(id);
        let below = below(id, self.0.len() as u32);
        if !below.is_empty() {
            // Acquire: the thread sees the data of those that have arrived.
            let mut missing = node.missing.load(Acquire);
            while missing != 0 {
                if !run() {
                    waits.wait::<M, u32>(Why::Barrier, &node.missing, missing);
                }
                missing = node.missing.load(Acquire);
            }
            M::happens_after(core::ptr::from_ref(node).cast());
            // Relaxed: these threads arrive again behind a barrier, which orders the store.
            node.missing.store(below.len() as u32, Relaxed);
            // Relaxed: the load above acquired the stores of the addresses too.
            below.map(|id| self.node(id).data.load(Relaxed)).for_each(combine);
        }
        if id != 0 {
            let above = self.node((id - 1) / BELOW);
            // Relaxed: the change below publishes the address.
            node.data.store(data, Relaxed);
            M::happens_before(core::ptr::from_ref(above).cast());
            // Release: the thread above sees this thread's data, and what was combined into them.
            if above.missing.fetch_add(u32::MAX, Release) == 1 {
                waits.wake::<M, u32>(Why::Barrier, &above.missing);
            }
        }
    }
}

/// The threads directly below thread `id`.
fn below(id: u32, size: u32) -> core::ops::Range<u32> {
    let first = id.saturating_mul(BELOW).saturating_add(1).min(size);
    first..first.saturating_add(BELOW).min(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_is_below_one_other() {
        for size in 1..40 {
            let all: Vec<u32> = (0..size).flat_map(|id| below(id, size)).collect();
            assert_eq!(all, (1..size).collect::<Vec<_>>());
            assert!((1..size).all(|id| below((id - 1) / BELOW, size).contains(&id)));
        }
        assert!(below(u32::MAX, 7).is_empty());
    }
}
