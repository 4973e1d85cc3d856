//! What a trace says: which thread waited for what, why, and what it cost.
//!
//! # Terms
//!
//! For one wait of one thread, from its `Request` to its `Acquired`:
//! - **blocked time** (BT): all of it;
//! - **sections** (CS): the part in which others held the lock, so executed their critical sections;
//! - **overhead** (COH): the part in which *no thread* held it: the lock was free, and still the thread waited. That is the competition
//!   overhead of the OCOR paper (section 2.1, equation 1): spin intervals, sleep preparation, wake-ups, other tries in the way.
//!
//! BT = ΣCS + ΣCOH, per wait. The two sums are found by different roads: sections by adding up, for each stretch in which the holders stay
//! the same, what each waiter waited of it; overhead from the lock's own total of free time, read at the wait's start and
//! at its end. [`LockStats::residual`] is what is left over between them: 0 in a whole trace.
//!
//! # Bias in native traces
//!
//! A release is stamped before its store, an acquisition after it succeeded. So a hand-off contains, besides the hardware's part, the
//! rest of the releaser's probe and the first part of the acquirer's: overhead comes out too long by about one event's cost
//! a hand-off ([`What::ProbeCost`](crate::What::ProbeCost)), sections too short by as much, and no hand-off is ever negative. A simulated
//! trace has no such bias.

mod account;
mod along;
mod causes;
mod classes;
mod ledger;
mod locks;
mod objects;
mod off_cpu;
mod path;
mod polls;
mod regions;
mod relax;
mod stats;
mod tasks;
mod waits;
mod window;

pub use account::{Account, Holder, Released, Taken, Waiter};
pub use along::Along;
pub use causes::WaitKind;
pub use classes::{ClassKey, ClassReport};
pub use locks::{Analysis, LockReport, ThreadReport, has_slept};
pub use objects::{Object, ObjectId, ObjectKind};
pub use off_cpu::{Known, OffCpu, OffStretch, ThreadOffCpu, off_cpu};
pub use path::{CriticalPath, Doing, PathSegment, PathShare};
pub use regions::{RegionReport, TaskReport, TaskWaitReport};
pub use relax::{Relaxed, relax};
pub use stats::{Anomalies, Distribution, LockStats, SiteStats, ThreadLockStats};
pub use waits::{WaitableReport, WaitableStats};
pub use window::{Window, WindowError};
