//! Studies: a paper's claims, the runs that test them, and the results, side by side.
//!
//! A study is a folder (or a file) here and a line in `studies!`. It says which runs it needs
//! ([`Study::runs`]), does one of them ([`Study::run`]), and judges the results ([`Study::judge`]).
//! Everything else is the same for all studies:
//!
//! | room | holds |
//! | --- | --- |
//! | [`registry`] | the studies by name, as `baton study` knows them |
//! | [`kit`] | the parts of studies: inputs, experiments, samples, sensitivity, figures |
//! | [`claim`] | claims, falsifiers, what a paper leaves open: what `--json` prints |
//! | [`rule`] | when a claim holds: direction, size, tolerance; as data, so that a rule is hashed with the study |
//! | [`verdict`] | verdicts on claims |
//! | [`interval`] | means over seeds with their 95% intervals |
//! | [`cache`] | finished runs, addressed by the content of their inputs, checked when read |
//! | [`pool`] | runs on all cores, except for those in the cache |
//! | [`hash`] | the hashes: of inputs, and of what is frozen |
//! | [`figure`] | a figure of a page |
//! | [`page`] | `report.html` and the page in Markdown, with their figures |
//! | [`ocor`] | paper 1: retry-aware locks and a network that serves them first |
//! | [`caf`] | paper 4: queues in a device beside the cores |
//! | [`mwmon`] | paper 3: MONITOR and MWAIT between hyper-threads |
//! | [`pa`] | paper 5: the threads that get an asymmetric chip's fast cores |
//! | [`mwait`] | paper 2: locks and a barrier that wait in MWAIT, in OpenMP |
//!
//! `docs/reference/studies.md` says how to add a study, a rule, a metric.

pub mod cache;
pub mod claim;
mod conduct;
mod extent;
pub mod figure;
pub mod hash;
pub mod interval;
pub mod kit;
pub mod page;
pub mod pool;
pub mod registry;
pub mod rule;
mod study;
pub mod verdict;

pub use cache::Cache;
pub use claim::{Basis, Claim, Effect, Falsifier, Findings, Frozen, Oracle, Unspecified};
pub use conduct::conduct;
pub use extent::Extent;
pub use interval::Interval;
pub use pool::{Progress, Work};
pub use registry::{Entry, Registry};
pub use rule::Rule;
pub use study::{COMMIT, Study, StudyError};
pub use verdict::Verdict;

/// Makes the registry from one line for each study, which names the study's module.
macro_rules! studies {
    ($($study:ident,)*) => {
        $(pub mod $study;)*

        /// Every study.
        pub static STUDIES: Registry = Registry(&[$($study::ENTRY,)*]);
    };
}

studies! {
    ocor,
    caf,
    mwmon,
    pa,
    mwait,
}
