//! Micro-workloads over [`Machine`](baton_machine::Machine): what a lock, a barrier or a queue is
//! put through on any machine.
//!
//! A workload makes a [`Team`]: one body a thread, and a check of what they computed. The machine's
//! threads run the bodies: the simulator's guests, or the host's. A [`Probe`] hears when a lock is
//! waited for, taken and given up.
//!
//! | room | holds |
//! | --- | --- |
//! | [`lock`] | threads that think, lock, compute, unlock |
//! | [`barrier`] | threads that compute and meet |
//! | [`loops`] | a loop over equal iterations, shared out beforehand or as threads come |
//! | [`pingpong`] | two threads that hand a line to and fro |
//! | [`convoy`] | threads of which one stalls with the lock held, and what follows |
//! | [`ring`] | producers and consumers at a queue |
//! | [`token`] | a lock that is a token in a queue |
//! | [`actors`] | actors with a mailbox each |
//! | [`flows`] | packets of flows, atomic, ordered or parallel |
//! | [`epcc`] | what OpenMP's constructs cost |
//! | [`chase`] | one dependent load after another: the latency of each level |
//! | [`stream`] | threads that read or write long ranges: bandwidth |
//! | [`sharing`] | counters side by side in a line, or apart |
//! | [`mostly`] | lines that all threads read and seldom write |
//! | [`hot`] | one word that all threads add to |
//! | [`timing`] | what a workload times of itself |
//! | [`models`] | ways between threads that are no queue of the registry: lanes, a free critical section, HAQu, posted requests |
//! | [`probe`] | what hears about locks |
//! | [`registry`] | what a workload of the registry is |
//! | `knobs`, [`inputs`] | the settings of workloads |
//! | [`team`] | the threads of a workload, and the check of what they computed |
//! | [`shared`] | values that all threads use |
//! | [`think`] | times between a thread's accesses |
//! | [`work`] | the threads of an application, with a result of a type of its own |
//! | [`requests`] | queues of a queue device, by requests |
//!
//! Programs, kernels and applications of queues are workloads as well: `baton-programs` has these,
//! and every workload by its name.

pub mod convoy;
pub mod epcc;
pub mod inputs;
pub mod knobs;
pub mod models;
pub mod probe;
pub mod registry;
pub mod requests;
pub mod shared;
pub mod team;
pub mod think;
pub mod timing;
pub mod work;

/// Passes every workload of this crate to a macro: its module and its type, which implements
/// [`Workload`]. This crate also declares the modules under `files` by this macro.
#[macro_export]
macro_rules! every_workload {
    ($then:ident) => {
        $then! {
            files {
                lock::Contended,
                barrier::Meeting,
                loops::Loop,
                pingpong::PingPong,
                ring::Queueing,
                token::TokenLock,
                chase::Chase,
                stream::Stream,
                sharing::Sharing,
                mostly::Mostly,
                hot::Hot,
                actors::Actors,
                flows::Flows,
            }
            of_folders {
                epcc::Epcc,
                epcc::EpccSched,
                epcc::EpccArray,
                epcc::EpccTask,
            }
        }
    };
}

macro_rules! modules {
    (files { $($room:ident :: $workload:ident,)* } of_folders { $($folder:ident :: $of_folder:ident,)* }) => {
        $(pub mod $room;)*
    };
}
every_workload!(modules);

pub use inputs::{Dispatch, Inputs, Prepush, Reduction};
pub use knobs::{Knobs, Refused};
pub use probe::{Probe, Silent};
pub use registry::{Charge, Workload, WorkloadInfo};
pub use shared::{Shared, share};
pub use team::{Body, OwnFigures, Team, Verify, expect};
pub use think::{Think, xorshift};
pub use timing::Figure;
pub use work::{Kept, Work};
