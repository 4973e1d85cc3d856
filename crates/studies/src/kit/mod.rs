//! The parts that studies are made of. A study provides its programs, settings, runs and claims;
//! the rest is here.
//!
//! | file | holds |
//! | --- | --- |
//! | [`inputs`] | chip files and folders of profiles, and what is frozen of them |
//! | [`mod@simulate`] | one run of a team, or of threads on cores of their own; its result checked |
//! | [`experiment`] | experiments as data: settings, programs, draws, seeds; and the runs that follow |
//! | [`samples`] | the same draw under the same seed in each arm, and means with intervals |
//! | [`ratio`] | ratios of means over pairs of runs, and means of such ratios |
//! | [`judge`] | claims by their rules, falsifiers |
//! | [`open`] | what the paper leaves open, varied one at a time: effects, and the tornado |
//! | [`search`] | open choices varied together, in rounds that follow from each other |
//! | [`figure`] | figures that studies share: bars by program, lines over places |

pub mod experiment;
pub mod figure;
pub mod inputs;
pub mod judge;
pub mod open;
pub mod ratio;
pub mod samples;
pub mod search;
pub mod simulate;

pub use experiment::{Case, Draw, Experiment, Id, On, Plan};
pub use inputs::{ChipFile, Inputs};
pub use judge::Judge;
pub use open::{Item, Tornado};
pub use ratio::Ratio;
pub use samples::{Pair, Samples, over_draws, over_programs, reduction, said};
pub use simulate::{Body, Crew, Ended, on_cores, simulate};
