//! Devices of a simulation: how packets reach them and come back, their clocks, and what an interrupt does at its core. What a
//! device is, and the kinds that there are, is `peripheral`'s part, which this room passes on; `docs/devices.md` shows the
//! steps to a new one.
//!
//! A device hangs on a node of the network, in virtual networks of its own, or on wires of its own (`device.link`). A guest
//! reaches it by [`Devices`](baton_machine::Devices) or [`Simulated::device`](crate::Simulated::device): a request is
//! a packet, its answer another one, and a thread that waits for the answer stalls its core. A device's configuration comes
//! by system call; it can interrupt a core.
//!
//! | file | holds |
//! | --- | --- |
//! | `entry` | the way into a device: places, and requests that wait for one |
//! | `packet` | requests with their answers, and interrupts, while they are under way |
//! | `agenda` | what happens when |
//! | `qimu` | queue ids of programs, and what cores keep of their translation |
//! | `subjects` | whose requests a CPU sends, and which threads have credits |
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
