//! The synchronization trace: events, file format, reader, analysis.
//!
//! # The parts
//!
//! | part | purpose | users |
//! | --- | --- | --- |
//! | [`event`] | what a thread did, as types: [`Event`], [`What`] | all |
//! | [`record`] | the 16 bytes of an event | writer, reader |
//! | [`writer`] | recording from inside a running program: [`Session`](writer::Session), [`ThreadWriter`](writer::ThreadWriter) | `preload`, `capi` |
//! | [`Trace`] | a whole trace, from a directory or from memory | `report`, `replay` |
//! | [`TraceBuilder`] | a trace built in memory, with any clock | `chip`, tests |
//! | [`analysis`] | waits, holds, competition overhead, blame, critical path | `report`, `chip` |
//! | [`Meta`] | what the launcher knows about a run | `cli` |
//! | [`last_look`] | the threads that the launcher saw shortly before the end | `cli` |
//! | [`point`] | progress points as a user names them | `cli` |
//! | [`disturbance`] | whether other programs used the CPUs meanwhile | `cli`, `replay`, `report` |
//! | [`write_out`](mod@write_out) | has the kernel write out a recording while it is made | `cli` |
//! | [`counts`] | calls that a running program counts for `baton try --for` | `preload`, `host` |
//!
//! # Recording
//!
//! ```no_run
//! use baton_trace::writer::{Options, Session, ThreadWriter};
//! use baton_trace::{Lock, Mode, SiteId, What};
//!
//! static SESSION: Session = Session::new();
//! thread_local! { static PEN: ThreadWriter = const { ThreadWriter::new() } }
//!
//! SESSION.open(c"trace.dir", Options::default())?;
//! let (lock, mode, site) = (Lock::mutex(0x1000), Mode::Exclusive, SiteId(1));
//! PEN.with(|pen| {
//!     // … the lock was free and has been taken:
//!     pen.post_ordered(&SESSION, What::Acquire { lock, mode, site });
//!     // … it is about to be released:
//!     pen.post(&SESSION, What::Release { lock, mode, site: SiteId::UNKNOWN });
//!     pen.finish(); // the thread's last act
//! });
//! SESSION.finish();
//! # Ok::<(), baton_trace::writer::OpenError>(())
//! ```
//! A thread gets its number and its first segment with its first event. `post` stamps before the
//! act that follows, `post_ordered` after the act that precedes it. In a forked child, call
//! [`Session::reopen_after_fork`](writer::Session::reopen_after_fork) and
//! [`ThreadWriter::forget`](writer::ThreadWriter::forget), with signals blocked since before the
//! fork.
//!
//! # Reading
//!
//! ```no_run
//! let trace = baton_trace::Trace::open("trace.dir".as_ref())?;
//! for loss in &trace.losses {
//!     eprintln!("{loss}");
//! }
//! for event in trace.events() {
//!     println!("{} {:?}", trace.clock.nanos(event.time.0), event.what);
//! }
//! # Ok::<(), baton_trace::ReadError>(())
//! ```
//! [`Trace::events_of`] is for a pass that needs few kinds of events: it skips segments that
//! contain none of them.
//!
//! `docs/reference/trace-format.md` describes the files byte by byte.

#![warn(missing_docs)]

mod affinity;
pub mod analysis;
mod builder;
pub mod clock;
pub mod counts;
pub mod disturbance;
mod ends;
pub mod event;
pub mod files;
mod kinds;
pub mod last_look;
mod layout;
pub mod meta;
pub mod notes;
mod open;
pub mod point;
mod process;
mod reader;
pub mod record;
mod stream;
pub mod sys;
mod trace;
pub mod write_out;
pub mod writer;

pub use affinity::Affinity;
pub use builder::TraceBuilder;
pub use clock::{Clock, Source, Ticks};
pub use event::{
    Address, Construct, Event, FutexEnd, How, Lock, LockKind, Mode, OffReason, Outcome, SiteId, SystemCall,
    ThreadIndex, Waitable, WakeReason, What,
};
pub use kinds::Kinds;
pub use layout::FORMAT_VERSION;
pub use meta::Meta;
pub use open::ReadError;
pub use process::{Module, Process, ProcessIndex, Thread};
pub use reader::{Loss, LossKind};
pub use stream::{Stream, home};
pub use trace::{Events, Interpreted, Trace};
