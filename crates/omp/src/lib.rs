//! The OpenMP runtime, generic over [`Machine`](baton_machine::Machine): a runtime, not a model of one.
//!
//! Nothing here is `static`: a [`Runtime`] is a value, so one process can run several. Each initial
//! thread has a pool of workers, which stay when a smaller team follows; a team of each size is
//! kept with its barrier. A thread that begins an inner region has another pool for that region.
//!
//! | room | holds |
//! | --- | --- |
//! | [`tool`] | what a tool is told, and the words that it keeps |
//! | [`threads`] | where threads come from: start, CPUs, binding |
//! | [`places`] | places that threads are bound to, and which thread gets which |
//! | [`subset`] | a part of a machine's CPUs, as KMP_HW_SUBSET names it |
//! | [`crew`] | threads that the program has started itself, on any machine |
//! | [`waits`] | the policy of each reason to wait |
//! | [`settings`] | what the environment sets |
//! | [`crowd`] | the teams of all initial threads together |
//! | [`objects`] | locks and barriers chosen by name |
//! | [`space`] | the iterations of a loop and their chunks |
//! | `work` | the description of a work-share |
//! | [`share`] | work-shares: loops, sections, single |
//! | `ring` | the rings of a team's work-shares |
//! | `beyond` | work-shares of a cancelled region that the largest ring has no room for |
//! | [`cut`] | a loop's iterations cut into tasks |
//! | `turns` | the turns of an ordered loop |
//! | `vain` | regions whose threads sleep at once, as their spins were in vain |
//! | [`cancel`] | what is cancelled in a team |
//! | [`team`] | a team, and a thread's place in it |
//! | `gather` | the data of a team's threads, combined by a tree |
//! | `copier` | the thread that runs singles with copyprivate |
//! | `lead` | a first thread that is late to leave barriers |
//! | `pool` | the workers of a thread |
//! | [`runtime`] | fork and join |
//! | `initial` | threads that no region has started |
//! | [`worksharing`] | how a thread enters a work-share, takes chunks and leaves |
//! | `tasking` | what the threads of a team do: make, run and steal tasks, cancel |
//! | [`tasks`] | tasks, and the lists in which they wait |
//! | `told` | how a thread tells a tool what it does |
//! | `closures` | regions and tasks of closures |

#![warn(missing_docs)]

mod beyond;
pub mod cancel;
mod closures;
mod copier;
pub mod crew;
pub mod crowd;
pub mod cut;
mod gather;
mod initial;
mod lead;
pub mod objects;
pub mod places;
mod pool;
mod ring;
pub mod runtime;
pub mod settings;
pub mod share;
pub mod space;
pub mod subset;
mod tasking;
pub mod tasks;
pub mod team;
pub mod threads;
mod told;
pub mod tool;
mod turns;
mod vain;
pub mod waits;
mod work;
pub mod worksharing;

pub use crew::Crew;
pub use runtime::Runtime;
pub use settings::Settings;
pub use space::{Schedule, ScheduleKind, Space};
pub use tasking::{Outer, fulfil};
pub use threads::{NativeThreads, Threads};
pub use waits::{Waits, Why};
