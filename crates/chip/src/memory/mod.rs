//! The memory system as the engine sees it: requests go in; the moments when they are served, and the lines that cores
//! lose, come out.
//!
//! This is the border behind which fixed latencies or caches with a directory and a network stand. The engine knows
//! nothing of what is behind it but [`Memory`]; values live in guest memory and are read or written by the guest at the
//! moment when its request is served, so a memory system deals in lines and time only.
//!
//! | file | holds |
//! | --- | --- |
//! | [`border`] | requests, answers, notices: what crosses the border |
//! | [`coherent`] | caches, a directory, memory controllers, and a network that every message travels on |
//! | [`fixed`] | caches of fixed latencies, one owner a line, requests of a line in order of arrival |
//! | [`lines`] | arrays that are indexed by line |

pub(crate) mod border;
pub(crate) mod coherent;
pub(crate) mod fixed;
pub(crate) mod lines;

pub use border::MEMORY_PARTS;
pub(crate) use border::{Access, Answer, Carried, Interrupt, Line, Notice, PARTS, Part, Parts, Place, Request, Served};

use crate::clock::Ratio;
use crate::config::Chip;
use crate::random::Random;
use baton_coherence::Bits;
use baton_units::{CoreId, Cycles};
use coherent::{Coherent, Unbuilt};
use fixed::FixedMemory;

/// A memory system.
///
/// Time in it never runs ahead of the engine's: the engine first lets it come to [`Memory::next`], then handles its own
/// events of that moment. A request that is made at a moment meets the state after everything that happened in the
/// memory system at that moment.
pub(crate) trait Memory {
    /// A core asks for a line at `now`. Requests come in the order of time.
    fn request(&mut self, request: Request, now: Cycles) -> Answer;

    /// When something happens next inside; [`u64::MAX`]: nothing before the next request.
    fn next(&self) -> u64;

    /// Lets time pass up to and including `to`, or to the end of the first moment that has notices. Gives the moment it
    /// has come to.
    fn advance(&mut self, to: u64, out: &mut Vec<Notice>) -> u64;

    /// Whether a load by `core` would hit now.
    fn holds(&self, core: CoreId, line: Line) -> bool;

    /// What such a hit takes there.
    fn hit(&self, core: CoreId) -> Cycles;

    /// A core's clock is this fraction of the reference from now on, and that of its private caches.
    fn set_clock(&mut self, core: CoreId, ratio: Ratio);

    /// Whether the last store-conditional of that context of `core` that was served failed.
    fn failed(&self, core: CoreId, context: u8) -> bool;

    /// The context's link breaks.
    fn unlink(&mut self, core: CoreId, context: u8);

    /// Carries a packet to or from a device; a notice says when it has arrived. Only where devices hang on the network.
    fn carry(&mut self, packet: Carried, now: Cycles);

    /// A device's endpoint has a place in the network again, which a packet had ([`Notice::Carried`]).
    fn place(&mut self, device: u32, now: Cycles);

    /// Sends an interrupt; a [`Notice::Interrupt`] says when it has arrived. A memory system without a network has no such
    /// packets, and the chip file asks for none.
    fn interrupt(&mut self, interrupt: Interrupt, now: Cycles);

    /// `n` more hits of `core` happened that were not requested one by one.
    fn count_hits(&mut self, core: CoreId, n: u64);

    /// What happened so far.
    fn counts(&self) -> MemoryCounts;

    /// What happened so far at each core's caches; empty where they are not told apart.
    fn by_core(&self) -> Vec<CoreCounts>;
}

/// What the memory system counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryCounts {
    /// Requests that found the line where they needed it.
    pub hits: u64,
    /// Lines taken from another core.
    pub transfers: u64,
    /// Copies turned into the only one.
    pub upgrades: u64,
    /// Lines fetched from memory.
    pub fetches: u64,
    /// Cycles that requests waited behind others for the same line.
    pub queueing: u64,
    /// Requests that the private second level served. This and the rest: coherent chips only.
    pub l2_hits: u64,
    /// Requests whose line was not in the core's caches.
    pub misses: u64,
    /// Lines that a home's bank supplied.
    pub shared_hits: u64,
    /// Copies that were invalidated or recalled.
    pub invalidations: u64,
    /// Lines that left a core's caches to make room.
    pub evictions: u64,
    /// Lines written to memory.
    pub memory_writes: u64,
    /// Accesses to memory that found their row open.
    pub row_hits: u64,
    /// Atomics performed at a home.
    pub far_atomics: u64,
    /// Messages of the protocol.
    pub messages: u64,
    /// One for each flit and router that it passed.
    pub flit_hops: u64,
    /// Packets given to the network.
    pub packets: u64,
    /// Those of them that carry a lock or wake-up request, marked (`ocor.enabled`) or not.
    pub lock_packets: u64,
    /// The longest that a marked packet took, in cycles of the core's clock.
    pub longest_marked: u64,
    /// The same of the others.
    pub longest_unmarked: u64,
}

/// What a core's caches counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreCounts {
    /// Requests that the first level served, counted tries included.
    pub hits: u64,
    /// Requests that the private second level served.
    pub l2_hits: u64,
    /// Requests whose line was not in the core's caches.
    pub misses: u64,
    /// Requests that had the line, but not the right to write it.
    pub upgrades: u64,
    /// Requests of others that were answered with a line from here.
    pub forwards: u64,
    /// Copies lost to others, recalls included.
    pub invalidations: u64,
}

/// The memory systems that there are; the engine's loop matches on it and calls nothing through a pointer.
#[expect(clippy::large_enum_variant, reason = "one a simulation, and the fixed one is called without a pointer")]
pub(crate) enum MemorySystem {
    /// Fixed latencies.
    Fixed(FixedMemory),
    /// Coherent caches of up to 64 cores.
    Small(Box<Coherent<Bits<1>>>),
    /// Of up to 256 cores.
    Middle(Box<Coherent<Bits<4>>>),
    /// Of up to 1,024 cores.
    Large(Box<Coherent<Bits<16>>>),
}

impl MemorySystem {
    /// The memory system that the chip file describes, for `lines` lines of guest memory.
    pub(crate) fn new(chip: &Chip, lines: usize, random: Random) -> Result<MemorySystem, Unbuilt> {
        let Some(config) = &chip.coherent else {
            let fixed = FixedMemory::new(chip, lines, random);
            return fixed.map(MemorySystem::Fixed).map_err(|error| Unbuilt::Memory(error.to_string()));
        };
        Ok(match chip.core.count {
            ..=64 => MemorySystem::Small(Box::new(Coherent::new(chip, config, lines, random)?)),
            65..=256 => MemorySystem::Middle(Box::new(Coherent::new(chip, config, lines, random)?)),
            _ => MemorySystem::Large(Box::new(Coherent::new(chip, config, lines, random)?)),
        })
    }
}

impl MemorySystem {
    /// What must hold when every request has been served and nothing is under way.
    ///
    /// # Panics
    /// If it does not hold.
    pub(crate) fn check_idle(&self) {
        match self {
            MemorySystem::Fixed(_) => {}
            MemorySystem::Small(memory) => memory.check_idle(),
            MemorySystem::Middle(memory) => memory.check_idle(),
            MemorySystem::Large(memory) => memory.check_idle(),
        }
    }

    /// Requests are under way, and none of them will ever be served although something still moves.
    pub(crate) fn is_hung(&self) -> bool {
        match self {
            MemorySystem::Fixed(_) => false,
            MemorySystem::Small(memory) => memory.is_hung(),
            MemorySystem::Middle(memory) => memory.is_hung(),
            MemorySystem::Large(memory) => memory.is_hung(),
        }
    }

    /// What is measured begins now: the longest ways of packets so far do not count.
    pub(crate) fn forget_longest(&mut self) {
        match self {
            MemorySystem::Fixed(_) => {}
            MemorySystem::Small(memory) => memory.forget_longest(),
            MemorySystem::Middle(memory) => memory.forget_longest(),
            MemorySystem::Large(memory) => memory.forget_longest(),
        }
    }

    /// Who waits for what inside, a line each: for the report of a run that hangs.
    pub(crate) fn explain(&self) -> Vec<String> {
        match self {
            MemorySystem::Fixed(_) => Vec::new(),
            MemorySystem::Small(memory) => memory.explain(),
            MemorySystem::Middle(memory) => memory.explain(),
            MemorySystem::Large(memory) => memory.explain(),
        }
    }
}

macro_rules! each {
    ($self:expr, $memory:ident => $body:expr) => {
        match $self {
            MemorySystem::Fixed($memory) => $body,
            MemorySystem::Small($memory) => $body,
            MemorySystem::Middle($memory) => $body,
            MemorySystem::Large($memory) => $body,
        }
    };
}

impl Memory for MemorySystem {
    #[inline(always)]
    fn request(&mut self, request: Request, now: Cycles) -> Answer {
        each!(self, memory => memory.request(request, now))
    }
    #[inline(always)]
    fn next(&self) -> u64 {
        each!(self, memory => memory.next())
    }
    #[inline]
    fn advance(&mut self, to: u64, out: &mut Vec<Notice>) -> u64 {
        each!(self, memory => memory.advance(to, out))
    }
    #[inline(always)]
    fn holds(&self, core: CoreId, line: Line) -> bool {
        each!(self, memory => memory.holds(core, line))
    }
    #[inline(always)]
    fn hit(&self, core: CoreId) -> Cycles {
        each!(self, memory => memory.hit(core))
    }
    fn set_clock(&mut self, core: CoreId, ratio: Ratio) {
        each!(self, memory => memory.set_clock(core, ratio));
    }
    fn failed(&self, core: CoreId, context: u8) -> bool {
        each!(self, memory => memory.failed(core, context))
    }
    fn unlink(&mut self, core: CoreId, context: u8) {
        each!(self, memory => memory.unlink(core, context));
    }
    fn carry(&mut self, packet: Carried, now: Cycles) {
        each!(self, memory => memory.carry(packet, now));
    }
    fn place(&mut self, device: u32, now: Cycles) {
        each!(self, memory => memory.place(device, now));
    }
    fn interrupt(&mut self, interrupt: Interrupt, now: Cycles) {
        each!(self, memory => memory.interrupt(interrupt, now));
    }
    fn count_hits(&mut self, core: CoreId, n: u64) {
        each!(self, memory => memory.count_hits(core, n));
    }
    fn counts(&self) -> MemoryCounts {
        each!(self, memory => memory.counts())
    }
    fn by_core(&self) -> Vec<CoreCounts> {
        each!(self, memory => memory.by_core())
    }
}
