//! Analysis of a trace: which thread waited for what, why, and what it cost.
//!
//! # Terms
//!
//! For one wait of one thread, from its `Request` to its `Acquired`:
//! - **blocked time** (BT): the whole wait;
//! - **sections** (CS): the part in which other threads held the lock, executing their critical
//!   sections;
//! - **overhead** (COH): the part in which *no thread* held the lock: it was free, and still the
//!   thread waited. This is the competition overhead of the OCOR paper (section 2.1, equation 1):
//!   intervals between tries, preparing to sleep, wake-ups, other threads' tries.
//!
//! BT = ΣCS + ΣCOH for each wait, except that an upgrade also has time in which only the waiter
//! itself holds the lock ([`LockStats::own`]). The two sums are computed in different ways:
//! sections by summing, for each interval with the same holders, each waiter's time in it; overhead
//! from the lock's total free time, read at the start and at the end of the wait.
//! [`LockStats::residual`] is the difference between both sides: 0 in a complete trace.
//!
//! # Bias in native traces
//!
//! A release is stamped before its store, and an acquisition after it has succeeded. So besides the
//! hardware's part a hand-off contains the rest of the releasing thread's probe and the first part
//! of the acquiring thread's: for each hand-off, overhead is too long by about the cost of one
//! event ([`What::ProbeCost`](crate::What::ProbeCost)), sections are too short by as much, and no
//! hand-off is ever negative. Traces of simulations have no such bias.

mod account;
mod along;
mod awaited;
mod background;
mod beside;
mod cause;
mod causes;
mod classes;
mod dilation;
mod exits;
mod free;
mod futexes;
mod futile;
mod kin;
mod ledger;
mod left_cpus;
mod lock_lives;
mod locks;
mod loops;
mod objects;
mod off_cpu;
mod orders;
mod path;
mod polls;
mod queues;
mod ran;
mod regained;
mod regions;
mod relax;
pub mod requests;
mod retaken;
mod sections;
mod segment;
mod serves;
mod sleepers;
mod slept;
mod standstill;
mod starved;
mod stats;
mod tasks;
mod vain;
mod waits;
mod window;

pub use crate::process::ProcessExit;
pub use account::{Account, Holder, Released, Taken, Waiter};
pub use along::Along;
pub use background::{Background, LoopPoint, background, is_background, turns, unknown_names};
pub use beside::{Beside, LITTLE_OF_PATH, UNEXPLAINED_DECIDES, unexplained};
pub use causes::WaitKind;
pub use classes::{ClassKey, ClassReport};
pub use dilation::{Recording, SWITCH_NS, dilation};
pub use exits::exits;
pub use futile::FutileWakes;
pub use left_cpus::{Left, LeftCpus};
pub use locks::{Analysis, LockReport, ThreadReport};
pub use objects::{Object, ObjectId, ObjectKind};
pub use off_cpu::{Known, OffCpu, OffStretch, ThreadOffCpu, off_cpu};
pub use orders::{Order, Orders};
pub use path::{CriticalPath, PathShare};
pub use queues::{QueueSide, QueueStats};
pub use ran::ran;
pub use regions::{RegionReport, TaskReport, TaskWaitReport};
pub use relax::{Relaxed, relax};
pub use segment::{Doing, PathSegment};
pub use sleepers::{Sleeper, sleepers};
pub use slept::{OffInWait, has_slept};
pub use standstill::{Ending, Holding, LEAST_REST, OpenWait, Posts, Signal, Signals, Standstill, Stuck, Why};
pub use starved::{Overtaken, Starved};
pub use stats::{Anomalies, Distribution, LockStats, SiteStats, ThreadLockStats};
pub use vain::Vain;
pub use waits::{WaitableReport, WaitableStats};
pub use window::{Window, WindowError};
