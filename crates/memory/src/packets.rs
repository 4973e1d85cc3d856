//! Packets that are none of the memory system's own, and that its network carries beside its own: requests and answers of
//! devices, and interrupts.

use super::border::Line;
use baton_noc::Header;
use baton_units::CoreId;

/// A packet between a core and a device, which the chip's network carries beside its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Comes back with the notice that it has arrived.
    pub tag: u32,
    /// One end.
    pub core: CoreId,
    /// The other, by its number.
    pub device: u32,
    /// From the device to the core: an answer or an interrupt.
    pub to_core: bool,
    /// Its receiver always takes it: it travels as answers do, whatever requests wait for places.
    pub always_taken: bool,
}

/// Where an interrupt comes from, or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptEnd {
    /// A core.
    Core(CoreId),
    /// The home of a line.
    HomeOf(Line),
}

/// An interrupt from one core to another, or a part of its way: a packet of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Comes back with the notice that it has arrived.
    pub tag: u32,
    /// The sender of the packet.
    pub from: InterruptEnd,
    /// The receiver of the packet.
    pub to: InterruptEnd,
    /// What the sender's network interface writes into its header.
    pub mark: Header,
}
