//! Two-level barrier: a counter of arrivals for each NUMA node, and one for the nodes. The last
//! thread to arrive at a node arrives for it at the other counter. All wait for one word, so that
//! one store releases all.
//!
//! How many arrivals a node expects follows from the participants' nodes, which are given to
//! [`TwoLevel::placed`] or found out. Until they are known, and while all participants are at one
//! node, this is the central barrier to the cycle: one counter for all. Finding out uses only data
//! that arrivals move anyway. The last thread to arrive leaves the number of its node in the word.
//! In the next episode a participant at another node counts itself in the counter's upper half as
//! well, and the last thread sees whether there was one. If so, each participant records its node
//! in the episode after that (the census), and from then on nodes count their own arrivals.
//!
//! Nodes belong to indices and never change: a thread that moves to another node, or another thread
//! that uses the index, still counts where the index was first. That is slower, but correct.

use super::published::Published;
use super::{BarrierInfo, DropError, Gate, RawBarrier, count_left};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::{Atomic, Counted, Machine, OwnedSlice, Wait};
use core::num::NonZeroU32;

/// A two-level barrier. The word that waiters watch is in another line than the counter, which
/// every node's arrival writes.
#[repr(C, align(128))]
pub struct TwoLevel<M: Machine> {
    /// Arrivals in this episode, of participants or of nodes. The upper half counts reasons for the
    /// last thread to look closer: participants at another node than the word says ([`STRANGER`]),
    /// and participants that drop out ([`DROPS`]).
    arrived: M::Atomic<u64>,
    /// Number of nodes that have participants.
    nodes: M::Atomic<u32>,
    participants: u32,
    /// Number of node numbers at which a participant may be found.
    machine_nodes: u32,
    /// Number of participants that have dropped out.
    left: M::Atomic<u32>,
    gate: Published<M, Places<M>>,
}

/// The participants' nodes, and the nodes' counters.
struct Places<M: Machine> {
    /// Node of each participant.
    of: OwnedSlice<M, M::Atomic<u32>>,
    /// Number of participants of each node.
    expected: OwnedSlice<M, M::Atomic<u32>>,
    nodes: OwnedSlice<M, Node<M>>,
}

/// A node's counter, alone in a page, which the machine may place at the node that first arrives.
#[repr(C, align(4096))]
struct Node<M: Machine>(M::Atomic<u32>);

/// Added to the counter by a participant at another node than the word says. From 4,096 of them on
/// the sum looks like [`DROPS`], and the last thread looks closer in vain.
const STRANGER: u64 = 1 << 32;

/// Added to the counter by a participant that drops out; at most a million may do so in an episode.
const DROPS: u64 = 1 << 44;

/// The node of a participant that dropped out.
const NOWHERE: u32 = u32::MAX;

/// What the last thread to arrive stores: the word, and the initial value of the counter.
type Next = (Word, u64);

/// The word: the phase in its low bits, then the last-arrived thread's node plus one, or zero, then
/// the user's bit, then the number of the episode.
#[derive(Clone, Copy)]
struct Word(u32);

/// How arrivals are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// With the one counter.
    Flat,
    /// With the one counter, while each participant records its node.
    Census,
    /// With the nodes' counters.
    Levels,
}

impl Word {
    const EPISODE: u32 = 1 << 16;
    /// Number of node numbers that the word has room for.
    const NODES: u32 = (1 << 13) - 1;
    /// The bit that the barrier leaves to its user.
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

    /// Returns the word of the next episode.
    fn next(self, phase: Phase, home: Option<u32>) -> Word {
        let episode = (self.0 & !(Self::EPISODE - 1)).wrapping_add(Self::EPISODE);
        Word(episode | home.map_or(0, |node| node + 1) << 2 | phase as u32)
    }
}

impl<M: Machine> Places<M> {
    /// Creates the tables for `participants` participants, none of them at a node yet, and `nodes`
    /// nodes.
    fn new(participants: u32, nodes: u32) -> Self {
        let all = |n: u32, value: u32| OwnedSlice::new(n as usize, |_| M::Atomic::new(value));
        let counters = OwnedSlice::new(nodes as usize, |_| Node(M::Atomic::new(0)));
        Places { of: all(participants, NOWHERE), expected: all(nodes, 0), nodes: counters }
    }

    /// Counts the participants of each node. Returns how many nodes have participants.
    fn count(&self) -> u32 {
        let mut counts = vec![0; self.nodes.len()];
        for place in self.of.iter() {
            // Relaxed: each participant recorded its node before it arrived, and all have arrived.
            if let Some(count) = counts.get_mut(place.load(Relaxed) as usize) {
                *count += 1;
            }
        }
        for (expected, &count) in self.expected.iter().zip(&counts) {
            // Relaxed: the store of the word publishes it.
            expected.store(count, Relaxed);
        }
        counts.iter().filter(|&&count| count != 0).count() as u32
    }
}

impl<M: Machine> TwoLevel<M> {
    /// Creates a barrier whose participant *i* is at node `places[i]`.
    ///
    /// # Panics
    /// Panics if `places` is empty, or has more than 2^32 - 1 elements.
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

    /// Returns the node that the calling thread is at.
    fn here(&self) -> u32 {
        M::node() % self.machine_nodes
    }

    /// Arrives at the counter for all by adding `as_what`. The last of `expected` arrivals gets the
    /// counter's upper half, the others `None`.
    fn add(&self, as_what: u64, expected: u32) -> Option<u64> {
        // Release: publishes what this thread, and the threads that it arrives for, did. Acquire:
        // the last thread passes it on.
        let arrived = self.arrived.fetch_add(as_what, AcqRel) + as_what;
        (arrived % STRANGER == u64::from(expected)).then_some(arrived - arrived % STRANGER)
    }

    /// Arrives while all use the one counter. The last thread gets what to store next, the others
    /// `None`.
    fn arrive_flat(&self, word: Word, drops: bool) -> Option<Next> {
        let here = if self.machine_nodes == 1 { None } else { Some(self.here()) };
        let stranger = here.is_some() && word.home().is_some_and(|home| Some(home) != here);
        let noted = if drops { DROPS } else { u64::from(stranger) * STRANGER };
        let noted = self.add(1 + noted, self.participants)?;
        if noted == 0 {
            return Some((word.next(Phase::Flat, here), 0));
        }
        // SAFETY: all other threads wait for the word, and no thread reads the slot in a flat
        // episode.
        unsafe { self.gate.write(Places::new(self.participants, self.machine_nodes)) };
        // In the census, participants that dropped out count as arrived, and the last thread must
        // look closer. Relaxed: each of them counted itself before it arrived.
        let left = if noted < DROPS { 0 } else { u64::from(self.left.load(Relaxed)) };
        Some((word.next(Phase::Census, None), left + if left == 0 { 0 } else { DROPS }))
    }

    /// Like [`arrive_flat`](Self::arrive_flat), but records the participant's node.
    fn arrive_and_note(&self, index: u32, word: Word, drops: bool) -> Option<Next> {
        let here = self.here();
        self.with_places(|places| {
            if !drops {
                // Relaxed: the arrival publishes it to the last thread, and each participant reads
                // only its own.
                places.of[index as usize].store(here, Relaxed);
            }
            let left = self.add(1 + u64::from(drops) * DROPS, self.participants)?;
            let nodes = places.count();
            // Relaxed: the store of the word publishes it.
            self.nodes.store(nodes, Relaxed);
            // All participants may be at one node by now. The flat phase cannot be used once a
            // participant has dropped out, because the one counter does not account for that.
            let levels = nodes > 1 || left != 0;
            Some((if levels { word.next(Phase::Levels, None) } else { word.next(Phase::Flat, Some(here)) }, 0))
        })
    }

    /// Arrives at the node, and for the node if this thread is its last. The last thread of all
    /// gets what to store next, the others `None`.
    fn arrive_by_node(&self, index: u32, word: Word, drops: bool) -> Option<Next> {
        let nodes = self.with_places(|places| {
            // Relaxed for all three loads: written before the word announced the nodes' counters,
            // or by the thread that had this index before.
            let node = places.of[index as usize].load(Relaxed) as usize;
            if drops {
                // Relaxed for both: the node's arrival publishes them to the last thread, whose
                // count considers them.
                places.of[index as usize].store(NOWHERE, Relaxed);
                self.arrived.fetch_add(DROPS, Relaxed);
            }
            let expected = places.expected[node].load(Relaxed);
            let counter = &places.nodes[node].0;
            // Release: publishes what this thread did. Acquire: the node's last thread carries it
            // to the other counter.
            if counter.fetch_add(1, AcqRel) + 1 != expected {
                return None;
            }
            // Resets the counter before arriving for the node, because the others may be released
            // at once. Relaxed: the arrival below publishes it.
            counter.store(0, Relaxed);
            Some(self.nodes.load(Relaxed))
        })?;
        if self.add(1, nodes)? != 0 {
            // Relaxed: the store of the word publishes it.
            self.with_places(|places| self.nodes.store(places.count(), Relaxed));
        }
        Some((word.next(Phase::Levels, None), 0))
    }

    /// Arrives, and drops out if `drops`. Returns `None` if this thread released all; otherwise the
    /// word's value until all are released.
    fn come(&self, index: u32, drops: bool, wait: Wait) -> Option<u32> {
        // Relaxed as in the central barrier: no older word can be seen, and no newer one exists
        // until this thread arrives.
        let word = Word(self.gate.word.load(Relaxed) & !Word::BIT);
        let next = match word.phase() {
            Phase::Flat => self.arrive_flat(word, drops),
            Phase::Census => self.arrive_and_note(index, word, drops),
            Phase::Levels => self.arrive_by_node(index, word, drops),
        };
        let Some((next, arrived)) = next else { return Some(word.0) };
        // Relaxed: the store below publishes it to the threads that arrive next.
        self.arrived.store(arrived, Relaxed);
        // Release: makes visible what all threads did, and the nodes.
        self.gate.word.store(next.0, Release);
        M::wake::<u32>(&self.gate.word, u32::MAX, wait);
        None
    }

    fn with_places<R>(&self, then: impl FnOnce(&Places<M>) -> R) -> R {
        // SAFETY: the word that released this thread says that the tables exist; they are not
        // written again before the word changes its phase.
        then(unsafe { self.gate.read() })
    }
}

// SAFETY: the word changes only after the last thread has arrived: the last of all participants, or
// of all nodes, each of which arrived after all of its own had. Every arrival is a Release; the
// last thread acquires them all through the counters' release sequences, and the others read its
// Release store of the word with Acquire.
unsafe impl<M: Machine> RawBarrier<M> for TwoLevel<M> {
    const INFO: BarrierInfo = BarrierInfo {
        name: "two-level",
        what: "a counter for each NUMA node, one over the nodes, one word that releases all; on one node it is central",
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
