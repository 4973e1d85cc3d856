//! What every room of the chip may use and what uses none of them: the order of events, clock ratios, random numbers,
//! what a counter is.
//!
//! | file | holds |
//! | --- | --- |
//! | [`counter`] | how counters are declared: name, unit, meaning |
//! | [`event`] | what happens at a time, packed into a number |
//! | [`thread`] | numbers of guest threads |
//! | [`token`] | what a request to the memory system carries with it |
//! | [`queue`] | the event queue, and the rank of an event among those of its moment |
//! | [`ratio`] | a clock as a fraction of the reference |
//! | [`random`] | the seeded generator, split by purpose |
//! | [`value`] | what a configuration key's value may be |

pub(crate) mod counter;
pub(crate) mod event;
pub(crate) mod queue;
pub(crate) mod random;
pub(crate) mod ratio;
pub(crate) mod thread;
pub(crate) mod token;
pub mod value;
