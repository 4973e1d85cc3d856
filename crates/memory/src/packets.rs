//! Packets that the memory system's network carries beside the messages of the protocol: requests
//! and answers of devices, and interrupts.

use super::border::Line;
use baton_noc::Header;
use baton_units::CoreId;

/// A packet between a core and a device, which the chip's network carries beside its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// A number of the sender's, which [`Notice::Carried`](super::border::Notice::Carried) returns
    /// when the packet has arrived.
    pub tag: u32,
    /// The core at one end.
    pub core: CoreId,
    /// Number of the device at the other end.
    pub device: u32,
    /// Whether the packet goes from the device to the core, as answers and interrupts do; otherwise
    /// from the core to the device.
    pub to_core: bool,
    /// Whether the receiver always takes the packet. It then travels in the class of answers, and
    /// requests that wait for a place cannot block it.
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
    /// A number of the sender's, which [`Notice::Interrupt`](super::border::Notice::Interrupt)
    /// returns when the interrupt has arrived.
    pub tag: u32,
    /// The sender of the packet.
    pub from: InterruptEnd,
    /// The receiver of the packet.
    pub to: InterruptEnd,
    /// The mark that the sender's network interface writes into the packet's header.
    pub mark: Header,
}
