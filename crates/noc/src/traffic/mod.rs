//! Traffic: who sends to whom, how much, when.
//!
//! A [`Flow`] is one stream of packets: a pattern of destinations, a rate, a length, a header. Several flows run at
//! once, each with random streams of its own, so that adding one changes nothing in the others.
//!
//! An *open* flow sends whatever becomes of its packets. A *closed* one has a bound on what is under way, or a number
//! of packets in all; with a [`Reply`] each of its packets is a request that the destination answers.

mod flow;
mod gaps;
mod injector;
mod pattern;

pub use flow::{Flow, Reply};
pub use gaps::Gaps;
pub use injector::Injector;
pub use pattern::{Destinations, PATTERNS, Pattern};
