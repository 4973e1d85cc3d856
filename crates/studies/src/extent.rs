//! How much of a study is done.

/// How much of a study is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Fewer seeds, programs and experiments; each run is as long as in a full study. Claims that
    /// need the full study are not judged.
    Quick,
    /// Every program, draw, seed and experiment.
    Full,
}
