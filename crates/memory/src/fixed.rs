//! Coherent caches of fixed latencies. A line has one owner or any number of readers; requests of one line are served
//! one after the other in order of arrival; caches never evict. What is left out (capacity, banks, a network, store
//! buffers) stands in `docs/reference/chip.md`.
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

/// No owner: owners are kept as number + 1, so that a zeroed line is one that no cache holds.
const NO_OWNER: u32 = 0;

/// A line's state. All zero: in no cache.
#[derive(Clone, Copy)]
struct State {
    /// The next request is served from here on.
    free_at: u64,
    /// The cores that hold it, the first 64 of them.
    holders: u64,
    /// The one that may write it, plus one.
    owner: u32,
    /// How many hold it.
    count: u32,
}

/// The caches of all cores.
pub struct FixedMemory {
    chip: Chip,
    states: Sparse<State>,
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
    /// What scales with each core's clock.
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
    /// Caches for `lines` lines.
    pub fn new(chip: &Chip, lines: usize, random: Random) -> std::io::Result<FixedMemory> {
        let more_words = (chip.core.count as usize - 1) / 64;
        // SAFETY: a state is integers only, as are the words of a bit set.
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

    /// How many cores from `first` on, `n` of them, hold the line.
    fn holders_within(&self, line: Line, first: u32, n: u32) -> u32 {
        let end = first + n;
        let held = |word: u32| {
            let start = word * 64;
            let below = |end: u32| if end >= start + 64 { u64::MAX } else { (1u64 << (end.max(start) - start)) - 1 };
            (self.holder_word(line, word as usize) & below(end) & !below(first)).count_ones()
        };
        (first / 64..=(end - 1) / 64).map(held).sum()
    }

    /// The distance of the nearest other holder, or of the farthest. There is one.
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

    /// `latency`, a little longer or shorter.
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

    /// The core has the line, or will have it: a hit, or one as soon as the line comes for which a sibling has asked.
    #[inline]
    fn held(&mut self, core: CoreId, line: Line, access: Access, now: Cycles) -> Served {
        match self.fills.arrival(core, line, now) {
            None => self.hit_at(core, access, now),
            Some(at) => Served { hit: false, beyond: Part::Remote, ..self.hit_at(core, access, Cycles(at)) },
        }
    }

    /// The moment when a request that arrives now is served, `latency` after its turn has come.
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
            // The link cannot break: time stands still between the two.
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
            // A later request gets the line after this write, and after a sibling's for which the line was fetched.
            let free_at = &mut self.states[line.0 as usize].free_at;
            *free_at = served.at.0.max(*free_at);
            return served;
        }
        let mut latency = if state.count == 0 {
            self.counts.fetches += 1;
            self.chip.cache.memory
        } else if holds && state.count == 1 {
            // The only copy, read earlier together with others that are gone: no core is to be asked.
            self.counts.upgrades += 1;
            self.own[core.0 as usize].hit
        } else if holds {
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

    /// A load that misses.
    fn fetch_copy(&mut self, core: CoreId, line: Line, state: State, now: Cycles) -> Served {
        if state.count == 0 {
            self.counts.fetches += 1;
            let (_, at) = self.turn(line, self.chip.cache.memory, now);
            // No other core has it: a later write needs no permission.
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
        // The owner forwards the line itself; once there are several copies, reads overlap.
        state.free_at = if state.owner == NO_OWNER { (start + occupancy).min(at) } else { at };
        state.owner = NO_OWNER;
        Served { at: Cycles(at), hit: false, beyond: Part::Remote, failed: false, invalidates: false }
    }
}
