//! What the memory system and the simulated machine around it share: the order of events, tokens, clock ratios, random
//! numbers, counters.
//!
//! | file | holds |
//! | --- | --- |
//! | [`counter`] | how counters are declared: name, unit, meaning |
//! | [`thread`] | numbers of guest threads |
//! | [`token`] | what a request to the memory system carries with it |
//! | [`queue`] | the event queue, and the rank of an event among those of its moment |
//! | [`ratio`] | a clock as a fraction of the reference |
//! | [`random`] | the seeded generator, split by purpose |

#[macro_use]
pub mod counter;
pub mod queue;
pub mod random;
pub mod ratio;
pub mod thread;
pub mod token;
