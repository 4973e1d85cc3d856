//! Coherent caches of fixed latencies. A line has one owner or any number of readers. Requests for
//! one line are served in order of arrival, one after the other; only reads of copies overlap.
//! Caches never evict. What is left out (capacity, banks, a network, store buffers) stands in
//! `docs/reference/chip.md`.
//!
//! A request changes the line's state when it arrives and is served later, at the price of the state that it found.
//! So a reader whose copy is being taken misses from the moment of the request on.

use super::border::{Access, Answer, Line, Notice, Request, Served};
use super::contract::Memory;
use super::counts::{CoreCounts, MemoryCounts};
use super::fills::Fills;
use super::lines::Sparse;
use super::parts::Part;
use crate::base::random::Random;
use crate::base::ratio::Ratio;
use baton_chipfile::config::{Chip, Distance};
use baton_units::{CoreId, Cycles};

/// The value of `LineState::owner` without an owner. Owners are kept as number plus one, so that an
/// all-zero state belongs to a line that no cache holds.
const NO_OWNER: u32 = 0;

/// A line's state; all-zero if the line is in no cache.
#[derive(Clone, Copy)]
struct LineState {
    /// The time from which the next request for the line can be served.
    free_at: u64,
    /// Bit set of the cores that hold the line, of the first 64 cores.
    holders: u64,
    /// The core that may write the line, plus one.
    owner: u32,
    /// Number of cores that hold the line.
    count: u32,
}

/// The caches of all cores.
pub struct FixedMemory {
    chip: Chip,
    states: Sparse<LineState>,
    fills: Fills,
    /// The holders from the 65th core on, in additional words for each line; none on a small chip.
    more: Option<Sparse<u64>>,
    more_words: usize,
    /// Cores of one cluster, and of one socket.
    cluster: u32,
    socket: u32,
    random: Random,
    /// Noise on a latency in 1024ths.
    noise: u64,
    counts: MemoryCounts,
    /// The latencies that scale with each core's clock.
    own: Box<[Own]>,
}

/// A core's own latencies, in cycles of the reference.
#[derive(Clone, Copy)]
struct Own {
    hit: Cycles,
    atomic: Cycles,
}

impl Own {
    fn new(chip: &Chip, ratio: Ratio) -> Own {
        let scaled = |cycles: Cycles| Cycles(ratio.edge(cycles.0));
        Own { hit: scaled(chip.cache.hit), atomic: scaled(chip.cache.atomic) }
    }
}

impl FixedMemory {
    /// Creates empty caches for a guest memory of `lines` lines.
    pub fn new(chip: &Chip, lines: usize, random: Random) -> std::io::Result<FixedMemory> {
        let more_words = (chip.core.count as usize - 1) / 64;
        // SAFETY: all-zero bytes are a valid `LineState` and valid words of a bit set, because both
        // consist of integers.
        let (states, more) = unsafe { (Sparse::new(lines)?, Sparse::new(lines * more_words)?) };
        Ok(FixedMemory {
            states,
            fills: Fills::new(chip.core.count, chip.core.contexts),
            more: (more_words != 0).then_some(more),
            more_words,
            cluster: chip.core.per_cluster,
            socket: chip.core.per_cluster * chip.core.clusters_per_socket,
            random,
            noise: (chip.noise.latency * 1024.0) as u64,
            counts: MemoryCounts::default(),
            own: vec![Own::new(chip, Ratio::ONE); chip.core.count as usize].into(),
            chip: chip.clone(),
        })
    }

    #[inline(always)]
    fn holder_word(&self, line: Line, word: usize) -> u64 {
        match &self.more {
            Some(more) if word != 0 => more[line.0 as usize * self.more_words + word - 1],
            _ => self.states[line.0 as usize].holders,
        }
    }

    #[inline(always)]
    fn is_holder(&self, core: CoreId, line: Line) -> bool {
        self.holder_word(line, core.0 as usize / 64) & 1 << (core.0 % 64) != 0
    }

    #[inline]
    fn add_holder(&mut self, core: CoreId, line: Line) {
        let (word, bit) = (core.0 as usize / 64, 1 << (core.0 % 64));
        match &mut self.more {
            Some(more) if word != 0 => more[line.0 as usize * self.more_words + word - 1] |= bit,
            _ => self.states[line.0 as usize].holders |= bit,
        }
        self.states[line.0 as usize].count += 1;
    }

    #[inline]
    fn only_holder(&mut self, core: CoreId, line: Line) {
        if self.states[line.0 as usize].count != 0
            && let Some(more) = &mut self.more
        {
            for word in 0..self.more_words {
                more[line.0 as usize * self.more_words + word] = 0;
            }
        }
        let state = &mut self.states[line.0 as usize];
        (state.holders, state.count, state.owner) = (0, 0, core.0 + 1);
        self.add_holder(core, line);
    }

    /// Returns the number of cores that hold the line among the `n` cores from `first` on.
    fn holders_within(&self, line: Line, first: u32, n: u32) -> u32 {
        let end = first + n;
        let held = |word: u32| {
            let start = word * 64;
            let below = |end: u32| if end >= start + 64 { u64::MAX } else { (1u64 << (end.max(start) - start)) - 1 };
            (self.holder_word(line, word as usize) & below(end) & !below(first)).count_ones()
        };
        (first / 64..=(end - 1) / 64).map(held).sum()
    }

    /// Returns the distance from `core` to the nearest other core that holds the line, or to the
    /// farthest. There must be another such core.
    #[inline]
    fn other_holder(&self, core: CoreId, line: Line, nearest: bool) -> Distance {
        if self.cluster == self.chip.core.count {
            return Distance::SameCluster;
        }
        let own = u32::from(self.is_holder(core, line));
        let others = self.states[line.0 as usize].count - own;
        let within = |size: u32| self.holders_within(line, core.0 / size * size, size) - own;
        let (in_cluster, in_socket) = (within(self.cluster), within(self.socket));
        let enough = if nearest { 1 } else { others };
        if in_cluster >= enough {
            Distance::SameCluster
        } else if in_socket >= enough {
            Distance::SameSocket
        } else {
            Distance::CrossSocket
        }
    }

    /// Returns `latency`, made longer or shorter at random by up to the chip's noise.
    #[inline]
    fn jittered(&mut self, latency: Cycles) -> u64 {
        if self.noise == 0 {
            return latency.0;
        }
        let factor = 1024 - self.noise + self.random.below(2 * self.noise + 1);
        (latency.0 * factor).div_ceil(1024).max(1)
    }

    #[inline]
    fn hit_at(&mut self, core: CoreId, access: Access, now: Cycles) -> Served {
        self.counts.hits += 1;
        let own = self.own[core.0 as usize];
        let extra = if access == Access::Atomic { own.atomic } else { Cycles(0) };
        Served { at: now + own.hit + extra, hit: true, beyond: Part::L1, failed: false, invalidates: false }
    }

    /// Serves an access to a line that the core has: as a hit, or, while a sibling's request for
    /// the line is under way, as a hit at the moment when the line comes.
    #[inline]
    fn held(&mut self, core: CoreId, line: Line, access: Access, now: Cycles) -> Served {
        match self.fills.arrival(core, line, now) {
            None => self.hit_at(core, access, now),
            Some(at) => Served { hit: false, beyond: Part::Remote, ..self.hit_at(core, access, Cycles(at)) },
        }
    }

    /// Returns the time at which a request that arrives now has its turn for the line, and the time
    /// at which it is served, which is `latency` later, with noise. Counts the wait for the turn.
    #[inline]
    fn turn(&mut self, line: Line, latency: Cycles, now: Cycles) -> (u64, u64) {
        let start = self.states[line.0 as usize].free_at.max(now.0);
        self.counts.queueing += start - now.0;
        (start, start + self.jittered(latency))
    }
}

impl Memory for FixedMemory {
    #[inline]
    fn request(&mut self, request: Request, now: Cycles) -> Answer {
        let access = match request.access {
            Access::LoadLinked(_) => Access::Load,
            // Only coherent chips have atomics of load-linked and store-conditional
            // (`core.atomics`), so no link is kept here and none breaks.
            Access::StoreConditional(_) => Access::Store,
            Access::Prefetch | Access::PrefetchExclusive | Access::Push { .. } => {
                let at = now + self.own[request.core.0 as usize].hit;
                return Answer::Served(Served { at, hit: true, beyond: Part::L1, failed: false, invalidates: false });
            }
            other => other,
        };
        Answer::Served(self.serve(request.core, request.line, access, now))
    }

    #[inline(always)]
    fn next(&self) -> u64 {
        u64::MAX
    }

    fn advance(&mut self, to: u64, _: &mut Vec<Notice>) -> u64 {
        to
    }

    #[inline(always)]
    fn holds(&self, core: CoreId, line: Line, now: Cycles) -> bool {
        self.is_holder(core, line) && self.fills.arrival(core, line, now).is_none()
    }

    #[inline(always)]
    fn hit(&self, core: CoreId) -> Cycles {
        self.own[core.0 as usize].hit
    }

    fn set_clock(&mut self, core: CoreId, ratio: Ratio) {
        self.own[core.0 as usize] = Own::new(&self.chip, ratio);
    }

    fn failed(&self, _: CoreId, _: u8) -> bool {
        false
    }

    fn unlink(&mut self, _: CoreId, _: u8) {}

    fn count_hits(&mut self, _: CoreId, n: u64) {
        self.counts.hits += n;
    }

    fn counts(&self) -> MemoryCounts {
        self.counts
    }

    fn by_core(&self) -> Vec<CoreCounts> {
        Vec::new()
    }
}

impl FixedMemory {
    #[inline]
    fn serve(&mut self, core: CoreId, line: Line, access: Access, now: Cycles) -> Served {
        let state = self.states[line.0 as usize];
        let holds = self.is_holder(core, line);
        if access == Access::Load {
            if holds {
                return self.held(core, line, access, now);
            }
            return self.fetch_copy(core, line, state, now);
        }
        if state.owner == core.0 + 1 {
            let served = self.held(core, line, access, now);
            // A later request for the line is served after this write, and after an access of a
            // sibling for which the line was fetched.
            let free_at = &mut self.states[line.0 as usize].free_at;
            *free_at = served.at.0.max(*free_at);
            return served;
        }
        let mut latency = if state.count == 0 {
            self.counts.fetches += 1;
            self.chip.cache.memory
        } else if holds {
            // Other cores have copies too: a core with the only copy owns the line.
            self.counts.upgrades += 1;
            self.chip.cache.upgrade.at(self.other_holder(core, line, false))
        } else {
            self.counts.transfers += 1;
            let distance = match state.owner {
                NO_OWNER => self.other_holder(core, line, false),
                owner => self.chip.distance(core, CoreId(owner - 1)),
            };
            self.chip.cache.transfer.at(distance)
        };
        if access == Access::Atomic {
            latency += self.own[core.0 as usize].atomic;
        }
        let (_, at) = self.turn(line, latency, now);
        let invalidates = state.count > u32::from(holds);
        self.only_holder(core, line);
        self.fills.add(core, line, at, now);
        self.states[line.0 as usize].free_at = at;
        let beyond = if state.count == 0 { Part::Memory } else { Part::Remote };
        Served { at: Cycles(at), hit: false, beyond, failed: false, invalidates }
    }

    /// Serves a load of a core that does not hold the line.
    fn fetch_copy(&mut self, core: CoreId, line: Line, state: LineState, now: Cycles) -> Served {
        if state.count == 0 {
            self.counts.fetches += 1;
            let (_, at) = self.turn(line, self.chip.cache.memory, now);
            // No other core has the line. The reader becomes its owner, so that a later write of
            // the reader needs no permission.
            self.only_holder(core, line);
            self.fills.add(core, line, at, now);
            self.states[line.0 as usize].free_at = at;
            return Served { at: Cycles(at), hit: false, beyond: Part::Memory, failed: false, invalidates: false };
        }
        self.counts.transfers += 1;
        let distance = match state.owner {
            NO_OWNER => self.other_holder(core, line, true),
            owner => self.chip.distance(core, CoreId(owner - 1)),
        };
        let (start, at) = self.turn(line, self.chip.cache.transfer.at(distance), now);
        self.add_holder(core, line);
        self.fills.add(core, line, at, now);
        let occupancy = self.chip.cache.occupancy.0;
        let state = &mut self.states[line.0 as usize];
        // The owner itself forwards the line, so the next request waits until this one is served.
        // If no core owns the line, reads of its copies overlap.
        state.free_at = if state.owner == NO_OWNER { (start + occupancy).min(at) } else { at };
        state.owner = NO_OWNER;
        Served { at: Cycles(at), hit: false, beyond: Part::Remote, failed: false, invalidates: false }
    }
}
