//! The verdict: what limits the program, what could be won at most, and what to do next.

use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// If locks are free while threads wait for them for less than this share of the time, another lock
/// is not worth trying.
pub const WORTH_A_LOCK: f64 = 0.02;

/// The first lines of a report. All shares but `most_by_lock` are of the critical path, because
/// only time on the critical path makes the program longer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What limits the program. Mostly this is the limit that takes most of the critical path:
    /// `running`, `sections`, `competition`, `ready`, `blocked`, `calls` (blocked in input, output
    /// or sleep), `off-cpu`, `futex`, `libc-lock`, `futile-wake-ups`, `polling`, `waiting`;
    /// `others` (ready while a CPU ran none of the program's threads) or `recorder` (blocked in
    /// Baton's recorder) if there is nothing else. It is `starvation` if the heaviest lock's
    /// waiters starve; for a server also `clients`, `requests` or `serving-threads`; `nothing` if
    /// there is no path; `standstill` if threads stand still; `cannot-tell` if they may stand still,
    /// or if the trace leaves open more of the path, or of a server's requests, than could be won
    /// elsewhere.
    pub limit: String,
    /// The limit as a sentence, with the second cause if there is one.
    pub headline: String,
    /// The cause that takes most of the critical path after `limit`, if it takes at least four fifths
    /// of what that takes. The headline names it, too.
    #[serde(default)]
    pub second: Option<Share>,
    /// The critical path by limit, the greatest share first.
    pub shares: Vec<Share>,
    /// The share of the time in which a lock is free while a thread waits for it, on the critical
    /// path or not. To replace the program's locks by locks of another type cannot win more.
    pub most_by_lock: f64,
    /// The share of the path in which a thread was blocked, or off its CPU, for a reason that the
    /// trace does not show.
    #[serde(default)]
    pub unseen_share: f64,
    /// Upper bounds of what could be won, as sentences.
    pub gains: Vec<String>,
    /// What to do next, the most promising step first.
    pub next: Vec<NextStep>,
    /// Reasons not to trust the figures, as sentences.
    pub doubts: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The limit, as in [`Verdict::limit`].
    pub limit: String,
    /// The limit as a phrase.
    pub name: String,
    /// The sum of the time.
    pub total_ns: Nanos,
    /// The share of the path, 0 to 1.
    pub share: f64,
}

/// A recommended step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NextStep {
    /// What to do, and why.
    pub text: String,
    /// The command to type, if there is one.
    pub command: Option<String>,
}
