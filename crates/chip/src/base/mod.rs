//! What every room of the chip may use and what uses none of them: [`event`] says what happens at a time, packed into a
//! number, and [`stop`] ends a run from outside. The order of events, tokens, clock ratios, random numbers and counters
//! come from `baton-memory`, which uses them as well.

pub(crate) mod event;
pub(crate) mod stop;

pub(crate) use baton_memory::base::{counter, queue, random, ratio, thread, token};
