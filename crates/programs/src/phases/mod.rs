//! Programs that are said by figures: instructions, the part of them that runs in parallel, and working sets. Each phase asks the
//! machine to play it ([`Machine::phase`](baton_machine::Machine::phase)); a machine that cannot gets it as a stream of accesses
//! and computation, so that the two can be compared. Threads meet at a real barrier.
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

/// A program of phases, as its profile says.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// What it is called.
    pub name: String,
    /// Its class in table 1 of the paper.
    pub class: Class,
    /// Instructions of one run, all threads together.
    pub instructions: u64,
    /// The part of them that runs on all threads.
    pub parallel: f64,
    /// How often a sequential part and a parallel one follow each other.
    pub rounds: u64,
    /// Meetings of all threads in each parallel part.
    pub barriers: u64,
    /// A thread's instructions between two meetings lie within this share of the mean.
    pub imbalance: f64,
    /// What the instructions of parallel parts do, a thread.
    pub together: Arc<Behaviour>,
    /// What those of sequential parts do.
    pub alone: Arc<Behaviour>,
}

/// A class of table 1: highly parallel, partially sequential or single-threaded; of computing or of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// As the paper has it: `PS-MI`.
    pub name: &'static str,
    /// It has one thread.
    pub single: bool,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 6] = [
        Class { name: "HP-CI", single: false },
        Class { name: "HP-MI", single: false },
        Class { name: "PS-CI", single: false },
        Class { name: "PS-MI", single: false },
        Class { name: "ST-CI", single: true },
        Class { name: "ST-MI", single: true },
    ];
}
