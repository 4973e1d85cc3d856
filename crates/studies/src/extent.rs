//! How much of a study is done.

/// How much of a study is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Fewer seeds and programs, never shorter physics. What needs the full run is not judged.
    Quick,
    /// Every program, draw, seed and experiment.
    Full,
}
