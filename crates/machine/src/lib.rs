//! The interface between an algorithm and the machine that runs it.
//!
//! A lock, barrier, event or queue is written once, generic over [`Machine`], and runs on three of
//! them: [`Native`] (the real atomics and wait instructions), `Simulated` (crate `chip`: every
//! operation is a memory transaction of a modelled many-core) and `Checked` (crate `check`: shuttle
//! and loom).
//!
//! | room | holds |
//! | --- | --- |
//! | [`Machine`] | the operations that every machine has |
//! | [`cell`] | values of atomic cells, and the traits of cells and slots |
//! | [`wait`] | wait policies, deadlines |
//! | [`Devices`] | an extension of [`Machine`] for machines that have devices |
//! | [`device`] | devices: protocols, requests and answers |
//! | [`queues`] | the protocol of CAF's queue device, and of its queues with flows |
//! | [`notice`] | what a thread tells the scheduler about itself |
//! | [`phase`] | computations described by instruction and cache figures, for machines that can simulate them |
//! | [`local`] | storage of a guest thread |
//! | [`shared`] | storage that all threads of one machine share |
//! | [`memory`] | guest memory: [`Owned`] values with the layout they have on the host |
//! | [`native`] | the real machine that this program runs on |
//! | [`Unwaited`] | a machine that never waits, for counting instructions |
//! | [`discover`] | what the processor and the kernel report about this machine |

#![warn(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!("baton-machine runs on Linux only: its threads sleep in futexes");

pub mod cell;
mod counted;
pub mod device;
mod devices;
pub mod discover;
pub mod local;
mod machine;
pub mod memory;
pub mod native;
pub mod notice;
pub mod phase;
pub mod queues;
pub mod shared;
mod site;
mod unwaited;
pub mod wait;

pub use cell::{Atomic, Slot, Word};
pub use core::sync::atomic::Ordering;
pub use counted::{Counted, CountedBulk};
pub use devices::Devices;
pub use local::Local;
pub use machine::{LockHint, Machine, PushTo, Section};
pub use memory::{Owned, OwnedSlice};
pub use native::Native;
pub use notice::{LockNotice, Notice};
pub use phase::{Behaviour, WorkingSet};
pub use queues::flows;
pub use shared::Shared;
pub use site::Site;
pub use unwaited::{Alone, Unwaited};
pub use wait::{Clock, Deadline, Unavailable, Wait, WaitResult};

pub use baton_units as units;
