//! Network on chip: topology, routing, routers, arbitration and traffic.
//!
//! A [`Network`] is stepped one cycle at a time. Packets go in with [`Network::inject`] and come
//! out at a [`Sink`].

#![warn(missing_docs)]
#![doc = include_str!("../README.md")]

pub mod allocator;
pub mod arbiter;
mod config;
pub mod energy;
mod error;
pub mod experiment;
pub mod explain;
mod network;
pub mod ocor;
mod packet;
mod rank;
mod rng;
pub mod routing;
pub mod topology;
pub mod trace;
pub mod traffic;

pub use config::{ClockDomain, Config, EndpointBound, Latencies, Pipeline};
pub use error::NocError;
pub use network::{ChannelView, Journey, JourneyStep, Loops, Network, Stuck};
pub use packet::{Delivered, Header, Packet, PacketId, Sink};
pub use rank::Rank;
pub use rng::{Rng, threshold};
