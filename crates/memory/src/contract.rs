//! What a memory system does for the engine: it serves accesses ([`Memory`]), and, where it has a network, carries packets
//! of devices and interrupts ([`Transport`]).

use super::border::{Answer, Line, Notice, Request};
use super::counts::{CoreCounts, MemoryCounts, NetworkCounts};
use super::packets::{Carried, Interrupt};
use crate::base::ratio::Ratio;
use baton_units::{CoreId, Cycles};

/// A memory system: it serves the accesses of cores.
///
/// Time in it never runs ahead of the engine's: the engine first lets it come to [`Memory::next`], then handles its own
/// events of that moment. A request that is made at a moment meets the state after everything that happened in the
/// memory system at that moment.
pub trait Memory {
    /// A core asks for a line at `now`. Calls must come in the order of their times.
    fn request(&mut self, request: Request, now: Cycles) -> Answer;

    /// Returns the time at which something happens next in the memory system; [`u64::MAX`] if
    /// nothing happens before the next request.
    fn next(&self) -> u64;

    /// Lets time pass up to and including `to`, or to the end of the first moment that has notices.
    /// Returns the moment that the memory system has reached.
    fn advance(&mut self, to: u64, out: &mut Vec<Notice>) -> u64;

    /// Whether a load by `core` would hit at `now`.
    fn holds(&self, core: CoreId, line: Line, now: Cycles) -> bool;

    /// Returns the time that a hit of `core` takes.
    fn hit(&self, core: CoreId) -> Cycles;

    /// Sets a core's clock, and that of its private caches, to this fraction of the reference.
    fn set_clock(&mut self, core: CoreId, ratio: Ratio);

    /// Whether the last store-conditional of `context` of `core` that was served failed.
    fn failed(&self, core: CoreId, context: u8) -> bool;

    /// Breaks the link that the context's load-linked has set.
    fn unlink(&mut self, core: CoreId, context: u8);

    /// Counts `n` more hits of `core` that were not requested one by one.
    fn count_hits(&mut self, core: CoreId, n: u64);

    /// The counters so far.
    fn counts(&self) -> MemoryCounts;

    /// The counters of the network so far; zeros if there is none.
    fn network_counts(&self) -> NetworkCounts {
        NetworkCounts::default()
    }

    /// The counters of each core's caches so far; empty if they are not counted by core.
    fn by_core(&self) -> Vec<CoreCounts>;

    /// Checks what must hold when every request has been served and nothing is under way. A memory
    /// system that answers each request at once has nothing to check.
    ///
    /// # Panics
    /// A condition does not hold.
    fn check_idle(&self) {}

    /// Whether some requests will never be served although events still happen.
    fn is_hung(&self) -> bool {
        false
    }

    /// Begins the measured part: forgets the longest packet so far.
    fn forget_longest(&mut self) {}

    /// Returns a text for each unit that waits, which says what the unit waits for; for the report
    /// of a run that hangs.
    fn explain(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A network that carries packets of devices and interrupts beside the memory system's own
/// messages. Memory of fixed latencies has none, and
/// [`MemorySystem::new`](super::MemorySystem::new) refuses a chip that asks for such packets
/// without a network.
pub trait Transport {
    /// Carries a packet to or from a device. [`Notice::Carried`] says when it has arrived.
    fn carry(&mut self, packet: Carried, now: Cycles);

    /// Notes that a packet has left a device's endpoint, so that its place ([`Notice::Carried`]) is
    /// free for another packet of the network.
    fn free_place(&mut self, device: u32, now: Cycles);

    /// Sends an interrupt; [`Notice::Interrupt`] says when it has arrived.
    fn interrupt(&mut self, interrupt: Interrupt, now: Cycles);
}
