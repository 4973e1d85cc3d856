//! Studies: a paper's claims, the runs that let the system speak to them, and what came out, side by side.
//!
//! A study is a module here. It says which runs it needs ([`Study::runs`]), does one of them ([`Study::run`]), and judges
//! what came out ([`Study::judge`]). Everything else is the same for all studies:
//!
//! | room | holds |
//! | --- | --- |
//! | [`claim`] | claims, falsifiers, what a paper leaves open: what `--json` prints |
//! | [`rule`] | when a claim holds: direction, size, tolerance; as data, so that a rule is hashed with the study |
//! | [`interval`] | means over seeds with their 95% intervals |
//! | [`cache`] | runs that were done, addressed by the content of their inputs and checked when they are read |
//! | [`pool`] | runs on all cores, what is cached left out |
//! | [`hash`] | the hashes: of inputs, and of what is frozen |
//! | [`page`] | `report.html`, with its figures |
//! | [`ocor`] | paper 1: retry-aware locks and a network that serves them first |
//!
//! `docs/studies.md` says how to add a study, a rule, a metric.

pub mod cache;
pub mod claim;
pub mod hash;
pub mod interval;
pub mod ocor;
pub mod page;
pub mod pool;
pub mod rule;

pub use cache::Cache;
pub use claim::{Basis, Claim, Falsifier, Findings, Frozen, Unspecified};
pub use interval::Interval;
pub use pool::{Progress, Work};
pub use rule::Rule;

use serde::Serialize;
use serde::de::DeserializeOwned;
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
    /// All of it.
    Full,
}

/// Why a study cannot be done.
#[derive(Debug, Error)]
pub enum StudyError {
    /// There is none of that name.
    #[error("unknown study `{name}`; expected one of {}", known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: Vec<&'static str>,
    },
    /// A file of its inputs cannot be read or is wrong; the message names file, line and key.
    #[error("{0}")]
    Input(String),
    /// A run failed: its inputs, and why.
    #[error("run {run}: {why}")]
    Run {
        /// Which.
        run: String,
        /// Why.
        why: String,
    },
    /// The folder of results cannot be used.
    #[error("{path}: {error}")]
    Folder {
        /// Which path.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
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

    /// Does one.
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
/// With the run that failed, or the folder that cannot be used.
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
            return Ok((study.judge(extent, &done), work));
        }
        let (more, of_these) = pool::all(study, more, &cache, progress)?;
        done.extend(more);
        work = Work { run: work.run + of_these.run, cached: work.cached + of_these.cached, damaged: of_these.damaged };
    }
}
