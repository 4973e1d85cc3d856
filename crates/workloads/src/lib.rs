//! Micro-workloads over [`Machine`]: what a lock, a barrier or a queue is put through on any machine.
//!
//! A workload makes a [`Team`]: one body a thread, and a check of what they computed. The machine's threads run the
//! bodies: the simulator's guests, or the host's. A [`Probe`] hears when a lock is waited for, taken and given up.
//!
//! | room | holds |
//! | --- | --- |
//! | [`lock`] | threads that think, lock, compute, unlock |
//! | [`barrier`] | threads that compute and meet |
//! | [`loops`] | a loop over equal iterations, shared out beforehand or as threads come |
//! | [`pingpong`] | two threads that hand a line to and fro |
//! | [`litmus`] | litmus tests: what may a few instructions a thread leave behind? |
//! | [`convoy`] | threads of which one stalls with the lock held, and what follows |
//! | [`ring`] | producers and consumers at a queue |
//! | [`token`] | a lock that is a token in a queue |
//! | [`actors`] | actors with a mailbox each |
//! | [`epcc`] | what OpenMP's constructs cost |
//! | [`chase`] | one dependent load after another: the latency of each level |
//! | [`stream`] | threads that read or write long ranges: bandwidth |
//! | [`sharing`] | counters side by side in a line, or apart |
//! | [`mostly`] | lines that all read and few write |
//! | [`hot`] | one line that all want |
//! | [`timing`] | what a workload times of itself |
//! | [`profile`] | synthetic programs that stand in for real ones of which a few figures are printed |
//! | [`phases`] | programs said by instructions, parallel parts and working sets |
//! | [`packets`] | packets that travel through queues: a pipeline of clusters, a firewall |
//! | [`distributor`] | a producer that hands jobs to workers |
//! | [`tasks`] | tasks that spawn tasks: stolen, shared, or balanced by a device |
//! | [`regression`] | logistic regression as a map-reduce |
//! | [`programs`] | real programs with checked results: a filter, a pipeline, a tree, a sort, an alignment, five kernels |
//! | [`models`] | ways between threads that are no queue of the registry: lanes, a free critical section, HAQu |
//! | [`monitor`] | what these share data under |
//! | [`probe`] | what hears about locks |
//! | `registry` | every workload by name |
//! | `knobs`, [`inputs`] | what can be set of a workload |
//! | [`work`] | the threads of an application, with a result of a type of its own |
//! | `requests` | queues of a queue device, by requests |

pub mod convoy;
pub mod epcc;
pub mod inputs;
mod knobs;
pub mod litmus;
pub mod models;
pub mod monitor;
pub mod packets;
pub mod phases;
pub mod probe;
pub mod profile;
pub mod programs;
mod registry;
pub mod regression;
mod requests;
pub mod tasks;
pub mod timing;
pub mod work;

/// Passes every workload to a macro: its module and its type, which implements [`Workload`]. Of those in files of their own the
/// modules are declared here.
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
                distributor::Distributor,
                chase::Chase,
                stream::Stream,
                sharing::Sharing,
                mostly::Mostly,
                hot::Hot,
                actors::Actors,
            }
            of_folders {
                epcc::Epcc,
                epcc::EpccSched,
                epcc::EpccArray,
                epcc::EpccTask,
                packets::Clusters,
                packets::Firewall,
                regression::Regression,
                tasks::Tasks,
                programs::ImageFilter,
                programs::Dedup,
                programs::KdTree,
                programs::Sort,
                programs::Align,
                programs::Ep,
                programs::Ft,
                programs::Mg,
                programs::Search,
                programs::Fft,
                profile::StandIn,
                phases::PhaseProgram,
            }
        }
    };
}
pub(crate) use every_workload;

macro_rules! modules {
    (files { $($room:ident :: $workload:ident,)* } of_folders { $($folder:ident :: $of_folder:ident,)* }) => {
        $(pub mod $room;)*
    };
}
every_workload!(modules);

pub use inputs::{Dispatch, Inputs, Prepush, Reduction};
pub use knobs::{Knobs, Refused};
pub use probe::{Probe, Silent};
pub use registry::{Charge, Chosen, WORKLOADS, Workload, WorkloadInfo};
pub use timing::Figure;
pub use work::{Kept, Work};

use baton_machine::units::Cycles;
use baton_machine::{Machine, Owned};
use std::sync::Arc;

/// What one thread does. It is made and run on the same machine; `Send` for machines that run it elsewhere.
pub type Body = Box<dyn FnOnce() + Send>;

/// Looks at what the threads computed, when all have ended.
pub type Verify = Box<dyn FnOnce() -> Result<(), String> + Send>;

/// What the workload measured of itself; for after a run that was not cut off.
pub type Figures = Box<dyn FnOnce() -> Vec<Figure> + Send>;

/// The threads of a workload.
pub struct Team {
    /// One body a thread.
    pub bodies: Vec<Body>,
    /// The check, for after a run that was not cut off.
    pub verify: Verify,
    /// Its own figures.
    pub figures: Figures,
}

impl Team {
    /// A team without figures of its own.
    fn new(bodies: Vec<Body>, verify: Verify) -> Team {
        Team { bodies, verify, figures: Box::new(Vec::new) }
    }
}

/// A value in the machine's memory that all threads use.
type Shared<M, T> = Arc<Owned<M, T>>;

fn share<M: Machine, T>(value: T) -> Shared<M, T> {
    Arc::new(Owned::new(value))
}

fn expect(what: &str, found: u64, expected: u64) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found}, expected {expected}")) }
}

/// Marsaglia's xorshift64; the state is not 0.
pub fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Think time around `mean`: uniform within `spread` of it (0.5: from half to one and a half), by the thread's own
/// generator, so that it is the same on every run.
struct Think {
    mean: u64,
    spread: f64,
    state: u64,
}

impl Think {
    fn new(mean: Cycles, spread: f64, thread: u64) -> Think {
        Think { mean: mean.0, spread, state: (thread + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) }
    }

    fn next(&mut self) -> Cycles {
        if self.spread == 0.0 {
            return Cycles(self.mean);
        }
        let unit = (xorshift(&mut self.state) >> 11) as f64 / (1u64 << 53) as f64;
        Cycles((self.mean as f64 * (1.0 + self.spread * (2.0 * unit - 1.0))).round() as u64)
    }
}
