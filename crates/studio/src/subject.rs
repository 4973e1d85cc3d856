//! What a sweep runs: a command whose figures are computed in this process.

use crate::hash::Key;
use crate::space::Looked;
use crate::value::{Kind, Value};
use serde_json::Value as Json;
use std::fmt;

/// The settings of a point: names of options or of a chip's keys, with their values.
pub type PointSettings<'a> = &'a [(&'a str, &'a Value)];

/// A command that gives figures for a point.
pub trait Subject: Send + Sync {
    /// The name of the command.
    fn command(&self) -> &str;

    /// The version of the code that computes figures. Two versions may give different figures.
    fn version(&self) -> String;

    /// Checks that a point can have a setting of this name.
    ///
    /// # Errors
    /// Why it cannot.
    fn check(&self, name: &str) -> Result<(), String>;

    /// The names that every point must have.
    fn needed(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether the command takes a seed. A space of a command that takes none has no `seeds` and no `until`.
    fn has_seed(&self) -> bool {
        true
    }

    /// Looks up a name that is no coordinate, such as a key of the point's chip, in the point whose
    /// settings so far are `known`.
    fn lookup(&self, known: PointSettings<'_>, name: &str) -> Looked;

    /// The figure of this name.
    ///
    /// # Errors
    /// There is no such figure, or several: the names that come closest.
    fn figure(&self, name: &str) -> Result<Figure, Vec<String>>;

    /// The names of the figures that a sweep keeps if its space names no metrics.
    fn usual(&self, known: PointSettings<'_>) -> Vec<String>;

    /// Reads the settings of a point, and checks them.
    ///
    /// # Errors
    /// Why the point cannot run.
    fn prepare(&self, settings: PointSettings<'_>, seed: u64) -> Result<Job, Failure>;

    /// The command that runs the point alone.
    fn repeat(&self, settings: PointSettings<'_>, seed: u64) -> String;
}

/// A figure of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The dotted path of the figure in the command's JSON.
    pub path: String,
    /// The sort of the figure's values.
    pub kind: Kind,
    /// The unit; empty for none.
    pub unit: String,
    /// The meaning.
    pub what: String,
}

/// A point that is ready to run.
pub struct Job {
    /// The key: a hash of the expanded configuration, the content of all inputs, the seed and the
    /// version.
    pub key: Key,
    /// An estimate of how long the run takes, in any unit that all points share.
    pub cost: f64,
    /// An estimate of the bytes of memory that the run takes at most.
    pub memory: u64,
    /// Runs the point. Returns the command's JSON.
    pub run: Box<dyn FnOnce() -> Result<Json, Failure> + Send>,
}

/// Why a point has no figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The sort of failure.
    pub why: Why,
    /// The reason, as a sentence.
    pub reason: String,
}

/// A sort of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The settings do not fit together.
    Invalid,
    /// Threads or packets wait for each other for ever.
    Deadlock,
    /// The point needs more memory than points may take.
    Memory,
    /// The point ran longer than the space allows.
    Time,
    /// The point ended with another error.
    Failed,
    /// A defect of Baton.
    Panic,
}

impl Why {
    const ALL: [Why; 6] = [Why::Invalid, Why::Deadlock, Why::Memory, Why::Time, Why::Failed, Why::Panic];

    /// The name in the store.
    pub fn name(self) -> &'static str {
        match self {
            Why::Invalid => "invalid",
            Why::Deadlock => "deadlock",
            Why::Memory => "memory",
            Why::Time => "time",
            Why::Failed => "failed",
            Why::Panic => "panic",
        }
    }

    /// The sort of failure of this name.
    pub fn named(name: &str) -> Option<Why> {
        Why::ALL.into_iter().find(|why| why.name() == name)
    }
}

impl Failure {
    /// A failure with its reason.
    pub fn new(why: Why, reason: impl fmt::Display) -> Failure {
        Failure { why, reason: reason.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.why.name(), self.reason)
    }
}
