//! The verdict: what limits the program, what could be won at most, what to do next.

use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// Competition below this share of the critical path: another lock is not worth a try.
pub const WORTH_A_LOCK: f64 = 0.02;

/// What a report says first. All shares are of the critical path: only what lies on it makes the program shorter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What takes most of the critical path: `running`, `sections`, `competition`, `ready`, `blocked`, `off-cpu`, `waiting`; or
    /// `nothing` where there is no path.
    pub limit: String,
    /// The same as a sentence.
    pub headline: String,
    /// The critical path by what limits it, the greatest first.
    pub shares: Vec<Share>,
    /// The share of the path that competition for locks takes: no other lock can win more.
    pub most_by_lock: f64,
    /// What could be won at most, in sentences.
    pub gains: Vec<String>,
    /// What to do next, the most promising first.
    pub next: Vec<NextStep>,
    /// Why the figures should not be trusted, in sentences.
    pub doubts: Vec<String>,
}

/// A share of the critical path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// As in [`Verdict::limit`].
    pub limit: String,
    /// In words.
    pub name: String,
    /// How long, together.
    pub total_ns: Nanos,
    /// Of the path, 0 to 1.
    pub share: f64,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NextStep {
    /// What and why.
    pub text: String,
    /// The command to type, if there is one.
    pub command: Option<String>,
}
