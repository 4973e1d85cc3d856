//! The operating system at work: what it does to threads and CPUs, each at the chip file's price.
//!
//! | file | holds |
//! | --- | --- |
//! | [`step`] | the next event, or the memory system's next notice |
//! | `turn` | what is wanted of the running thread before its next operation |
//! | [`decide`] | tells the policy what happens, and carries out its decisions |
//! | [`clocks`] | clocks of cores change at a time |
//! | [`govern`] | tells the governor what CPUs did, and requests its clocks |
//! | [`run`] | threads come onto CPUs and leave them |
//! | [`birth`] | the creation of a thread |
//! | [`apps`] | applications start, end and start again |
//! | [`online`] | cores are switched off and on, and affinities change |
//! | [`kill`] | threads that are killed |
//! | [`signal`] | signals come to threads, or end applications |
//! | [`handle`] | signal handlers run |
//! | [`saved`] | what a thread did when a signal came, saved and restored |
//! | [`interrupt`] | ticks, and calls from CPU to CPU |
//! | [`handler`] | what interrupt handlers do in memory |
//! | [`device`] | events of devices, answers that come, interrupts of devices |
//! | `posted` | answers to posted requests are written |
//! | [`futex`] | sleepers move from cell to cell, or are roused |
//! | [`hang`] | runs in which no thread makes progress, although timers come |

pub(crate) mod apps;
pub(crate) mod birth;
pub(crate) mod clocks;
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
pub(crate) mod saved;
pub(crate) mod signal;
pub(crate) mod step;
mod turn;

use crate::engine::above::Above;
use crate::engine::state::Engine;

/// The kernel's functions for the rooms below it.
pub(crate) const ABOVE: Above = Above {
    answer: turn::answer,
    give_up_core: turn::give_up_core,
    devices_did: Engine::devices_did,
    stand_aside: Engine::stand_aside,
};
