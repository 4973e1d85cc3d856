//! Coherent caches on a network: every message of the protocol is a packet.
//!
//! A core's request goes to its private caches (`cores`). On a miss a message travels to the line's home (`home_steps`),
//! which answers from its bank (`bank`) or from memory (`controller`), or has another core answer. Which unit may do what is
//! in the tables of `baton-coherence`; this room adds places, time and queues.
//!
//! Three kinds of type: what is **configured** ([`spec`]), **state**, which is plain data (`chip::State`: the units and what
//! they share), and **wiring** (`chip::Wiring`: the network). A unit's step gets the configuration, what the units share
//! ([`exchange`]) and its own state, never another unit.
//!
//! | file | holds |
//! | --- | --- |
//! | [`message`] | messages under way |
//! | [`places`] | which home and controller a line belongs to |
//! | [`core_times`] | latencies that scale with a core's clock |
//! | [`spec`] | what is configured |
//! | [`packet`] | what messages are as packets |
//! | [`counts`] | what is counted |
//! | [`golden`] | values checked against a golden memory, in debug builds |
//! | [`exchange`] | what the units share: messages, their events, notices, counts |
//! | [`mod@array`] | tag arrays with replacement |
//! | [`private`] | transactions, waiting accesses, pins |
//! | [`caches`] | the private caches of all cores |
//! | [`effects`] | what the rows do to a core's caches |
//! | [`cores`] | the steps of a core's caches |
//! | [`homes`] | directory entries and banks |
//! | [`bank`] | the shared level |
//! | [`home_effects`] | what the rows do at a home |
//! | [`home_steps`] | the steps of a home |
//! | [`order`] | which request a home serves next, where marks decide |
//! | [`controller`] | memory controllers |
//! | [`net`] | the network |
//! | [`chip`] | the whole, and time in it |
//! | [`inspect`] | what must hold at the end; what waits for what when a run hangs |
//! | [`verbs`] | what the engine asks of it |
//! | [`build`] | chip file → memory system |

mod array;
mod bank;
mod build;
mod caches;
mod chip;
mod controller;
mod core_times;
mod cores;
mod counts;
mod effects;
mod exchange;
mod golden;
mod home_effects;
mod home_steps;
mod homes;
mod inspect;
#[cfg(test)]
mod link_tests;
mod message;
mod net;
mod order;
mod packet;
mod places;
mod private;
mod spec;
#[cfg(test)]
mod tests;
mod verbs;

pub use build::Unbuilt;
pub use chip::Coherent;
