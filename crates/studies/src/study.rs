//! The trait that each study implements, how much of a study is done, and why it may fail.

use crate::claim::Findings;
use crate::extent::Extent;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;
use thiserror::Error;

/// The commit that this was built from, with a word if files differed from it; `unknown` where the build was outside of a checkout
/// (`build.rs`).
pub const COMMIT: &str = env!("BATON_COMMIT");

/// Why a study cannot be done.
#[derive(Debug, Error)]
pub enum StudyError {
    /// A file of its inputs cannot be read or is wrong, or there are too many of them; the message names file, line and key.
    #[error("{0}")]
    Input(String),
    /// A run failed: its inputs, and why.
    #[error("run {run}: {why}")]
    Run {
        /// The run's name.
        run: String,
        /// Why it has no figures.
        why: String,
    },
    /// The folder of results cannot be used.
    #[error("{path}: {error}")]
    Folder {
        /// The path.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// What the study judged is no result: a verdict lacks its reason ([`Findings::check`]).
    #[error("the study's findings: {0}")]
    Findings(String),
}

impl StudyError {
    /// An error about the study's inputs.
    pub fn input(why: impl Display) -> StudyError {
        StudyError::Input(why.to_string())
    }
}

/// One paper's study.
pub trait Study: Sync {
    /// The inputs of one run. Its serialised form is its address in the cache, so it holds everything that the outcome
    /// depends on, the chip file's text included.
    type Run: Serialize + Clone + Send + Sync;
    /// What one run gives.
    type Figures: Serialize + DeserializeOwned + Clone + Send;

    /// What stands in the cache before a run's inputs: changed whenever the same inputs give other figures.
    fn version(&self) -> &'static str;

    /// The runs that are needed, each named for people.
    fn runs(&self, extent: Extent) -> Vec<(String, Self::Run)>;

    /// Runs that follow from what others showed: asked for until there are none. `done` has all so far, in the order in which
    /// they were asked for.
    fn more(&self, _extent: Extent, _done: &[(Self::Run, Self::Figures)]) -> Vec<(String, Self::Run)> {
        Vec::new()
    }

    /// Does one run.
    ///
    /// # Errors
    /// With why it has no figures.
    fn run(&self, run: &Self::Run) -> Result<Self::Figures, String>;

    /// What came out. `done` is in the order of [`Study::runs`], then of [`Study::more`].
    fn judge(&self, extent: Extent, done: &[(Self::Run, Self::Figures)]) -> Findings;
}
