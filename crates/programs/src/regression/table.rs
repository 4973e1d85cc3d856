//! The rows in the machine's memory.

use super::Data;
use baton_machine::{Machine, OwnedSlice};
use std::cell::UnsafeCell;

/// The rows in the machine's memory, each in lines of its own. Nothing writes them during a run.
pub(super) struct Table<M: Machine> {
    words: OwnedSlice<M, Line>,
    pub(super) attributes: usize,
    pub(super) rows: usize,
}

/// Words in a line.
const WORDS: usize = 8;

/// A line of words.
#[repr(C, align(64))]
struct Line(UnsafeCell<[f64; WORDS]>);

// SAFETY: nothing writes a table's lines.
unsafe impl<M: Machine> Sync for Table<M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Send for Table<M> {}

/// Number of lines of a row: the attributes, then the label.
fn lines(attributes: usize) -> usize {
    (attributes + 1).div_ceil(WORDS)
}

/// Bytes of memory that a row takes.
pub(super) fn row_bytes(attributes: usize) -> usize {
    lines(attributes) * size_of::<Line>()
}

impl<M: Machine> Table<M> {
    pub(super) fn new(data: &Data) -> Self {
        let (attributes, each) = (data.attributes, lines(data.attributes));
        let word = |at: usize| {
            let (row, word) = (at / (each * WORDS), at % (each * WORDS));
            let (values, label) = data.row(row);
            if word == attributes { label } else { values.get(word).copied().unwrap_or(0.0) }
        };
        let line = |line: usize| Line(UnsafeCell::new(std::array::from_fn(|at| word(line * WORDS + at))));
        Table { words: OwnedSlice::new(data.rows() * each, line), attributes, rows: data.rows() }
    }

    /// Reads a row. Returns its label.
    pub(super) fn read(&self, row: usize, into: &mut [f64]) -> f64 {
        let each = lines(self.attributes);
        let row = &self.words[row * each..(row + 1) * each];
        // SAFETY: the row is alive, and nothing writes it.
        unsafe { M::touch(row.as_ptr().cast_mut().cast(), size_of_val(row), false) };
        // SAFETY: nothing writes a table's lines during a run.
        let words = row.iter().flat_map(|line| unsafe { *line.0.get() });
        let mut label = 0.0;
        words.take(self.attributes + 1).enumerate().for_each(|(at, word)| match into.get_mut(at) {
            Some(item) => *item = word,
            None => label = word,
        });
        label
    }
}
