//! The trait that each study implements, the commit that its results name, and why it may fail.

use crate::claim::Findings;
use crate::extent::Extent;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;
use thiserror::Error;

/// The commit from which the binary was built, with a suffix if files differed from the commit;
/// `unknown` if the build was outside of a checkout (`build.rs`).
pub const COMMIT: &str = env!("BATON_COMMIT");

/// The reason why a study cannot be done.
#[derive(Debug, Error)]
pub enum StudyError {
    /// An input file cannot be read or is wrong, and the message names file, line and key; or the
    /// number of input files is not the study's.
    #[error("{0}")]
    Input(String),
    /// A run failed.
    #[error("run {run}: {why}")]
    Run {
        /// The run's name.
        run: String,
        /// The reason why the run has no figures.
        why: String,
    },
    /// The folder of results cannot be used.
    #[error("{path}: {error}")]
    Folder {
        /// The path.
        path: String,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// The findings fail [`Findings::check`]: a verdict lacks its reason, for example.
    #[error("the study's findings: {0}")]
    Findings(String),
}

impl StudyError {
    /// Makes an error about the inputs of the study.
    pub fn input(why: impl Display) -> StudyError {
        StudyError::Input(why.to_string())
    }
}

/// One paper's study.
pub trait Study: Sync {
    /// The inputs of one run. Their serialised form is the address of the run in the cache, so that
    /// they contain everything on which the outcome depends, such as the text of the chip file.
    type Run: Serialize + Clone + Send + Sync;
    /// The figures of one run.
    type Figures: Serialize + DeserializeOwned + Clone + Send;

    /// Returns the version, which precedes the inputs of a run in its cache address. The version
    /// changes whenever the same inputs give other figures.
    fn version(&self) -> &'static str;

    /// Returns the runs of the study, each with a name for people.
    fn runs(&self, extent: Extent) -> Vec<(String, Self::Run)>;

    /// Returns further runs, which follow from the results of earlier runs. The study is asked
    /// again until it returns no runs. `done` has all runs so far, in the order in which the study
    /// returned them.
    fn more(&self, _extent: Extent, _done: &[(Self::Run, Self::Figures)]) -> Vec<(String, Self::Run)> {
        Vec::new()
    }

    /// Performs one run.
    ///
    /// # Errors
    /// The reason why the run has no figures.
    fn run(&self, run: &Self::Run) -> Result<Self::Figures, String>;

    /// Returns the findings. `done` has the runs of [`Study::runs`], then those of [`Study::more`],
    /// in that order.
    fn judge(&self, extent: Extent, done: &[(Self::Run, Self::Figures)]) -> Findings;
}
