//! Barrier with a level for each level of the machine: a counter for each core, for each cluster of
//! cores that share a cache, for each NUMA node, and one for all. The last thread to arrive at a
//! counter arrives for its part of the machine at the next counter up. All wait for one word, so
//! that one store releases all.
//!
//! A part of the machine needs no counter if it has only one participant, or if it is the only part
//! of a larger one. So this is the central barrier where all participants are in one part or each
//! is alone, and the two-level barrier where only nodes differ.
//!
//! The barrier learns where a participant runs from the argument of [`Levels::placed`], or in the
//! first episode, in which all participants use the one counter. Sites belong to indices and never
//! change: a thread that moves still counts at its index's site, which is slower, but correct.

use super::published::Published;
use super::{Alone, BarrierInfo, DropError, Gate, LEFT, RawBarrier, count_left};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::{Atomic, Counted, Machine, OwnedSlice, Site, Wait};
use core::num::NonZeroU32;

/// A multi-level barrier. The word that waiters watch is in another line than the counter, which an
/// arrival of every largest part writes.
#[repr(C, align(128))]
pub struct Levels<M: Machine> {
    /// Arrivals in this episode at the counter for all; the upper half counts participants that
    /// drop out in this episode.
    arrived: M::Atomic<u64>,
    participants: u32,
    /// Number of participants that have dropped out.
    left: M::Atomic<u32>,
    /// Site of each participant.
    sites: OwnedSlice<M, SiteCell<M>>,
    gate: Published<M, Counters<M>>,
}

/// A participant's site: node, cluster, core.
struct SiteCell<M: Machine>([M::Atomic<u32>; 3]);

/// The counters below the counter for all.
struct Counters<M: Machine> {
    /// For each participant, the counter that it arrives at.
    first: OwnedSlice<M, M::Atomic<u32>>,
    /// For each counter, the arrivals that it waits for and the counter of the larger part: all
    /// threads read it, no thread writes it.
    parts: OwnedSlice<M, [M::Atomic<u32>; 2]>,
    /// The counters, from the start of a page on: a node's counters fill pages of their own, which
    /// the machine may place at the node that first arrives.
    counters: OwnedSlice<M, Alone<M>>,
    /// Number of unused counters before the page in which the counters start.
    before: usize,
    /// Arrivals that the counter for all waits for.
    top: u32,
}

/// Bytes of a page.
const PAGE: usize = 4096;
/// Number of counters in a page.
const A_PAGE: usize = PAGE / 128;

/// Stands for the counter for all where a counter's number is expected.
const TOP: u32 = u32::MAX;

/// The site of a participant that dropped out.
const NOWHERE: [u32; 3] = [u32::MAX; 3];

/// The bit of the word that the barrier leaves to its user.
const BIT: u32 = 1;
/// The bit of the word that says that the counters exist.
const COUNTERS: u32 = 2;
/// An episode adds this to the word.
const EPISODE: u32 = 4;

impl<M: Machine> SiteCell<M> {
    /// Stores the site. Relaxed for all three: the arrival publishes them to the last thread.
    fn set(&self, parts: [u32; 3]) {
        for (cell, part) in self.0.iter().zip(parts) {
            cell.store(part, Relaxed);
        }
    }

    /// Loads the site. Relaxed for all three: each was written before its participant arrived, and
    /// all have arrived.
    fn get(&self) -> [u32; 3] {
        core::array::from_fn(|level| self.0[level].load(Relaxed))
    }
}

/// Which counters there are, and where each participant arrives.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    /// For each counter, the arrivals that it waits for and its parent. A node's counters begin a
    /// page; the gaps between nodes hold unused counters, which wait for no arrival.
    counters: Vec<(u32, u32)>,
    /// For each participant, the counter that it arrives at.
    first: Vec<u32>,
    top: u32,
}

impl Plan {
    fn of(sites: &[[u32; 3]]) -> Plan {
        let mut members: Vec<_> = sites.iter().copied().zip(0..).filter(|(site, _)| *site != NOWHERE).collect();
        members.sort_unstable();
        let mut plan = Plan { first: vec![TOP; sites.len()], ..Plan::default() };
        plan.top = plan.fill(&members, 0, TOP);
        plan
    }

    /// Lets `members` arrive at the counter `parent`, creating counters for their parts at this
    /// level and below. Returns how many arrivals `parent` gets.
    fn fill(&mut self, members: &[([u32; 3], usize)], level: usize, parent: u32) -> u32 {
        if level == 3 {
            members.iter().for_each(|(_, index)| self.first[*index] = parent);
            return members.len() as u32;
        }
        let parts = || members.chunk_by(|(a, _), (b, _)| a[level] == b[level]);
        if parts().count() == 1 {
            return self.fill(members, level + 1, parent);
        }
        for part in parts() {
            if let [(_, index)] = part {
                self.first[*index] = parent;
                continue;
            }
            if level == 0 {
                self.counters.resize(self.counters.len().next_multiple_of(A_PAGE), (0, TOP));
            }
            let counter = self.counters.len();
            self.counters.push((0, parent));
            self.counters[counter].0 = self.fill(part, level + 1, counter as u32);
        }
        parts().count() as u32
    }
}

impl<M: Machine> Counters<M> {
    fn new(plan: &Plan) -> Self {
        let (parts, first) = (&plan.counters, &plan.first);
        let counters = OwnedSlice::new(parts.len() + A_PAGE, |_| Alone(M::Atomic::new(0)));
        Counters {
            before: (counters.as_ptr().addr().next_multiple_of(PAGE) - counters.as_ptr().addr()) / 128,
            first: OwnedSlice::new(first.len(), |index| M::Atomic::new(first[index])),
            parts: OwnedSlice::new(parts.len(), |at| [parts[at].0, parts[at].1].map(M::Atomic::new)),
            counters,
            top: plan.top,
        }
    }

    /// Arrives at the participant's counter, and at the larger parts above while this thread is the
    /// last to arrive. Returns whether it was the last in all parts below the whole machine. If it
    /// was not, the last thread of all may have replaced these counters when the function returns:
    /// so it has an address, not a reference, and does not use it after the thread's last arrival.
    ///
    /// # Safety
    /// The counters are at `this`, and are not replaced before this thread has arrived. `index` is
    /// that of a participant.
    unsafe fn arrive(this: *const Self, index: u32) -> bool {
        // SAFETY: this thread has not arrived, so the counters are there.
        let (first, parts, counters) = unsafe {
            let Counters { first, parts, counters, before, .. } = &*this;
            (first.as_ptr(), parts.as_ptr(), counters.as_ptr().wrapping_add(*before))
        };
        // SAFETY: there is an entry for each participant.
        // Relaxed, here and for the parts: the tables were written before the word said that the
        // counters exist.
        let mut at = unsafe { (*first.add(index as usize)).load(Relaxed) };
        while at != TOP {
            // SAFETY: the tables name counters that there are, and this thread is the last of all
            // parts below this one, for which it has not arrived.
            let ([expected, parent], counter) = unsafe { (&*parts.add(at as usize), &(*counters.add(at as usize)).0) };
            let expected = expected.load(Relaxed);
            // Release: publishes what this thread, and the threads that it arrives for, did.
            // Acquire: the last thread carries it upwards.
            if counter.fetch_add(1, AcqRel) + 1 != expected {
                return false;
            }
            // Resets the counter before arriving at the larger part, because the others may be
            // released at once. Relaxed: the arrival at the larger part publishes it.
            counter.store(0, Relaxed);
            at = parent.load(Relaxed);
        }
        true
    }
}

impl<M: Machine> Levels<M> {
    /// Creates a barrier whose participant *i* is at `sites[i]`.
    ///
    /// # Panics
    /// Panics if `sites` is empty, or has more than 2^32 - 1 elements.
    pub fn placed(sites: &[Site]) -> Self {
        let participants = u32::try_from(sites.len()).ok().and_then(NonZeroU32::new);
        let participants = participants.expect("a barrier has participants, as many as 32 bits count");
        let parts = |site: &Site| [site.node, site.cluster, site.core];
        let plan = Plan::of(&Vec::from_iter(sites.iter().map(parts)));
        Self::starting_at(participants, COUNTERS, |index| parts(&sites[index]), Some(Counters::new(&plan)))
    }

    fn starting_at(
        participants: NonZeroU32,
        word: u32,
        site: impl Fn(usize) -> [u32; 3],
        counters: Option<Counters<M>>,
    ) -> Self {
        Levels {
            arrived: M::Atomic::new(0),
            participants: participants.get(),
            left: M::Atomic::new(0),
            sites: OwnedSlice::new(participants.get() as usize, |index| SiteCell(site(index).map(M::Atomic::new))),
            gate: Published::new(M::Atomic::new(word), counters),
        }
    }

    /// Arrives at the counter for all. The last of `expected` arrivals gets the number of
    /// participants that drop out in this episode, the others `None`.
    fn add(&self, expected: u32) -> Option<u64> {
        // Release: publishes what this thread, and the threads that it arrives for, did. Acquire:
        // the last thread passes it on.
        let arrived = self.arrived.fetch_add(1, AcqRel) + 1;
        (arrived as u32 == expected).then_some(arrived / LEFT)
    }

    /// Creates the counters for the participants that have not dropped out.
    ///
    /// # Safety
    /// All participants have arrived, and this thread was the last.
    unsafe fn count(&self) {
        let plan = Plan::of(&Vec::from_iter(self.sites.iter().map(SiteCell::get)));
        // SAFETY: all other threads wait for the word, and read the slot only once the word says
        // that the counters exist.
        unsafe { self.gate.write(Counters::new(&plan)) };
    }

    /// Arrives while the sites are not known, and records the participant's site. The last thread
    /// gets the number of participants that drop out in this episode, the others `None`.
    fn arrive_and_note(&self, index: u32, drops: bool) -> Option<u64> {
        if !drops {
            let Site { node, cluster, core } = M::site();
            self.sites[index as usize].set([node, cluster, core]);
        }
        self.add(self.participants)
    }

    /// Arrives at the counters. The last thread of all gets the number of participants that drop
    /// out in this episode, the others `None`.
    fn arrive_by_parts(&self, index: u32) -> Option<u64> {
        // SAFETY: the word that released this thread says that the counters exist. They are not
        // replaced before all have arrived; a thread that is the last of its part arrives by `add`.
        // The callers have checked the index.
        unsafe {
            let counters = self.gate.address();
            if Counters::arrive(counters, index) { self.add((*counters).top) } else { None }
        }
    }

    /// Arrives, and drops out if `drops`. Returns `None` if this thread released all; otherwise the
    /// word's value until all are released.
    fn come(&self, index: u32, drops: bool, wait: Wait) -> Option<u32> {
        // Relaxed as in the central barrier: no older word can be seen, and no newer one exists
        // until this thread arrives.
        let word = self.gate.word.load(Relaxed) & !BIT;
        let counted = word & COUNTERS != 0;
        if drops {
            // Relaxed for both: the arrival publishes them to the last thread, whose new counters
            // consider them.
            self.sites[index as usize].set(NOWHERE);
            self.arrived.fetch_add(LEFT, Relaxed);
        }
        let last = if counted { self.arrive_by_parts(index) } else { self.arrive_and_note(index, drops) };
        let Some(dropped) = last else { return Some(word) };
        if !counted || dropped != 0 {
            // SAFETY: the counter says that all have arrived and this thread was the last.
            unsafe { self.count() };
        }
        // Relaxed: the store below publishes it to the threads that arrive next.
        self.arrived.store(0, Relaxed);
        // Release: makes visible what all threads did, and the counters.
        self.gate.word.store((word | COUNTERS).wrapping_add(EPISODE), Release);
        M::wake::<u32>(&self.gate.word, u32::MAX, wait);
        None
    }
}

// SAFETY: the word changes only after the last thread has arrived: the last of all participants, or
// of all largest parts of the machine, each of which arrived after all of its own had. Every
// arrival is a Release; the last thread acquires them all through the counters' release sequences,
// and the others read its Release store of the word with Acquire.
unsafe impl<M: Machine> RawBarrier<M> for Levels<M> {
    const INFO: BarrierInfo = BarrierInfo {
        name: "levels",
        what: "a counter for each core, each cluster that shares a cache, each NUMA node and the machine, where several \
               participants are there; one word that releases all",
        source: "Akkan, Lang and Ionkov, paper 2, section III, with more levels",
        limits: "as two-level, except that sites are recorded in the first episode",
        indexed: true,
        drops: true,
        counted: Counted { instructions: 516.0, accesses: 63 },
    };

    fn new(participants: NonZeroU32) -> Self {
        Self::starting_at(participants, 0, |_| NOWHERE, None)
    }

    fn aged(participants: NonZeroU32) -> Self {
        Self::starting_at(participants, 0u32.wrapping_sub(EPISODE), |_| NOWHERE, None)
    }

    fn participants(&self) -> u32 {
        self.participants
    }

    fn gate(&self) -> Option<Gate<'_, M>> {
        Some(Gate { word: &self.gate.word, bit: BIT })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_has_one_counter() {
        for sites in
            [vec![[3, 2, 1]], vec![[0, 0, 0]; 5], vec![[1, 4, 0], [1, 4, 1], [1, 4, 2]], vec![[0, 0, 0], [1, 1, 1]]]
        {
            let n = sites.len();
            assert_eq!(Plan::of(&sites), Plan { counters: Vec::new(), first: vec![TOP; n], top: n as u32 });
        }
    }

    #[test]
    fn a_part_with_several_smaller_ones_has_a_counter() {
        // Two nodes. One has three clusters: the first with a core that two threads share and one
        // with a single thread, then one with two cores, then one with a single thread. The other
        // node has a single thread.
        let sites = [[1, 9, 9], [0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 1, 2], [0, 1, 3], [0, 2, 4]];
        let plan = Plan::of(&sites);
        assert_eq!(plan.counters, [(3, TOP), (2, 0), (2, 1), (2, 0)]);
        assert_eq!((plan.first, plan.top), (vec![TOP, 2, 1, 2, 3, 3, 0], 2));
    }

    #[test]
    fn counters_of_another_node_stand_in_another_page() {
        let plan = Plan::of(&[[0, 0, 0], [7, 1, 1], [0, 0, 1], [7, 1, 1]]);
        assert_eq!((plan.counters.len(), plan.counters[A_PAGE]), (A_PAGE + 1, (2, TOP)));
        assert_eq!(plan.first, [0, A_PAGE as u32, 0, A_PAGE as u32]);
    }
}
