//! The operating system: CPUs, which threads they run, and what changing that costs.
//!
//! Threads are scheduled onto CPUs. A CPU is a hardware context of a core; [`Cpu`](cpu::Cpu) says of which. Which thread runs where and
//! when is decided by a policy of the crate `sched` (`os.scheduler`); here its decisions are carried out, each at the
//! chip file's price.
//!
//! | file | holds |
//! | --- | --- |
//! | [`policy`] | what the policy is told, and its decisions carried out |
//! | [`run`] | threads come onto CPUs and leave them |
//! | [`app`] | applications: groups of threads |
//! | [`birth`] | a thread is born |
//! | [`cpu`] | a CPU, and where its cycles go |
//! | [`online`] | cores switched off and on, and affinity that changes |
//! | [`interrupt`] | ticks, and calls from CPU to CPU |
//! | [`handler`] | what their handlers do in memory |
//! | [`hang`] | runs in which nobody gets anywhere, though timers come |
//! | [`futex`] | who sleeps on which cell |

pub(crate) mod app;
pub(crate) mod birth;
pub(crate) mod cpu;
pub(crate) mod futex;
pub(crate) mod handler;
pub(crate) mod hang;
pub(crate) mod interrupt;
pub(crate) mod online;
pub(crate) mod policy;
pub(crate) mod run;

pub(crate) use cpu::Cpu;
