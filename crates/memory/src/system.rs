//! The memory systems that there are, behind one type. Calls are matched on, never made through a pointer.

use super::border::{Answer, Line, Notice, Request};
use super::coherent::{Coherent, Unbuilt};
use super::contract::{Memory, Transport};
use super::counts::{CoreCounts, MemoryCounts, NetworkCounts};
use super::fixed::FixedMemory;
use super::packets::{Carried, Interrupt};
use crate::base::random::Random;
use crate::base::ratio::Ratio;
use baton_chipfile::config::device::Link;
use baton_chipfile::config::{Cache, Chip, Ipi, Prices};
use baton_coherence::Bits;
use baton_noc::NocError;
use baton_units::{CoreId, Cycles};

/// The memory systems that there are.
#[expect(clippy::large_enum_variant, reason = "one a simulation, and the fixed one is called without a pointer")]
pub enum MemorySystem {
    /// Fixed latencies.
    Fixed(FixedMemory),
    /// Coherent caches of up to 64 cores.
    Small(Box<Coherent<Bits<1>>>),
    /// Coherent caches of up to 256 cores.
    Middle(Box<Coherent<Bits<4>>>),
    /// Coherent caches of up to 1,024 cores.
    Large(Box<Coherent<Bits<16>>>),
}

/// A memory system with a network.
pub enum Carrier<'a> {
    /// Coherent caches of up to 64 cores.
    Small(&'a mut Coherent<Bits<1>>),
    /// Coherent caches of up to 256 cores.
    Middle(&'a mut Coherent<Bits<4>>),
    /// Coherent caches of up to 1,024 cores.
    Large(&'a mut Coherent<Bits<16>>),
}

impl MemorySystem {
    /// The memory system that the chip file describes, for `lines` lines of guest memory.
    pub fn new(chip: &Chip, lines: usize, random: Random) -> Result<MemorySystem, Unbuilt> {
        let config = match &chip.coherent {
            Some(config) if chip.phases.is_none() => config,
            _ => {
                if let Some(what) = travels(chip) {
                    return Err(Unbuilt::NoNetwork(what));
                }
                let chip = priced(chip).map_err(|error| Unbuilt::Memory(error.to_string()))?;
                let fixed = FixedMemory::new(&chip, lines, random);
                return fixed.map(MemorySystem::Fixed).map_err(|error| Unbuilt::Memory(error.to_string()));
            }
        };
        Ok(match chip.core.count {
            ..=64 => MemorySystem::Small(Box::new(Coherent::new(chip, config, lines, random)?)),
            65..=256 => MemorySystem::Middle(Box::new(Coherent::new(chip, config, lines, random)?)),
            _ => MemorySystem::Large(Box::new(Coherent::new(chip, config, lines, random)?)),
        })
    }

    /// The network that carries packets of devices and interrupts; `None`: this memory system has no network, and its
    /// chip has no such packets.
    #[inline]
    pub fn transport(&mut self) -> Option<Carrier<'_>> {
        match self {
            MemorySystem::Fixed(_) => None,
            MemorySystem::Small(memory) => Some(Carrier::Small(memory)),
            MemorySystem::Middle(memory) => Some(Carrier::Middle(memory)),
            MemorySystem::Large(memory) => Some(Carrier::Large(memory)),
        }
    }
}

/// Returns the chip with the fixed prices that atomic cells cost in a run with phases; they follow
/// from the chip's caches and network.
fn priced(chip: &Chip) -> Result<Chip, NocError> {
    let mut chip = chip.clone();
    if let Some(coherent) = chip.coherent.as_ref().filter(|_| chip.phases.is_some()) {
        let occupancy = coherent.home.cycles;
        let Prices { hit, memory, transfer, upgrade, .. } = Prices::of(&chip)?;
        chip.cache = Cache { hit, memory, transfer, upgrade, occupancy, ..chip.cache };
    }
    Ok(chip)
}

/// Returns what travels on the chip's network beside the memory system's own messages, for an error
/// message; `None` if nothing does.
fn travels(chip: &Chip) -> Option<&'static str> {
    let devices = chip.devices.as_ref().is_some_and(|devices| devices.link == Link::Network);
    let interrupts = chip.os.interrupt.ipi != Ipi::Price;
    if devices { Some("requests of devices") } else { interrupts.then_some("interrupts between CPUs") }
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

macro_rules! each_carrier {
    ($self:expr, $memory:ident => $body:expr) => {
        match $self {
            Carrier::Small($memory) => $body,
            Carrier::Middle($memory) => $body,
            Carrier::Large($memory) => $body,
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
    fn holds(&self, core: CoreId, line: Line, now: Cycles) -> bool {
        each!(self, memory => memory.holds(core, line, now))
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
    fn count_hits(&mut self, core: CoreId, n: u64) {
        each!(self, memory => memory.count_hits(core, n));
    }
    fn counts(&self) -> MemoryCounts {
        each!(self, memory => memory.counts())
    }
    fn network_counts(&self) -> NetworkCounts {
        each!(self, memory => memory.network_counts())
    }
    fn by_core(&self) -> Vec<CoreCounts> {
        each!(self, memory => memory.by_core())
    }
    fn check_idle(&self) {
        each!(self, memory => memory.check_idle());
    }
    fn is_hung(&self) -> bool {
        each!(self, memory => memory.is_hung())
    }
    fn forget_longest(&mut self) {
        each!(self, memory => memory.forget_longest());
    }
    fn explain(&self) -> Vec<String> {
        each!(self, memory => memory.explain())
    }
}

impl Transport for Carrier<'_> {
    fn carry(&mut self, packet: Carried, now: Cycles) {
        each_carrier!(self, memory => memory.carry(packet, now));
    }
    fn free_place(&mut self, device: u32, now: Cycles) {
        each_carrier!(self, memory => memory.free_place(device, now));
    }
    fn interrupt(&mut self, interrupt: Interrupt, now: Cycles) {
        each_carrier!(self, memory => memory.interrupt(interrupt, now));
    }
}
