//! Traffic: which node sends to which, how much, and when.
//!
//! A [`Flow`] is one stream of packets with a pattern of destinations, a rate, a length and a
//! header. Several flows can run at once; each has its own random streams, so that adding one
//! changes nothing in the others.
//!
//! An *open* flow sends no matter what happens to its packets. A *closed* flow has a limit on the
//! packets under way, or a total number of packets. With a [`Reply`], each packet of a flow is a
//! request that the destination answers.

mod flow;
mod gaps;
mod injector;
mod pattern;

pub use flow::{Flow, Reply};
pub use gaps::Gaps;
pub use injector::Injector;
pub use pattern::{Destinations, PATTERNS, Pattern};
