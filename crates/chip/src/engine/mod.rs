//! The engine: time, threads, and what happens next.
//!
//! One step takes the next event and either handles it or says which guest runs on. Guest code itself takes no time:
//! a guest runs until its next operation, which the memory system or the operating system turns into an event.
//!
//! An operation that ends before anything else happens is finished at once, without a trip through the queue. That is
//! the same history with fewer steps.
//!
//! | file | holds |
//! | --- | --- |
//! | [`state`] | the engine's state: what is simulated, in parts that the rooms own |
//! | [`above`] | what the rooms below the kernel ask of it |
//! | [`access`] | the running thread: its core, and the end of its operations |
//! | [`thread`] | a guest thread |
//! | [`reason`] | where a thread's cycles go |
//! | [`stats`] | what is counted of a thread |
//! | [`waiting`] | the wait that a thread is in |
//! | [`spin`] | waits that watch a line: tries that are counted, not simulated |
//! | [`locks`] | changes of watched lock words, and what threads do while they wait for locks |
//! | [`idle_wait`] | waits in which the CPU stands still: with a monitor, or halted |
//! | [`current`] | the engine of the code that runs, and how a guest suspends |

pub(crate) mod above;
pub(crate) mod access;
pub(crate) mod current;
pub(crate) mod idle_wait;
pub(crate) mod locks;
pub(crate) mod reason;
pub(crate) mod spin;
pub(crate) mod state;
pub(crate) mod stats;
pub(crate) mod thread;
pub(crate) mod waiting;
