//! An atomic read-modify-write as a value, so that the home of a line can perform it. A far atomic
//! takes effect when the home serves it, after the requests before it, and not when its answer
//! arrives.

/// An operation on a word, in terms of its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rmw {
    /// Writes the value.
    Swap(u64),
    /// Writes the second value if the word holds the first.
    Exchange(u64, u64),
    /// Adds the value.
    Add(u64),
}

impl Rmw {
    /// The value to write into a word of `bytes` bytes that holds `old`; `None` to leave the word
    /// unchanged.
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
    /// The value that the word held when the home performed the atomic; `None` if that has not
    /// happened yet.
    pub(crate) old: Option<u64>,
}
