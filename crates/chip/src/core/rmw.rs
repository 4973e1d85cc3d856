//! An atomic read-modify-write as a value, so that the home of a line can do it: a far atomic takes effect when it has its
//! turn there, in the order in which the home takes requests, and not when its answer has come back.

/// What is done to a word, in its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rmw {
    /// Writes.
    Swap(u64),
    /// Writes the second if it holds the first.
    Exchange(u64, u64),
    /// Adds.
    Add(u64),
}

impl Rmw {
    /// What is written where `old` stands, in a word of `bytes`.
    pub(crate) fn apply(self, old: u64, bytes: usize) -> Option<u64> {
        match self {
            Rmw::Swap(new) => Some(new),
            Rmw::Exchange(current, new) => (old == current).then_some(new),
            Rmw::Add(more) => Some(old.wrapping_add(more) & if bytes == 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 }),
        }
    }
}

/// A far atomic that a thread waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Far {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    pub(crate) what: Rmw,
    /// What the word held when the home did it; `None`: it has not had its turn.
    pub(crate) old: Option<u64>,
}
