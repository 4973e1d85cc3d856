//! Writes a trace from inside a running program, at a few nanoseconds an event.
//!
//! A [`Session`] for each process owns the events file and hands out segments of it; a
//! [`ThreadWriter`] for each thread fills them. Neither allocates, locks, or calls anything that
//! could be interposed; `errno` is preserved; everything may run in a signal handler that
//! interrupted another event.
//!
//! The program may be killed at any moment: segments are shared mappings of the file, so what has
//! been stored belongs to the kernel, and a record's kind byte is stored last, so that a
//! half-written record reads as not written.
//!
//! Signal handlers are safe: the cursor is the only word that decides which code owns a slot, and
//! it advances by a compare-and-exchange that a handler on the same thread cannot tear. A handler
//! that runs while a new segment is being created creates its own; code that loses the exchange
//! keeps its segment as a spare.

mod payload;
mod segment;
mod session;
mod sites;
mod thread;

pub use payload::ModuleInfo;
pub use session::{OpenError, Options, Session, StopReason};
pub use sites::{SiteAnswer, SiteTable};
pub use thread::ThreadWriter;
