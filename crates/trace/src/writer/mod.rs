//! Writing a trace from inside a running program, at a few nanoseconds an event.
//!
//! One [`Session`] a process owns the events file and hands out segments of it; one [`ThreadWriter`] a thread fills them. Neither
//! allocates, locks, or calls anything that could be interposed; `errno` stays as it is; all of it may run in a signal
//! handler that struck in the middle of another event.
//!
//! What makes it safe to be killed at any moment: segments are shared mappings of the file, so what has been stored is the
//! kernel's; a record's kind byte is stored last, so that a half-written one reads as not written.
//!
//! What makes it safe inside a signal handler: the cursor is the only word that decides who owns a slot, and it moves by a
//! compare-and-exchange that a handler on the same thread cannot tear. A handler that runs while a new segment is being made
//! makes one of its own; a thread that loses the exchange keeps its own as a spare.

mod payload;
mod segment;
mod session;
mod sites;
mod thread;

pub use payload::ModuleInfo;
pub use session::{OpenError, Options, Session, StopReason};
pub use sites::{SiteAnswer, SiteTable};
pub use thread::ThreadWriter;
