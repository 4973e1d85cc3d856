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
//! | [`fixed`] | caches of fixed latencies, one owner a line, requests of a line in order of arrival |
//! | [`lines`] | arrays that are indexed by line |

pub(crate) mod border;
pub(crate) mod fixed;
pub(crate) mod lines;

pub(crate) use border::{Access, Answer, Line, Notice, PARTS, Request, Served};

use baton_units::{CoreId, Cycles};
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

    /// What such a hit takes.
    fn hit(&self) -> Cycles;

    /// `n` more hits of `core` happened that were not requested one by one.
    fn count_hits(&mut self, core: CoreId, n: u64);

    /// What happened so far.
    fn counts(&self) -> MemoryCounts;
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
}

/// The memory systems that there are; the engine's loop matches on it and calls nothing through a pointer.
pub(crate) enum MemorySystem {
    /// Fixed latencies.
    Fixed(FixedMemory),
}

macro_rules! each {
    ($self:expr, $memory:ident => $body:expr) => {
        match $self {
            MemorySystem::Fixed($memory) => $body,
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
    fn hit(&self) -> Cycles {
        each!(self, memory => memory.hit())
    }
    fn count_hits(&mut self, core: CoreId, n: u64) {
        each!(self, memory => memory.count_hits(core, n));
    }
    fn counts(&self) -> MemoryCounts {
        each!(self, memory => memory.counts())
    }
}
