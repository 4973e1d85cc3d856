//! The devices of a chip: kinds, number, nodes of the network, and the way in which packets reach a
//! device.

use super::choice::choice;
use super::texts::Placement;
use crate::peripheral::{DeviceKind, DeviceSettings, OwnKey, kinds};
use baton_units::{Cycles, Hertz};

/// The devices of a chip, and what they have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Devices {
    /// Names of [`kinds`], with spaces between them: one name for all devices, or one for each, in
    /// the order of the devices' numbers.
    pub kind: String,
    /// Number of devices.
    pub count: u32,
    /// Number of requests that a thread can have under way at once, to all devices together.
    pub outstanding: u32,
    /// Whether stores wait for an earlier request that has no answer yet.
    pub younger_stores: YoungerStores,
    /// The caches into which the answers to posted requests are written.
    pub posted_to: PostedTo,
    /// Whether the requests of a thread reach a device in the order in which the thread made them,
    /// on whatever paths; each request then has a number.
    pub numbers: bool,
    /// The translation of the queue ids that programs use, for queue devices with a QIMU before
    /// them.
    pub translation: Translation,
    /// The way in which packets reach the devices.
    pub link: Link,
    /// The nodes at which the devices are, with [`Link::Network`].
    pub placement: Placement,
    /// The clock, port and prices of a device whose kind gives no others.
    pub all: Attachment,
    /// The values in `[device]` for keys that kinds also have: `latency` and `words`.
    pub shared: DeviceSettings,
    /// The values of the kinds' own tables (such as `[device.mailbox]`), in the order of [`kinds`].
    pub own: Vec<DeviceSettings>,
}

/// The settings that every device has: a clock, a port, wires or packets, and the prices that the
/// core pays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attachment {
    /// The clock of the device.
    pub clock: Hertz,
    /// Largest number of requests that have arrived and that the device has not taken yet; `None`:
    /// without bound.
    pub places: Option<u32>,
    /// Cycles of the core's clock for one way, with [`Link::Dedicated`].
    pub way: Option<Cycles>,
    /// Number of flits of a packet, with [`Link::Network`].
    pub flits: Option<u32>,
    /// The price of a system call to the device, in addition to the way of its request.
    pub call: Cycles,
    /// The price of taking an interrupt of the device, on the core.
    pub interrupt: Cycles,
}

/// The settings of one device in the chip file.
#[derive(Clone, Debug)]
pub struct OneDevice {
    /// The kind of the device.
    pub kind: &'static DeviceKind,
    /// The clock, port and prices of the device.
    pub attachment: Attachment,
    /// The values of the keys of the device's kind. A value can be missing in a chip that was not
    /// read from a file.
    pub settings: DeviceSettings,
}

/// The translation of queue ids (CAF, section 5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Translation {
    /// Number of ids that a process can have at once; `None`: the chip has no QIMU, and programs
    /// use the ids of the devices.
    pub ids: Option<u32>,
    /// Number of entries in the QTLB of a context.
    pub qtlb: Option<u32>,
    /// The device at which a queue is made.
    pub home: QueueHome,
}

choice! {
    /// The device at which a queue is made.
    QueueHome {
        /// The device that the program names.
        #[default] Named = "named",
        /// Among the devices that have room, the one with the fewest hops to the core that asks.
        Nearest = "nearest",
    }
}

choice! {
    /// The way in which packets reach a device.
    Link {
        /// Wires of a fixed length for each device; packets on them do not wait for each other.
        #[default] Dedicated = "dedicated",
        /// The network of a coherent chip, with virtual networks for requests to devices and for
        /// their answers.
        Network = "network",
    }
}

choice! {
    /// Whether stores wait for an earlier request that has no answer yet.
    YoungerStores {
        /// Stores behind a request without an answer wait: the store buffer is a queue.
        #[default] Wait = "wait",
        /// Stores behind a request without an answer are written in their order, as soon as the
        /// core owns their lines.
        Pass = "pass",
    }
}

choice! {
    /// The caches into which the answer to a posted request is written. In both cases no core has
    /// an older copy of the line afterwards.
    PostedTo {
        /// The shared level, where the thread's next look finds the answer; devices of today's
        /// servers write there.
        #[default] Home = "home",
        /// The private caches of the core that asked.
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

    /// Returns the settings of one device. Where the kind of the device gives no value, the value
    /// for all devices applies.
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
        let mut settings = DeviceSettings::default();
        for key in kind.keys {
            if let Some(value) = own.get(key.name).or(self.shared.get(key.name)) {
                settings.set(key.name, value.clone());
            }
        }
        OneDevice { kind, attachment, settings }
    }

    /// Returns [`Devices::one`] of each device, in the order of device numbers.
    pub fn each(&self) -> impl Iterator<Item = OneDevice> + '_ {
        (0..self.count).map(|device| self.one(device))
    }

    /// Returns the first key for which a device needs a value and has none, with the device's kind.
    pub fn missing(&self) -> Option<(&'static DeviceKind, &'static OwnKey)> {
        self.each().find_map(|one| {
            let key = one.kind.keys.iter().find(|key| key.needed && one.settings.get(key.name).is_none())?;
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
            shared: DeviceSettings::default(),
            own: vec![DeviceSettings::default(); kinds().len()],
        }
    }
}

/// A description of the texts that name the nodes of devices on a grid or ring.
pub const PLACEMENT: &str = "\"all\" or the nodes as in \"2 3 4 5\"";

/// Reads [`PLACEMENT`].
pub fn placement(text: &str) -> Option<Placement> {
    Placement::parse(text).filter(|placement| matches!(placement, Placement::All | Placement::Nodes(_)))
}
