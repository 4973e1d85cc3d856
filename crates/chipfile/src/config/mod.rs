//! What a chip is: the keys of a chip file, as one typed value.
//!
//! | file | holds |
//! | --- | --- |
//! | [`chip`] | the chip as one value |
//! | [`cores`], [`clocks`] | cores, and the clocks that they begin with |
//! | [`kinds`], [`by_kind`] | kinds of cores: what a chip file says of them, and what the cores of each have |
//! | [`cache`] | distances between cores, and the prices of caches of fixed latencies |
//! | [`coherent`] | caches, directory, homes, memory controllers and network of a coherent chip |
//! | [`waits`] | the prices of the wait policies |
//! | [`os`] | the operating system |
//! | [`phases`] | the coarse mode |
//! | [`device`](mod@device) | devices |
//! | [`energy`] | the prices of energy |
//! | [`mechanism`] | what marks lock and wake-up requests: a folder each, with its keys and its rules |
//! | [`value`], [`limits`] | what a key's value may be (re-exported); bounds that keys share |
//! | `choice`, `texts` | keys whose value is one of a few words, or a small text |
//! | [`keys`] | the table of keys: path, unit, range, what it is for; reading, writing and the docs come from it |
//! | `geometry` | which values must fit together |
//! | [`read`] | strict reading: an unknown key is an error that names the nearest known one |
//! | [`write`](mod@write) | the whole configuration as a chip file again |
//! | `scale` | the chip with another number of cores |
//! | [`window`] | the chip with the smallest or the largest window |
//! | [`plan`] | where everything hangs in the network |
//! | [`prices`] | what single accesses cost on an idle chip, of either memory model |
//!
//! The room uses nothing above it. The keys are explained in `docs/reference/chip-file.md`.

pub mod by_kind;
pub mod cache;
pub mod chip;
mod choice;
pub mod clocks;
pub mod coherent;
pub mod cores;
pub mod device;
pub mod energy;
mod geometry;
pub mod keys;
pub mod kinds;
pub mod limits;
pub mod mechanism;
pub mod os;
pub mod phases;
pub mod plan;
pub mod prices;
pub mod read;
mod scale;
mod texts;
pub mod waits;
pub mod window;
pub mod write;

pub use by_kind::{CoresByKind, Private};
pub use cache::{ByDistance, Cache, Distance};
pub use chip::{Chip, MemoryModel, Noise};
pub use clocks::{CoreClock, CoreClocks};
pub use coherent::Coherent;
pub use cores::Core;
pub use os::{FutexHome, IdleStates, Ipi, OffCores, Os, SchedulerName, WakeEntry, WakeSpread};
pub use plan::Plan;
pub use prices::Prices;
pub use read::{ChipError, ChipText, Problem};
pub use waits::{Evicted, Halt, Level, MonitorPrice, Mwait, SystemCall, WaitPrices};
pub use window::WindowSize;

pub use crate::value;
