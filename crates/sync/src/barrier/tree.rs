//! Combining-tree barrier: a tree of small central barriers. The last thread to arrive at a node
//! continues to its parent, the others wait. Once the root is complete, each of these threads
//! releases the waiters at the nodes through which it came.

use super::{BarrierInfo, RawBarrier};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::{Atomic, Counted, Machine, OwnedSlice, Wait};
use core::num::NonZeroU32;

/// Number of arrivals at a node: few enough that its line is not contended, enough that the tree is
/// low.
const FAN_IN: usize = 4;

/// A node of the tree, alone in its pair of cache lines.
#[repr(C, align(128))]
struct Node<M: Machine> {
    arrived: M::Atomic<u32>,
    episode: M::Atomic<u32>,
    /// Arrivals that the node waits for.
    expected: u32,
    /// Index of the parent; the root's is its own.
    parent: u32,
}

/// A combining-tree barrier: nodes level by level, leaves first, the root last.
pub struct Tree<M: Machine> {
    nodes: OwnedSlice<M, Node<M>>,
    participants: u32,
    fan_in: usize,
}

impl<M: Machine> Tree<M> {
    /// Creates a barrier whose nodes take `fan_in` arrivals (at least 2) instead of four. A small
    /// fan-in makes a high tree of few participants, which a model checker can handle.
    pub fn with_fan_in(participants: NonZeroU32, fan_in: usize) -> Self {
        assert!(fan_in > 1, "a tree with a fan-in of {fan_in} has no root");
        Self::built(participants, fan_in, 0)
    }

    fn built(participants: NonZeroU32, fan_in: usize, episode: u32) -> Self {
        let levels = levels(participants.get() as usize, fan_in);
        let count = levels.iter().sum();
        let (mut level, mut first, mut below) = (0, 0, participants.get() as usize);
        let nodes = OwnedSlice::new(count, |at| {
            if at == first + levels[level] {
                below = levels[level];
                first = at;
                level += 1;
            }
            let place = at - first;
            let parent = if at + 1 == count { at } else { first + levels[level] + place / fan_in };
            Node {
                arrived: M::Atomic::new(0),
                episode: M::Atomic::new(episode),
                expected: fan_in.min(below - place * fan_in) as u32,
                parent: parent as u32,
            }
        });
        Tree { nodes, participants: participants.get(), fan_in }
    }

    /// Arrives at a node, and at those above while this thread is the last to arrive. Returns
    /// `true` in the thread that was the last at the root.
    fn arrive(&self, at: usize, wait: Wait) -> bool {
        let node = &self.nodes[at];
        // Relaxed as in the central barrier: no older number can be seen, and no newer one exists
        // until this thread arrives.
        let episode = node.episode.load(Relaxed);
        // Release: publishes what this thread did and what it learnt at the nodes below. Acquire:
        // the last thread carries all of it upwards.
        if node.arrived.fetch_add(1, AcqRel) + 1 != node.expected {
            // The wait's acquire: see what all threads did.
            let _ = M::wait_while(&node.episode, episode, wait, None);
            return false;
        }
        let last = node.parent as usize == at || self.arrive(node.parent as usize, wait);
        // Relaxed: the store below publishes it to the threads that arrive next.
        node.arrived.store(0, Relaxed);
        // Release: passes on what all threads did, which this thread knows from the nodes above.
        node.episode.store(episode.wrapping_add(1), Release);
        M::wake::<u32>(&node.episode, u32::MAX, wait);
        last
    }
}

/// Returns the number of nodes in each level of the tree, leaves first.
fn levels(participants: usize, fan_in: usize) -> Vec<usize> {
    let mut levels = vec![participants.div_ceil(fan_in)];
    while levels[levels.len() - 1] > 1 {
        levels.push(levels[levels.len() - 1].div_ceil(fan_in));
    }
    levels
}

// SAFETY: by induction from the leaves, a node's last arrival comes after all arrivals below it and
// has synchronized with them, the root's with all. The episodes carry that back down.
unsafe impl<M: Machine> RawBarrier<M> for Tree<M> {
    const INFO: BarrierInfo = BarrierInfo {
        name: "tree",
        what: "combining tree: a central barrier for every four, and for every four of those",
        source: "Yew, Tzeng and Lawrie, IEEE TC 1987; Mellor-Crummey and Scott, ACM TOCS 1991, algorithm 8",
        limits: "participants need an index",
        indexed: true,
        drops: false,
        counted: Counted { instructions: 494.0, accesses: 33 },
    };

    fn new(participants: NonZeroU32) -> Self {
        Self::built(participants, FAN_IN, 0)
    }

    fn aged(participants: NonZeroU32) -> Self {
        Self::built(participants, FAN_IN, u32::MAX)
    }

    fn participants(&self) -> u32 {
        self.participants
    }

    fn wait(&self, index: u32, wait: Wait) -> bool {
        assert!(index < self.participants, "participant {index} of {}", self.participants);
        self.arrive(index as usize / self.fan_in, wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Native;

    #[test]
    fn a_node_expects_its_children_and_the_root_is_the_last() {
        for participants in 1..200 {
            let tree = Tree::<Native>::new(NonZeroU32::new(participants).unwrap());
            let mut children = vec![0; tree.nodes.len()];
            for index in 0..participants as usize {
                children[index / FAN_IN] += 1;
            }
            for (at, node) in tree.nodes.iter().enumerate() {
                if node.parent as usize != at {
                    children[node.parent as usize] += 1;
                } else {
                    assert_eq!(at, tree.nodes.len() - 1);
                }
            }
            let expected: Vec<_> = tree.nodes.iter().map(|node| node.expected).collect();
            assert_eq!(expected, children, "{participants} participants");
            assert!(expected.iter().all(|&n| 1 <= n && n <= FAN_IN as u32));
        }
    }
}
