//! The operating system: CPUs, which threads they run, and what changing that costs.
//!
//! Threads are scheduled onto CPUs. A CPU is a hardware context of a core; [`Cpu`](cpu::Cpu) says of which. Which thread runs where and
//! when is decided by a policy of the crate `sched` (`os.scheduler`). Here is its state; the room `kernel` carries decisions
//! out, each at the chip file's price.
//!
//! | file | holds |
//! | --- | --- |
//! | [`policy`] | what the policy is told, and its decisions carried out |
//! | [`governor`] | what is kept for the governor of clocks |
//! | [`app`] | applications: groups of threads |
//! | [`arrivals`](mod@arrivals) | when programs come, by the seed |
//! | [`state`] | the operating system's state |
//! | [`task`] | what the operating system keeps of a thread |
//! | [`refused`] | what cannot be made, and why |
//! | [`cpu`] | a CPU, and where its cycles go |
//! | [`locks`] | which locks are held and wanted, for a policy that listens |
//! | [`signal`] | signals: numbers, sets, actions |
//! | [`futex`] | who sleeps on which cell |

pub(crate) mod app;
pub(crate) mod arrivals;
pub(crate) mod cpu;
pub(crate) mod futex;
pub(crate) mod governor;
pub(crate) mod locks;
pub(crate) mod policy;
pub(crate) mod refused;
pub(crate) mod signal;
pub(crate) mod state;
pub(crate) mod task;
