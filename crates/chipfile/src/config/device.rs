//! Devices of a chip: of what kinds, how many, where they hang and how packets reach them.

use super::choice::choice;
use super::texts::Placement;
use crate::peripheral::{DeviceKind, OwnKey, Settings, kinds};
use baton_units::{Cycles, Hertz};

/// The devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Devices {
    /// Names in [`kinds`], with spaces between: one for all, or one a device, in the order of their numbers.
    pub kind: String,
    /// How many.
    pub count: u32,
    /// Requests that a thread has under way at once, to all devices together.
    pub outstanding: u32,
    /// What stores do behind a request that is not answered.
    pub younger_stores: YoungerStores,
    /// Where the answers to posted requests are written.
    pub posted_to: PostedTo,
    /// Requests of a thread come to a device in the order in which they were made, whatever way they took: each has a number.
    pub numbers: bool,
    /// Queue ids of programs, where queue devices have a QIMU before them.
    pub translation: Translation,
    /// How packets reach them.
    pub link: Link,
    /// [`Link::Network`]: the nodes that they hang on.
    pub placement: Placement,
    /// Clock, port and prices of a device whose kind says nothing else.
    pub all: Attachment,
    /// What `[device]` says of keys that kinds have: `latency` and `words`.
    pub shared: Settings,
    /// What the kinds have of their own, in the order of [`kinds`]: `[device.mailbox]` beside `[device]`.
    pub own: Vec<Settings>,
}

/// What any device has: a clock, a port, wires or packets, and what the core pays for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attachment {
    /// The clock of the device.
    pub clock: Hertz,
    /// Requests that have come and that the device has not taken yet, at most; `None`: without bound.
    pub places: Option<u32>,
    /// [`Link::Dedicated`]: one way, in cycles of the core's clock.
    pub way: Option<Cycles>,
    /// [`Link::Network`]: flits of a packet.
    pub flits: Option<u32>,
    /// A system call to it, beside the request's own way.
    pub call: Cycles,
    /// Taking its interrupt, on the core.
    pub interrupt: Cycles,
}

/// What the chip file says of one device.
#[derive(Clone, Debug)]
pub struct OneDevice {
    /// The kind of the device.
    pub kind: &'static DeviceKind,
    /// Clock, port and prices.
    pub attachment: Attachment,
    /// The values of its kind's keys; one may be missing in a chip that was not read from a file.
    pub settings: Settings,
}

/// Translation of queue ids (CAF, section 5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Translation {
    /// Ids that a process can have at a time; `None`: there is no QIMU, and programs use the devices' own ids.
    pub ids: Option<u32>,
    /// Entries of a context's QTLB.
    pub qtlb: Option<u32>,
    /// Where a queue is made.
    pub home: QueueHome,
}

choice! {
    /// The device at which a queue is made.
    QueueHome {
        /// The one that the program names.
        #[default] Named = "named",
        /// The one with the fewest hops to the core that asks, of those that have room.
        Nearest = "nearest",
    }
}

choice! {
    /// How packets reach a device.
    Link {
        /// Wires of its own, of a fixed length, on which nothing waits.
        #[default] Dedicated = "dedicated",
        /// The network of a coherent chip; requests and answers have virtual networks of their own.
        Network = "network",
    }
}

choice! {
    /// What stores do behind a request that is not answered.
    YoungerStores {
        /// They wait: the store buffer is a queue.
        #[default] Wait = "wait",
        /// They are written, in their order, as soon as their lines are owned.
        Pass = "pass",
    }
}

choice! {
    /// Where the answer to a posted request is written: either way no core has an older copy of its line afterwards.
    PostedTo {
        /// In the shared level, where the thread's next look finds it, as devices write on today's servers.
        #[default] Home = "home",
        /// In the private caches of the core that asked.
        Core = "core",
    }
}

impl Devices {
    /// The kind of a device, by its number in [`kinds`].
    pub fn kind_of(&self, device: u32) -> usize {
        let mut names = self.kind.split_whitespace();
        let first = names.next().unwrap_or_default();
        let name = match device {
            0 => first,
            _ => names.nth(device as usize - 1).unwrap_or(first),
        };
        kinds().iter().position(|kind| kind.name == name).unwrap_or(0)
    }

    /// What one device has: the values of its kind where those of all differ.
    pub fn one(&self, device: u32) -> OneDevice {
        let (kind, own) = (&kinds()[self.kind_of(device)], &self.own[self.kind_of(device)]);
        let all = &self.all;
        let attachment = Attachment {
            clock: own.whole("clock_hz").map_or(all.clock, Hertz),
            places: own.whole("places").map(|places| places as u32).or(all.places),
            way: own.whole("way").map(Cycles).or(all.way),
            flits: own.whole("flits").map(|flits| flits as u32).or(all.flits),
            call: own.whole("call").map_or(all.call, Cycles),
            interrupt: own.whole("interrupt").map_or(all.interrupt, Cycles),
        };
        let mut settings = Settings::default();
        for key in kind.keys {
            if let Some(value) = own.get(key.name).or(self.shared.get(key.name)) {
                settings.set(key.name, value.clone());
            }
        }
        OneDevice { kind, attachment, settings }
    }

    /// [`Devices::one`] of each, in the order of their numbers.
    pub fn each(&self) -> impl Iterator<Item = OneDevice> + '_ {
        (0..self.count).map(|device| self.one(device))
    }

    /// The kind's number, and the key's name within the kind's table.
    pub fn missing(&self) -> Option<(&'static DeviceKind, &'static OwnKey)> {
        self.each().find_map(|one| {
            let key = one.kind.keys.iter().find(|key| one.settings.get(key.name).is_none())?;
            Some((one.kind, key))
        })
    }
}

impl Default for Devices {
    fn default() -> Devices {
        Devices {
            kind: kinds()[0].name.to_owned(),
            count: 1,
            outstanding: 1,
            younger_stores: YoungerStores::default(),
            posted_to: PostedTo::default(),
            numbers: true,
            translation: Translation::default(),
            link: Link::default(),
            placement: Placement::default(),
            all: Attachment {
                clock: Hertz(1_000_000_000),
                places: None,
                way: None,
                flits: None,
                call: Cycles(0),
                interrupt: Cycles(0),
            },
            shared: Settings::default(),
            own: vec![Settings::default(); kinds().len()],
        }
    }
}

/// Where devices hang on a grid or ring.
pub const PLACEMENT: &str = "\"all\" or the nodes as in \"2 3 4 5\"";

/// Reads [`PLACEMENT`].
pub fn placement(text: &str) -> Option<Placement> {
    Placement::parse(text).filter(|placement| matches!(placement, Placement::All | Placement::Nodes(_)))
}
