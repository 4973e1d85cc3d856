//! The devices of a simulation: how packets reach them and return, and their clocks. What a device
//! is, and the kinds of devices, are in `baton_chipfile::peripheral`, which this room re-exports.
//! `docs/devices.md` shows the steps to a new device.
//!
//! A device is attached to a node of the network, in virtual networks of its own, or to wires of
//! its own (`device.link`). A guest reaches it through [`Devices`](baton_machine::Devices) or
//! [`Simulated::device`](crate::Simulated::device). A request is a packet and its answer is
//! another; a thread that waits for the answer stalls its core. A device is configured by system
//! call, and can interrupt a core.
//!
//! | file | holds |
//! | --- | --- |
//! | `entry` | the entry of a device: places, and requests that wait for one |
//! | `packet` | requests with their answers, and interrupts, while they are under way |
//! | `agenda` | the future events of devices and packets |
//! | `qimu` | queue ids of programs, and the translations that each hardware context caches |
//! | `subjects` | the thread and process for which a CPU sends, and threads known to devices |
//! | `attached` | what happens to packets, and the devices' clocks |
//! | `threads` | what devices are told of threads that run and end |

pub(crate) mod agenda;
pub(crate) mod attached;
mod entry;
pub(crate) mod packet;
pub(crate) mod qimu;
pub(crate) mod subjects;
mod threads;

pub use baton_chipfile::peripheral::*;
