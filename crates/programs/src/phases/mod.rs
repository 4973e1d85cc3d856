//! Programs that are described by figures: instructions, the part of them that runs in parallel,
//! and working sets. Each phase asks the machine to play it
//! ([`Machine::phase`](baton_machine::Machine::phase)). A machine that cannot play phases gets a
//! stream of accesses and computation, so that the two can be compared. Threads meet at a real
//! barrier.
//!
//! | file | holds |
//! | --- | --- |
//! | [`read`] | a profile's file |
//! | `player` | a phase by the machine, or as a stream |
//! | `named` | the workload by name |

mod named;
mod player;
pub mod read;

pub use crate::synthetic::ProfileError;
pub use named::PhaseProgram;

use baton_machine::Behaviour;
use std::sync::Arc;

/// A program of phases, as described by its profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The name of the program.
    pub name: String,
    /// The program's class in table 1 of the paper that the profile follows (Saez, Fedorova, Prieto
    /// and Vegas, CF 2010).
    pub class: Class,
    /// Number of instructions of one run, of all threads together.
    pub instructions: u64,
    /// The share of the instructions that runs on all threads.
    pub parallel: f64,
    /// Number of pairs of a sequential part and a parallel part.
    pub rounds: u64,
    /// Number of meetings of all threads in each parallel part, beside the one at its begin.
    pub barriers: u64,
    /// Largest deviation of a thread's instructions between two meetings from their mean, as a
    /// share of the mean.
    pub imbalance: f64,
    /// How the instructions of parallel parts behave, for each thread.
    pub together: Arc<Behaviour>,
    /// How the instructions of sequential parts behave.
    pub alone: Arc<Behaviour>,
}

/// A class of table 1: highly parallel, partially sequential or single-threaded; limited by
/// computation or by memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// The name in that paper's table, such as `PS-MI`.
    pub name: &'static str,
    /// Whether programs of the class have one thread.
    pub single: bool,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 6] = [
        Class { name: "HP-CI", single: false },
        Class { name: "HP-MI", single: false },
        Class { name: "PS-CI", single: false },
        Class { name: "PS-MI", single: false },
        Class { name: "ST-CI", single: true },
        Class { name: "ST-MI", single: true },
    ];
}
