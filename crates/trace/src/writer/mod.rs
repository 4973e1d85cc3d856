//! Writes a trace from inside a running program, at a few nanoseconds an event.
//!
//! A [`Session`] for each process owns the events file and hands out segments of it; a
//! [`ThreadWriter`] for each thread fills them. Neither of them allocates or locks. The functions
//! that they call cannot be interposed, except for `getauxval`, and `clock_gettime` where that is
//! the trace's clock. `errno` is preserved; a signal handler may record events even if it
//! interrupted the recording of another event.
//!
//! The program may be killed at any moment: segments are shared mappings of the file, so the kernel
//! keeps what has been stored, and a record's kind byte is stored last, so that a half-written
//! record reads as not written.
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
