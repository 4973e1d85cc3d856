//! Kinds of devices: what each is asked and answers, its keys, and what it does. How packets reach them is `device`'s part.
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
//! **A new kind is one file here and a word in the registry below.** The file has a constant `KIND`.

pub mod port;
pub mod settings;
pub mod typed;

pub use port::{Answer, Cancelled, Cpu, Hold, Port, Request, Taken};
pub use settings::{OwnKey, Settings};
pub use typed::{Typed, TypedDevice};

use baton_units::open::{NotAdded, OpenList};

/// What a device may do beside taking requests, the same for each trait of devices.
macro_rules! may_do {
    () => {
        /// An edge that it asked for by [`Port::tick_at`]; requests of the same edge have come before.
        fn tick(&mut self, port: &mut Port<'_>) {
            let _ = port;
        }

        /// The thread of a request that the device has taken, and whose answer it has not given, is to leave its CPU and asks for it
        /// back. A request that other requests may keep waiting for long must be given back: the thread's CPU stands still
        /// until the outcome is there. It is asked at an edge, before requests are offered, the thread's newest first; a
        /// request that was given back comes again when the thread runs again. A device that keeps the order of a thread's requests and
        /// keeps one of them keeps the older ones, too.
        fn cancel(&mut self, request: &Request, port: &mut Port<'_>) -> Cancelled {
            let _ = (request, port);
            Cancelled::TooLate
        }

        /// An answer has left on its way to the core: room that it kept for it is free.
        fn left(&mut self, answered: &Request, port: &mut Port<'_>) {
            let _ = (answered, port);
        }

        /// Which of its values does not go with the requests that a thread may have under way (`device.outstanding`).
        fn misfit(&self, outstanding: u32) -> Option<SettingMisfit> {
            let _ = outstanding;
            None
        }

        /// What it has counted so far, each with its name.
        fn counts(&self) -> Vec<(&'static str, u64)> {
            Vec::new()
        }
    };
}
use may_do;

/// A device. Its time is the cycle of its own clock; each call stands at an edge of it, and takes no time by itself.
pub trait Device {
    /// It is offered the first request that stands in its port. Requests of one thread come in the order in which it made
    /// them. One that it takes is its own from now on, and has given its place in the port back; one that it leaves stays
    /// there, and bars the way to all behind it.
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken;

    may_do!();

    /// The protocol that it speaks ([`Protocol::KIND`](baton_machine::device::Protocol::KIND)); empty: none that has a type.
    fn protocol(&self) -> &'static str {
        ""
    }
}

/// A kind of device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceKind {
    /// Its name in `device.kind`, and of its table: `[device.NAME]`.
    pub name: &'static str,
    /// The keys that it has beside those of every device's link and clock.
    pub keys: &'static [OwnKey],
    /// Makes one from the values of these keys.
    pub make: fn(&Settings) -> Box<dyn Device>,
}

/// A value of a kind's key that does not go with the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingMisfit {
    /// The key's name.
    pub name: &'static str,
    /// The value.
    pub is: String,
    /// What was expected.
    pub expected: String,
}

/// The modules of these names, and the list of their kinds.
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

/// Every kind of device, the added ones behind the built-in ones.
pub fn kinds() -> &'static [DeviceKind] {
    LIST.all()
}

/// The names of all kinds.
pub fn names() -> &'static [&'static str] {
    LIST.names()
}

/// Adds a kind of a command's own.
///
/// # Errors
/// The name is taken or is none, or chip files have been read already.
pub fn add(kind: DeviceKind) -> Result<(), NotAdded> {
    LIST.add(kind).map(|_| ())
}
