//! The memory system as the engine sees it: requests go in; the moments when they are served, and the lines that cores
//! lose, come out.
//!
//! This is the border behind which fixed latencies or caches with a directory and a network stand. The engine knows
//! nothing of what is behind it but [`Memory`] and [`Transport`]; values live in guest memory and are read or written by
//! the guest at the moment when its request is served, so a memory system deals in lines and time only.
//!
//! Each room uses only rooms that stand above it here (`docs/rooms.md`, which `crates/cli/tests/house/floors` checks):
//!
//! | room | holds |
//! | --- | --- |
//! | [`base`] | what the engine uses, too: the order of events, tokens, clock ratios, random numbers, counters |
//! | [`lines`] | arrays that are indexed by line |
//! | [`parts`] | where a request's cycles went |
//! | [`border`] | requests, answers, notices: what crosses the border |
//! | [`packets`] | packets of devices, and interrupts |
//! | [`counts`] | what is counted |
//! | [`contract`] | the traits: accesses, and the transport of packets |
//! | [`fixed`] | caches of fixed latencies, one owner a line, requests of a line in order of arrival |
//! | `fills` | lines on their way to a core whose hardware threads share its cache |
//! | [`phases`] | the coarse mode: the rates of computations that are said by their figures |
//! | [`coherent`] | caches, a directory, memory controllers, and a network that every message travels on |
//! | [`system`] | the memory systems behind one type |

#[macro_use]
pub mod base;
pub mod border;
pub mod coherent;
pub mod contract;
pub mod counts;
mod fills;
pub mod fixed;
pub mod lines;
pub mod packets;
pub mod parts;
pub mod phases;
pub mod system;

pub use border::{Access, Answer, Line, Notice, Request, Served};
pub use contract::{Memory, Transport};
pub use counts::{CoreCounts, MemoryCounts, NetworkCounts};
pub use packets::{Carried, Interrupt, InterruptEnd};
pub use parts::MEMORY_PARTS;
pub use parts::{PARTS, Part, Parts};
pub use system::MemorySystem;
