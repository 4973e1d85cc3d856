//! The state of the sources, one per node: a queue per class, and the class whose turn it is.

use super::set::Set;
use super::spec::Spec;
use super::table::Table;
use crate::rng::Rng;

/// One source queue: the packets of one class of one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    /// Slot of the packet at the front, or `u32::MAX` if the queue is empty.
    pub(crate) head: u32,
    /// Slot of the last packet.
    pub(crate) tail: u32,
    /// Number of flits of the front packet already sent.
    pub(crate) sent: u32,
    /// Virtual channel of the front packet; until the packet's head is sent, the virtual channel of
    /// the previous packet.
    pub(crate) vc: u32,
}

/// The sources of all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// Source queues by node and class.
    pub(crate) queues: Table<Queue>,
    /// By node: the class whose turn it is.
    pub(crate) turns: Table<u8>,
    /// By node: bit set of the classes with a packet in their queue.
    pub(crate) pending: Table<u8>,
    /// Nodes with a packet in some queue.
    pub(crate) sending: Set,
    /// By node: random numbers for what the routing chooses at the source.
    pub(crate) rng: Vec<Rng>,
}

impl Sources {
    pub(crate) fn new<A>(spec: &Spec<A>) -> Sources {
        let nodes = spec.nodes as usize;
        let queue = Queue { head: u32::MAX, tail: u32::MAX, sent: 0, vc: spec.config.vcs - 1 };
        Sources {
            queues: vec![queue; nodes * spec.classes as usize].into(),
            turns: vec![0; nodes].into(),
            pending: vec![0; nodes].into(),
            sending: Set::new(nodes),
            rng: (0..nodes as u64).map(|n| Rng::new(spec.config.seed, 0x6e6f_6465, n)).collect(),
        }
    }
}
