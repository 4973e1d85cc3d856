//! The memory system as the engine sees it: requests go in; the moments when they are served, and the lines that cores
//! lose, come out.
//!
//! This is the border behind which fixed latencies or caches with a directory and a network stand. The engine knows
//! nothing of what is behind it but [`Memory`] and [`Transport`]; values live in guest memory and are read or written by
//! the guest at the moment when its request is served, so a memory system deals in lines and time only.
//!
//! This room uses `base`, `config` and other crates. Its own files, each of which uses only files that stand above it here:
//!
//! | file | holds |
//! | --- | --- |
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

pub(crate) mod border;
pub(crate) mod coherent;
pub(crate) mod contract;
pub(crate) mod counts;
mod fills;
pub(crate) mod fixed;
pub(crate) mod lines;
pub(crate) mod packets;
pub(crate) mod parts;
pub(crate) mod phases;
pub(crate) mod system;

pub(crate) use border::{Access, Answer, Line, Notice, Request, Served};
pub(crate) use contract::{Memory, Transport};
pub use counts::{CoreCounts, MemoryCounts, NetworkCounts};
pub(crate) use packets::{Carried, Interrupt, InterruptEnd};
pub use parts::MEMORY_PARTS;
pub(crate) use parts::{PARTS, Part, Parts};
pub(crate) use system::MemorySystem;
