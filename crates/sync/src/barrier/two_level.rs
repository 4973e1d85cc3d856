//! Two-level barrier: a counter of arrivals for each NUMA node, and one over the nodes. The last to arrive at a node arrives
//! for it at the other counter; all wait for one word, so that one store lets all go.
//!
//! A node's count comes from the participants' places: those that [`TwoLevel::placed`] was given, or those that the
//! participants are found at. Until they are known, and as long as all are at one node, it is the central barrier to the
//! cycle: one counter for all. What it learns travels with what each does there anyway. The last to arrive leaves the number
//! of its node in the word. In the next episode a participant at another node adds itself to the counter's upper half, and
//! the last one sees whether there was any. If there was, each notes its place on its way to the episode after that, and
//! from then on nodes count their own.
//!
//! A place is an index's and stays: a thread that moves to another node, or another thread with the index, counts where the
//! index was first. It takes longer then, and is as right.

use super::published::Published;
use super::{BarrierInfo, DropError, Gate, RawBarrier, count_left};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::{Atomic, Counted, Machine, OwnedSlice, Wait};
use core::num::NonZeroU32;

/// The barrier. The waiters' word stands apart from the counter, which every node's arrival takes.
#[repr(C, align(128))]
pub struct TwoLevel<M: Machine> {
    /// Arrivals in this episode: of all participants, or of nodes. In the upper half, for whom the last one is to look closer: those
    /// at another node than the word says, and those that drop out.
    arrived: M::Atomic<u64>,
    /// Nodes with participants.
    nodes: M::Atomic<u32>,
    participants: u32,
    /// Numbers of nodes that a participant may be found at.
    machine_nodes: u32,
    /// Participants that dropped out.
    left: M::Atomic<u32>,
    gate: Published<M, Places<M>>,
}

/// Who counts where.
struct Places<M: Machine> {
    /// By participant, its node.
    of: OwnedSlice<M, M::Atomic<u32>>,
    /// By node, its participants.
    expected: OwnedSlice<M, M::Atomic<u32>>,
    nodes: OwnedSlice<M, Node<M>>,
}

/// A node's counter, alone in a page, which the machine may put at the node that first arrives.
#[repr(C, align(4096))]
struct Node<M: Machine>(M::Atomic<u32>);

/// One more participant at the counter that is at another node than the word says. Where these are so many that they are taken
/// for one that drops out, the last one looks closer for nothing.
const STRANGER: u64 = 1 << 32;

/// One more that drops out, of at most a million in an episode.
const DROPS: u64 = 1 << 44;

/// In the place of a node's number: that of a participant who dropped out.
const NOWHERE: u32 = u32::MAX;

/// What the last to arrive leaves: the word, and what the counter begins with.
type Next = (Word, u64);

/// What the word says: in its low bits the phase, then one more than the node of who was last, or zero, then the
/// number of the episode. Below that one is the user's bit.
#[derive(Clone, Copy)]
struct Word(u32);

/// How arrivals are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// By the one counter.
    Flat,
    /// By the one counter; each notes its place.
    Census,
    /// By nodes.
    Levels,
}

impl Word {
    const EPISODE: u32 = 1 << 16;
    /// Numbers of nodes that the word has room for.
    const NODES: u32 = (1 << 13) - 1;
    /// The user's bit.
    const BIT: u32 = 1 << 15;

    fn phase(self) -> Phase {
        match self.0 & 3 {
            0 => Phase::Flat,
            1 => Phase::Census,
            _ => Phase::Levels,
        }
    }

    fn home(self) -> Option<u32> {
        ((self.0 % Self::EPISODE) >> 2).checked_sub(1)
    }

    /// The word of the next episode.
    fn next(self, phase: Phase, home: Option<u32>) -> Word {
        let episode = (self.0 & !(Self::EPISODE - 1)).wrapping_add(Self::EPISODE);
        Word(episode | home.map_or(0, |node| node + 1) << 2 | phase as u32)
    }
}

impl<M: Machine> Places<M> {
    /// Room for so many participants, all of them nowhere, at so many nodes.
    fn new(participants: u32, nodes: u32) -> Self {
        let all = |n: u32, value: u32| OwnedSlice::new(n as usize, |_| M::Atomic::new(value));
        let counters = OwnedSlice::new(nodes as usize, |_| Node(M::Atomic::new(0)));
        Places { of: all(participants, NOWHERE), expected: all(nodes, 0), nodes: counters }
    }

    /// Counts the participants of each node; returns how many nodes have some.
    fn count(&self) -> u32 {
        let mut counts = vec![0; self.nodes.len()];
        for place in self.of.iter() {
            // Relaxed: each noted it before it arrived, and all have arrived.
            if let Some(count) = counts.get_mut(place.load(Relaxed) as usize) {
                *count += 1;
            }
        }
        for (expected, &count) in self.expected.iter().zip(&counts) {
            // Relaxed: the word's store publishes it.
            expected.store(count, Relaxed);
        }
        counts.iter().filter(|&&count| count != 0).count() as u32
    }
}

impl<M: Machine> TwoLevel<M> {
    /// A barrier whose participant *i* is at node `places[i]`.
    ///
    /// # Panics
    /// If there is no participant, or more than four billion.
    pub fn placed(places: &[u32]) -> Self {
        let participants = u32::try_from(places.len()).ok().and_then(NonZeroU32::new);
        let participants = participants.expect("a barrier has participants, as many as 32 bits count");
        let known = Places::<M>::new(participants.get(), places.iter().max().map_or(0, |most| most + 1));
        for (cell, &node) in known.of.iter().zip(places) {
            cell.store(node, Relaxed);
        }
        let nodes = known.count();
        let phase = if nodes > 1 { Phase::Levels } else { Phase::Flat };
        let known = if nodes > 1 { Some(known) } else { None };
        Self::starting_at(participants, Word(phase as u32), nodes, known)
    }

    fn starting_at(participants: NonZeroU32, word: Word, nodes: u32, places: Option<Places<M>>) -> Self {
        TwoLevel {
            arrived: M::Atomic::new(0),
            nodes: M::Atomic::new(nodes),
            participants: participants.get(),
            machine_nodes: M::nodes().min(Word::NODES),
            left: M::Atomic::new(0),
            gate: Published::new(M::Atomic::new(word.0), places),
        }
    }

    /// The node that the calling thread is at.
    fn here(&self) -> u32 {
        M::node() % self.machine_nodes
    }

    /// Arrives at the counter for all; to the last of so many, what stands above their number.
    fn add(&self, as_what: u64, expected: u32) -> Option<u64> {
        // Release: what we did, and what those did for whom we arrive. Acquire: the last one passes it on.
        let arrived = self.arrived.fetch_add(as_what, AcqRel) + as_what;
        (arrived % STRANGER == u64::from(expected)).then_some(arrived - arrived % STRANGER)
    }

    /// Arrives while all take the one counter; to the last one, what comes next.
    fn arrive_flat(&self, word: Word, drops: bool) -> Option<Next> {
        let here = if self.machine_nodes == 1 { None } else { Some(self.here()) };
        let stranger = here.is_some() && word.home().is_some_and(|home| Some(home) != here);
        let noted = if drops { DROPS } else { u64::from(stranger) * STRANGER };
        let noted = self.add(1 + noted, self.participants)?;
        if noted == 0 {
            return Some((word.next(Phase::Flat, here), 0));
        }
        // SAFETY: all others wait for the word, and read the slot in no flat episode.
        unsafe { self.gate.write(Places::new(self.participants, self.machine_nodes)) };
        // Those that dropped out count as arrived at the census, and the last one there is to look. Relaxed: each did it
        // before it arrived.
        let left = if noted < DROPS { 0 } else { u64::from(self.left.load(Relaxed)) };
        Some((word.next(Phase::Census, None), left + if left == 0 { 0 } else { DROPS }))
    }

    /// As [`arrive_flat`](Self::arrive_flat), noting the place.
    fn arrive_and_note(&self, index: u32, word: Word, drops: bool) -> Option<Next> {
        let here = self.here();
        self.with_places(|places| {
            if !drops {
                // Relaxed: the arrival publishes it to the last one, and participants read their own.
                places.of[index as usize].store(here, Relaxed);
            }
            let left = self.add(1 + u64::from(drops) * DROPS, self.participants)?;
            let nodes = places.count();
            // Relaxed: the word's store publishes it.
            self.nodes.store(nodes, Relaxed);
            // They may have gathered at one node since. One counter knows of none that dropped out.
            let levels = nodes > 1 || left != 0;
            Some((if levels { word.next(Phase::Levels, None) } else { word.next(Phase::Flat, Some(here)) }, 0))
        })
    }

    /// Arrives at the node, and for the node if we are its last; to the last of all, what comes next.
    fn arrive_by_node(&self, index: u32, word: Word, drops: bool) -> Option<Next> {
        let nodes = self.with_places(|places| {
            // Relaxed, all three loads: written before the word said that nodes count, or by who had this index before us.
            let node = places.of[index as usize].load(Relaxed) as usize;
            if drops {
                // Relaxed, both: the node's arrival publishes them to the last one, after whose count they take effect.
                places.of[index as usize].store(NOWHERE, Relaxed);
                self.arrived.fetch_add(DROPS, Relaxed);
            }
            let expected = places.expected[node].load(Relaxed);
            let counter = &places.nodes[node].0;
            // Release: what we did. Acquire: the node's last one takes it to the other counter.
            if counter.fetch_add(1, AcqRel) + 1 != expected {
                return None;
            }
            // Before the node is counted, as the others may be let go at once. Relaxed: the arrival below publishes it.
            counter.store(0, Relaxed);
            Some(self.nodes.load(Relaxed))
        })?;
        if self.add(1, nodes)? != 0 {
            // Relaxed: the word's store publishes it.
            self.with_places(|places| self.nodes.store(places.count(), Relaxed));
        }
        Some((word.next(Phase::Levels, None), 0))
    }

    /// Arrives, and drops out if so said. `None`: all were let go. Otherwise what the word holds until they are.
    fn come(&self, index: u32, drops: bool, wait: Wait) -> Option<u32> {
        // Relaxed: as in the central barrier: no older one can be seen, and there is no newer one until we arrive.
        let word = Word(self.gate.word.load(Relaxed) & !Word::BIT);
        let next = match word.phase() {
            Phase::Flat => self.arrive_flat(word, drops),
            Phase::Census => self.arrive_and_note(index, word, drops),
            Phase::Levels => self.arrive_by_node(index, word, drops),
        };
        let Some((next, arrived)) = next else { return Some(word.0) };
        // Relaxed: the store below publishes it to those who arrive next.
        self.arrived.store(arrived, Relaxed);
        // Release: what all did, and the places.
        self.gate.word.store(next.0, Release);
        M::wake::<u32>(&self.gate.word, u32::MAX, wait);
        None
    }

    fn with_places<R>(&self, then: impl FnOnce(&Places<M>) -> R) -> R {
        // SAFETY: the word, which we were let go by, says that there are places; they are not written again before the word
        // says something else.
        then(unsafe { self.gate.read() })
    }
}

// SAFETY: the word changes only when the last has arrived: the last of all participants, or of all nodes, each of which
// arrived when all of its own had. Every arrival is a Release, the last one acquires them all through the counters'
// release sequences, and its Release store of the word is read with Acquire.
unsafe impl<M: Machine> RawBarrier<M> for TwoLevel<M> {
    const INFO: BarrierInfo = BarrierInfo {
        name: "two-level",
        what: "a counter for each NUMA node, one over the nodes, one word that lets all go; on one node: central",
        source: "Akkan, Lang and Ionkov, paper 2, section III",
        limits: "participants need an index, and count at the node where the index was first, wherever they move; \
                 a pthread barrier's arrivals are numbered, and a number need not come from the same node again",
        indexed: true,
        drops: true,
        counted: Counted { instructions: 552.0, accesses: 55 },
    };

    fn new(participants: NonZeroU32) -> Self {
        Self::starting_at(participants, Word(Phase::Flat as u32), 1, None)
    }

    fn aged(participants: NonZeroU32) -> Self {
        let word = Word(!(Word::EPISODE - 1) | Phase::Flat as u32);
        Self::starting_at(participants, word, 1, None)
    }

    fn participants(&self) -> u32 {
        self.participants
    }

    fn gate(&self) -> Option<Gate<'_, M>> {
        Some(Gate { word: &self.gate.word, bit: Word::BIT })
    }

    fn arrive(&self, index: u32, wait: Wait) -> Option<u32> {
        assert!(index < self.participants, "participant {index} of {}", self.participants);
        self.come(index, false, wait)
    }

    fn drop_out(&self, index: u32, wait: Wait) -> Result<(), DropError> {
        assert!(index < self.participants, "participant {index} of {}", self.participants);
        count_left::<M, Self>(&self.left, self.participants)?;
        self.come(index, true, wait);
        Ok(())
    }
}
