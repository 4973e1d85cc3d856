//! The memory system as the engine sees it: a request goes in, the moment when it is served comes out.
//!
//! This is the border behind which caches, a directory and a network can take the place of fixed latencies. The engine
//! knows nothing of what is behind it but [`Memory`]; values live in guest memory and are read or written by the guest
//! at the moment when its request is served, so a memory system deals in lines and time only.
//!
//! | file | holds |
//! | --- | --- |
//! | [`fixed`] | caches of fixed latencies, one owner a line, requests of a line in order of arrival |
//! | [`lines`] | arrays that are indexed by line |

pub(crate) mod fixed;
pub(crate) mod lines;

use baton_units::{CoreId, Cycles};

/// A line of guest memory: its number counts from the start of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line(pub(crate) u32);

/// What a core wants of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Read it.
    Load,
    /// Write it.
    Store,
    /// Read and write it as one.
    Atomic,
}

/// How a request is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// When its value is read or written.
    pub(crate) at: Cycles,
    /// From now on no other core has a copy, and one had.
    pub(crate) invalidates: bool,
}

/// A memory system.
///
/// One whose answer is not known at once (packets on a network) would return from [`Memory::request`] with the guest
/// still suspended and tell the engine later; the engine suspends the guest in either case, so only this trait grows.
pub(crate) trait Memory {
    /// `core` asks for `line` at `now`. Requests come in the order of time.
    fn request(&mut self, core: CoreId, line: Line, access: Access, now: Cycles) -> Served;

    /// Whether a load by `core` would hit now.
    fn holds(&self, core: CoreId, line: Line) -> bool;

    /// What such a hit takes.
    fn hit(&self) -> Cycles;

    /// `n` more hits happened that were not requested one by one.
    fn count_hits(&mut self, n: u64);

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
