//! The operating system at work: what it does to threads and CPUs, each at the chip file's price.
//!
//! | file | holds |
//! | --- | --- |
//! | [`decide`] | the policy is told what happens, and its decisions are carried out |
//! | [`govern`] | the governor is told what CPUs did, and its clocks are asked for |
//! | [`run`] | threads come onto CPUs and leave them |
//! | [`birth`] | a thread is born |
//! | [`apps`] | applications start, end and start again |
//! | [`online`] | cores switched off and on, and affinity that changes |
//! | [`kill`] | threads that are killed |
//! | [`signal`] | signals come to threads; applications that end by them |
//! | [`handle`] | handlers of signals run |
//! | [`interrupt`] | ticks, and calls from CPU to CPU |
//! | [`handler`] | what their handlers do in memory |
//! | [`device`] | events of devices, answers that come, interrupts of devices |
//! | `posted` | answers to posted requests are written |
//! | [`futex`] | sleepers move from cell to cell |
//! | [`hang`] | runs in which no thread gets anywhere, though timers come |

pub(crate) mod apps;
pub(crate) mod birth;
pub(crate) mod decide;
pub(crate) mod device;
pub(crate) mod futex;
pub(crate) mod govern;
pub(crate) mod handle;
pub(crate) mod handler;
pub(crate) mod hang;
#[cfg(test)]
mod hang_tests;
pub(crate) mod interrupt;
pub(crate) mod kill;
pub(crate) mod online;
mod posted;
pub(crate) mod run;
pub(crate) mod signal;
