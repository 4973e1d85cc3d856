//! Packets that travel through queues: CAF's packet applications (Wang and others, PACT 2016,
//! section 4.2).
//!
//! Packets lie in buffers of 2 KB. The buffers' numbers come out of a pool that is itself a queue,
//! go through the queues between the threads, and return to the pool.
//!
//! | file | holds |
//! | --- | --- |
//! | `flow` | how packets move: settings that the applications share |
//! | `pool` | the pool, marks of its numbers, and how a bulk is worked on and passed on |
//! | [`clusters`] | a pipeline of clusters of threads |
//! | [`firewall`] | a source, filters, an analyser, a sink |
//! | `guarded` | the firewall on queues with flows |
//! | `tally` | what a firewall's threads count |
//! | `traffic` | the packets: a capture's, or made ones |
//! | `pcap` | captures |
//! | `header` | addresses, protocol and ports of a packet |
//! | `rules` | a firewall's rules |
//! | `buffers` | the buffers |
//! | `link` | the queues from stage to stage |
//! | `named` | both as workloads, with a queue by name |

mod buffers;
pub mod clusters;
pub mod firewall;
mod flow;
mod guarded;
mod header;
mod link;
mod named;
mod pcap;
mod pool;
mod rules;
mod tally;
mod traffic;

pub use buffers::{BLOCK_BYTES, BLOCKS, BUFFER_BYTES};
pub use flow::Flow;
pub use header::{Fields, LinkType, fields};
pub use named::{Clusters, Firewall};
pub use pcap::Capture;
pub use rules::{Action, Rules};
pub(crate) use traffic::FLOWS;
pub use traffic::{Packet, SUSPICIOUS_PORT, Traffic};
