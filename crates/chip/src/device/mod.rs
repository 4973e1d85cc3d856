//! Devices: units beside the cores that take requests and give answers, on a clock of their own.
//!
//! A device is a type that implements [`Device`], in one file, and a line in [`KINDS`]; `docs/devices.md` shows the steps.
//! It hangs on a node of the network, in virtual networks of its own, or on wires of its own (`device.link`). A guest
//! reaches it by [`Simulated::device`](crate::Simulated::device): a request is a packet, its answer another one, and a
//! thread that waits for the answer stalls its core. A device's configuration comes by system call; it can interrupt a core.
//!
//! | file | holds |
//! | --- | --- |
//! | [`port`](mod@port) | what a device sees and does: requests, answers, holding, interrupts |
//! | `entry` | the way into a device: places, and requests that wait for one |
//! | `packet` | requests with their answers, and interrupts, while they are under way |
//! | `attached` | what happens to packets, and the devices' clocks |
//! | `interrupt` | what an interrupt does at its core |
//! | [`mailbox`] | the simplest one: boxes of words that block when full or empty |
//! | [`alarm`] | interrupts a CPU at a time |

pub mod alarm;
pub(crate) mod attached;
mod entry;
mod interrupt;
pub mod mailbox;
pub(crate) mod packet;
pub mod port;

pub use crate::config::device::Devices as Config;
pub use port::{Cpu, Hold, Port, Request, Taken};

use alarm::Alarm;
use mailbox::Mailbox;

/// A device. Its time is the cycle of its own clock; each call stands at an edge of it, and takes no time by itself.
pub trait Device {
    /// It is offered the first request that stands in its port. Requests of one thread come in the order in which it made
    /// them. One that it takes is its own from now on, and has given its place in the port back; one that it leaves stays
    /// there, and bars the way to all behind it.
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken;

    /// An edge that it asked for by [`Port::tick_at`]; requests of the same edge have come before.
    fn tick(&mut self, port: &mut Port<'_>) {
        let _ = port;
    }

    /// An answer has left on its way to the core: room that it kept for it is free.
    fn left(&mut self, answered: &Request, port: &mut Port<'_>) {
        let _ = (answered, port);
    }

    /// What it has counted so far, each with its name.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// How a kind of device is made from what the chip file says of it ([`Config::one`]).
pub type Make = fn(&Config) -> Box<dyn Device>;

/// The kinds of devices, by `device.kind`. A new one is a file here, a line in this table, and one in the keys
/// that kinds have of their own (`config/keys/device.rs`).
pub const KINDS: [(&str, Make); 2] =
    [("mailbox", |config| Box::new(Mailbox::new(config))), ("alarm", |config| Box::new(Alarm::new(config)))];
