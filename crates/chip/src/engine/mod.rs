//! The engine: time, threads, and what happens next.
//!
//! A step takes the next event and either handles it or says which guest runs on. Guest code takes
//! no time by itself: a guest runs until its next operation, which the memory system or the
//! operating system turns into an event.
//!
//! An operation that ends before any other event is finished at once, without going through the
//! queue. The history is the same, with fewer steps.
//!
//! | file | holds |
//! | --- | --- |
//! | [`state`] | the engine's state, in parts that the rooms own |
//! | [`step`] | the next event |
//! | [`access`] | accesses of the running thread |
//! | [`thread`] | a guest thread |
//! | [`reason`] | the reasons of a thread's cycles |
//! | [`stats`] | the counters of a thread |
//! | [`waiting`] | the wait that a thread is in |
//! | [`saved`] | what a thread was doing when a signal handler interrupted it |
//! | [`spin`] | waits that watch a line: tries that are counted, not simulated |
//! | [`locks`] | changes of watched lock words, and what threads do while they wait for locks |
//! | [`idle_wait`] | waits during which the CPU stands still: in a monitor, or halted |
//! | [`current`] | the engine of the running guest code, and how a guest suspends |

pub(crate) mod access;

pub(crate) mod current;
pub(crate) mod idle_wait;
pub(crate) mod locks;
pub(crate) mod reason;
pub(crate) mod saved;
pub(crate) mod spin;
pub(crate) mod state;
pub(crate) mod stats;
pub(crate) mod step;
pub(crate) mod thread;
pub(crate) mod waiting;
