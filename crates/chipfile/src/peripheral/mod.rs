//! Kinds of devices: the requests, answers, keys and behaviour of each. The way in which packets
//! reach a device is in `device` of `baton-chip`.
//!
//! | file | holds |
//! | --- | --- |
//! | [`port`](mod@port) | what a device sees and does: requests, answers, holding, interrupts |
//! | [`typed`] | devices of a protocol: their requests and answers as values |
//! | [`settings`] | the keys of a kind, read into a type of its own |
//! | [`mailbox`] | the simplest one: boxes of words that block when full or empty |
//! | [`alarm`] | interrupts a CPU at a time |
//! | [`qmd`] | CAF's queue management device |
//!
//! **A new kind of device is one file here and a word in the registry below.** The file has a
//! constant `KIND`.

pub mod port;
pub mod settings;
pub mod typed;

pub use port::{Answer, Cancelled, Cpu, Hold, Port, Request, Taken};
pub use settings::{DeviceSettings, OwnKey};
pub use typed::{Typed, TypedDevice};

use baton_units::open::{NotAdded, OpenList};

/// Methods that a device may override, the same for each trait of devices.
macro_rules! may_do {
    () => {
        /// Acts at an edge for which the device asked by [`Port::tick_at`]; requests of the same
        /// edge have come before.
        fn tick(&mut self, port: &mut Port<'_>) {
            let _ = port;
        }

        /// Asks the device to give back a request that it has taken and not answered, because the
        /// request's thread must leave its CPU. The CPU stands still until the device decides, so
        /// the device must give back a request that other requests may delay for long. The call
        /// comes at an edge, before requests are offered; of several requests of the thread, the
        /// newest is asked for first. A request that was given back comes again when the thread
        /// runs again. A device that keeps the order of a thread's requests and keeps one of them
        /// must keep the older ones, too.
        fn cancel(&mut self, request: &Request, port: &mut Port<'_>) -> Cancelled {
            let _ = (request, port);
            Cancelled::TooLate
        }

        /// Notes that an answer has left on its way to the core: the room that the device kept for
        /// the answer is free.
        fn left(&mut self, answered: &Request, port: &mut Port<'_>) {
            let _ = (answered, port);
        }

        /// Notes whether threads wait for a CPU from now on. The operating system says so when it
        /// changes.
        fn crowded(&mut self, crowded: bool, port: &mut Port<'_>) {
            let _ = (crowded, port);
        }

        /// Returns the first setting of the device that does not fit the number of requests that a
        /// thread may have under way (`device.outstanding`).
        fn misfit(&self, outstanding: u32) -> Option<SettingMisfit> {
            let _ = outstanding;
            None
        }

        /// Returns the device's counts so far, each with its name.
        fn counts(&self) -> Vec<(&'static str, u64)> {
            Vec::new()
        }
    };
}
use may_do;

/// A device. Its time is the cycle of its own clock; each call happens at an edge of that clock and
/// takes no time by itself.
pub trait Device {
    /// Offers the device the first request in its port. Requests of one thread come in the order in
    /// which the thread made them. A request that the device takes belongs to the device from now
    /// on, and its place in the port is free. A request that the device leaves stays in the port
    /// and blocks all requests behind it.
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken;

    may_do!();

    /// The name of the device's protocol
    /// ([`Protocol::KIND`](baton_machine::device::Protocol::KIND)); empty if the protocol has no
    /// type.
    fn protocol(&self) -> &'static str {
        ""
    }
}

/// A kind of device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceKind {
    /// The name of the kind in `device.kind`, and of its table: `[device.NAME]`.
    pub name: &'static str,
    /// The keys of the kind, in addition to the keys of every device's link and clock.
    pub keys: &'static [OwnKey],
    /// Makes a device from the values of the kind's keys.
    pub make: fn(&DeviceSettings) -> Box<dyn Device>,
}

/// A value of a kind's key that does not fit the other values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingMisfit {
    /// The key's name.
    pub name: &'static str,
    /// The value of the key, which does not fit.
    pub is: String,
    /// What was expected.
    pub expected: String,
}

/// Declares the modules with these names, and lists their kinds.
macro_rules! kinds {
    ($($kind:ident,)+) => {
        $(pub mod $kind;)+

        /// The built-in kinds of devices, by `device.kind`; [`kinds`] has the added ones too.
        pub const KINDS: &[DeviceKind] = &[$($kind::KIND),+];
    };
}

kinds! {
    mailbox,
    alarm,
    qmd,
}

static LIST: OpenList<DeviceKind> = OpenList::new("device", KINDS, |kind| kind.name);

/// Every kind of device: first the built-in ones, then those that were added.
pub fn kinds() -> &'static [DeviceKind] {
    LIST.all()
}

/// The names of all kinds.
pub fn names() -> &'static [&'static str] {
    LIST.names()
}

/// Adds a kind of device that a command brings along.
///
/// # Errors
/// The name is taken or is not a valid name, or chip files have been read already.
pub fn add(kind: DeviceKind) -> Result<(), NotAdded> {
    LIST.add(kind).map(|_| ())
}
