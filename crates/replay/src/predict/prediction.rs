//! The form of a prediction.

use super::outcomes::Outcome;
use crate::doubt::{Alone, Interval, Spread};
use crate::network::OnNetwork;
use crate::program::{LockSpec, Probe, Replayability};
use crate::ran::{Ran, RunError};
use crate::variant::Variant;
use serde::Serialize;

/// A row of the prediction. Times are the whole program's; waiting times are added over threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predicted {
    pub lock: String,
    /// The wait policy.
    pub wait: String,
    /// Whether this is the recorded lock's replay on the chip's own network, to which all others
    /// compare.
    pub recorded: bool,
    /// The variant of the chip and its effect, if networks or policies were asked for.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,
    pub time_ns: Spread,
    /// The interval that should contain the measured time in 95 of 100 cases. `None` if all replays
    /// failed, if the chip is not `this-host`, or if a number of threads was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<Interval>,
    /// Whether the time is so far from the recorded lock's time that it rests on the model alone.
    pub far: bool,
    /// The part of the time during which two or more threads lived; what the first thread does
    /// alone is left out.
    pub concurrent_ns: Spread,
    /// The recorded lock's time divided by this one's (above 1: this is faster); 0 if all failed.
    pub speedup: f64,
    /// The time that threads waited for locks.
    pub blocked_ns: Spread,
    /// The part of the waiting time during which the lock was held.
    pub sections_ns: Spread,
    /// The part of the waiting time during which the lock was free: competition overhead.
    pub overhead_ns: Spread,
    /// The time that threads spent spinning.
    pub spin_ns: Spread,
    /// The time that threads were ready to run without a CPU, added over threads.
    pub ready_ns: Spread,
    /// The time that CPUs had no thread or woke up for one, added over CPUs. If threads were ready
    /// meanwhile, the policy left CPUs idle, or those threads were bound to other CPUs.
    pub idle_ns: Spread,
    /// How often threads took locks, with the first seed whose run did not fail.
    #[serde(flatten)]
    pub counts: Counts,
    /// The number of seeds with which the run was cut off as a collapse: times are then lower
    /// bounds.
    pub cut_off: u32,
    /// Why replays failed, and with how many seeds; `None` if none failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failed>,
    pub by_seed_ns: Vec<u64>,
    /// The outcomes of the seeds' runs, where they lie apart; empty if all runs take about as long.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<Outcome>,
}

impl Predicted {
    /// Returns the effect of the network, if networks were asked for.
    pub fn network(&self) -> Option<&OnNetwork> {
        match &self.variant {
            Some(Variant::Network(network)) => Some(network),
            _ => None,
        }
    }
}

/// How often the threads of one run took locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub acquisitions: u64,
    /// Acquisitions that waited.
    pub contended: u64,
}

/// Replays that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// The number of seeds with which the replay failed.
    pub seeds: u32,
    /// Why the first of these replays failed.
    pub why: String,
}

impl Failed {
    pub(super) fn of(ran: &[Result<Ran, RunError>]) -> Option<Failed> {
        let mut errors = ran.iter().filter_map(|ran| ran.as_ref().err()).peekable();
        let why = errors.peek()?.to_string();
        Some(Failed { seeds: errors.count() as u32, why })
    }
}

/// The replay of the recorded lock with the cost of recording, compared with the recorded run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The duration of the recorded run.
    pub measured_ns: u64,
    /// The duration of the replay, in which threads also spend time on recording.
    pub replayed_ns: Spread,
    /// The replay's relative error: (replayed − measured) / measured.
    pub error: f64,
    /// How long two or more threads lived in the recorded run.
    pub measured_concurrent_ns: u64,
    /// How long two or more threads lived in the replay.
    pub replayed_concurrent_ns: Spread,
}

/// A prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The name of the recorded lock, and, if another one replays it, of that lock.
    pub recorded_lock: String,
    /// The wait policy in the replay of the recorded lock.
    pub recorded_wait: String,
    pub check: Check,
    /// The comparison with runs without recording, if there were such runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<Alone>,
    /// Whether the self-check and the trace allow the figures to be trusted.
    pub trustworthy: bool,
    /// Why the figures should not be trusted, as sentences; empty if they can be.
    pub reasons: Vec<String>,
    /// How much of the trace could be replayed.
    pub replayability: Replayability,
    /// The share of events that could not be replayed.
    pub not_replayable_share: f64,
    /// The cost of recording an event.
    pub probe: Probe,
    /// The number of cores in use.
    pub cpus: u32,
    /// The number of threads of the replayed program.
    pub threads: u32,
    /// The program's locks, the most often acquired first.
    pub locks: Vec<LockSpec>,
    /// The predictions in the order asked, after that of the recorded lock.
    pub results: Vec<Predicted>,
    /// The assumptions of the prediction, as sentences.
    pub notes: Vec<String>,
}
