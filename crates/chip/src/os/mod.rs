//! The operating system: CPUs, which threads they run, and what changing that costs.
//!
//! Threads are scheduled onto CPUs. A CPU is a hardware context of a core ([`Cpu`](cpu::Cpu)). A
//! policy of the crate `sched` (`os.scheduler`) decides which thread runs where and when. This room
//! holds the state; the room `kernel` carries out decisions, each at the chip file's price.
//!
//! | file | holds |
//! | --- | --- |
//! | [`policy`] | the policy, and its decisions that wait to be carried out |
//! | [`governor`] | the records for the governor of clocks |
//! | [`app`] | applications: groups of threads |
//! | [`arrivals`](mod@arrivals) | arrival times of programs, by the seed |
//! | [`state`] | the operating system's state |
//! | [`task`] | the operating system's record of a thread |
//! | [`refused`] | what cannot be created, and why |
//! | [`cpu`] | a CPU, and the account of its cycles |
//! | [`locks`] | which locks are held and wanted, for a policy that listens |
//! | [`signal`] | signals: numbers, sets, actions |
//! | [`futex`] | which threads sleep on which cell |

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
