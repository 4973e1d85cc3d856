//! Studies: a paper's claims, the runs that let the system speak to them, and what came out, side by side.
//!
//! A study is a folder (or a file) here and a line in `studies!`. It says which runs it needs ([`Study::runs`]), does one of them
//! ([`Study::run`]), and judges what came out ([`Study::judge`]). Everything else is the same for all studies:
//!
//! | room | holds |
//! | --- | --- |
//! | [`registry`] | the studies by name: what `baton study` knows of them |
//! | [`kit`] | what they are made of: inputs, experiments, samples, sensitivity, figures |
//! | [`claim`] | claims, falsifiers, what a paper leaves open: what `--json` prints |
//! | [`rule`] | when a claim holds: direction, size, tolerance; as data, so that a rule is hashed with the study |
//! | [`interval`] | means over seeds with their 95% intervals |
//! | [`cache`] | runs that were done, addressed by the content of their inputs and checked when they are read |
//! | [`pool`] | runs on all cores, what is cached left out |
//! | [`hash`] | the hashes: of inputs, and of what is frozen |
//! | [`page`] | `report.html`, with its figures |
//! | [`ocor`] | paper 1: retry-aware locks and a network that serves them first |
//! | [`caf`] | paper 4: queues in a device beside the cores |
//! | [`mwmon`] | paper 3: MONITOR and MWAIT between hyper-threads |
//! | [`pa`] | paper 5: the threads that get an asymmetric chip's fast cores |
//! | [`mwait`] | paper 2: locks and a barrier that wait in MWAIT, in OpenMP |
//!
//! `docs/reference/studies.md` says how to add a study, a rule, a metric.

pub mod cache;
pub mod claim;
pub mod hash;
pub mod interval;
pub mod kit;
pub mod page;
pub mod pool;
pub mod registry;
pub mod rule;

pub use cache::Cache;
pub use claim::{Basis, Claim, Falsifier, Findings, Frozen, Unspecified};
pub use interval::Interval;
pub use pool::{Progress, Work};
pub use registry::{Entry, Registry, STUDIES};
pub use rule::Rule;

/// The registry: a line for each study, its module.
macro_rules! studies {
    ($($study:ident,)*) => {
        $(pub mod $study;)*

        /// What each study says of itself.
        const ENTRIES: &[Entry] = &[$($study::ENTRY,)*];
    };
}

studies! {
    ocor,
    caf,
    mwmon,
    pa,
    mwait,
}

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::path::Path;
use thiserror::Error;

/// The commit that this was built from, with a word if files differed from it; `unknown` where the build was outside of a checkout
/// (`build.rs`).
pub const COMMIT: &str = env!("BATON_COMMIT");

/// How much of a study is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Fewer seeds and programs, never shorter physics. What needs the full run is not judged.
    Quick,
    /// Every program, draw, seed and experiment.
    Full,
}

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

/// Does a study in `folder`: the cache is `folder/cache`.
///
/// # Errors
/// With the run that failed, the folder that cannot be used, or what is wrong with the findings.
pub fn conduct<S: Study>(
    study: &S,
    extent: Extent,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<(Findings, Work), StudyError> {
    let cache = Cache::open(&folder.join("cache"), study.version())?;
    let (mut done, mut work) = pool::all(study, study.runs(extent), &cache, progress)?;
    loop {
        let more = study.more(extent, &done);
        if more.is_empty() {
            let findings = study.judge(extent, &done);
            findings.check().map_err(StudyError::Findings)?;
            return Ok((findings, work));
        }
        let (more, of_these) = pool::all(study, more, &cache, progress)?;
        done.extend(more);
        work = Work { run: work.run + of_these.run, cached: work.cached + of_these.cached, damaged: of_these.damaged };
    }
}
