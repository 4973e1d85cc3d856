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
//! | `attached` | packets under way, and the devices' clocks |
//! | `interrupt` | what an interrupt does at its core |
//! | [`mailbox`] | the simplest one: boxes of words that block when full or empty |
//! | [`alarm`] | interrupts a CPU at a time |

pub mod alarm;
pub(crate) mod attached;
mod interrupt;
pub mod mailbox;
pub mod port;

pub use crate::config::device::Devices as Config;
pub use port::{Hold, Port, Request};

use alarm::Alarm;
use mailbox::Mailbox;

/// A device. Its time is the cycle of its own clock; each call stands at an edge of it, and takes no time by itself.
pub trait Device {
    /// A request has come. Requests of one thread come in the order in which it made them.
    fn take(&mut self, request: Request, port: &mut Port<'_>);

    /// An edge that it asked for by [`Port::tick_at`]; requests of the same edge have come before.
    fn tick(&mut self, port: &mut Port<'_>) {
        let _ = port;
    }

    /// What it has counted so far, each with its name.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// How a kind of device is made from its part of the chip file.
pub type Make = fn(&Config) -> Box<dyn Device>;

/// The kinds of devices, by `device.kind`. A new one is a file here and a line in this table.
pub const KINDS: [(&str, Make); 2] =
    [("mailbox", |config| Box::new(Mailbox::new(config))), ("alarm", |config| Box::new(Alarm::new(config)))];
