//! A sparse matrix by a vector.

use super::kernel::{Kernel, SPARSE_ENTRIES};
use crate::mwmon::product::{Array, load};
use baton_chip::act;
use baton_workloads::xorshift;

/// The rows of a quantum. They have some 4096 numbers, for which the lines of the vector fill a
/// quarter of the second level.
const ROWS: usize = 152;

pub(super) struct Spmv {
    /// The numbers of rows, of columns, and of values that are not zero.
    size: [usize; 3],
    values: Array,
    /// The indices of the columns, two in each word, because an index has four bytes.
    columns: Array,
    vector: Array,
    result: Array,
    /// Each number's column.
    places: Vec<usize>,
}

fn of_vector(at: usize) -> f64 {
    (at % 13) as f64
}

fn of_values(at: usize) -> f64 {
    (at % 5) as f64
}

impl Spmv {
    pub(super) fn new(size: [usize; 3], repetition: u64) -> Spmv {
        let [rows, columns, numbers] = size;
        let mut state = (repetition + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let places = (0..numbers).map(|_| (xorshift(&mut state) % columns as u64) as usize).collect();
        let array = |len, of: fn(usize) -> f64| Array::new(len, of);
        let [values, vector] = [array(numbers, of_values), array(columns, of_vector)];
        let [columns, result] = [array(numbers.div_ceil(2), |_| 0.0), array(rows, |_| -1.0)];
        Spmv { size, values, columns, vector, result, places }
    }

    fn row(&self, row: usize) -> std::ops::Range<usize> {
        let [rows, _, numbers] = self.size;
        row * numbers / rows..(row + 1) * numbers / rows
    }

    fn rows(&self, quantum: usize) -> std::ops::Range<usize> {
        quantum * ROWS..self.size[0].min((quantum + 1) * ROWS)
    }

    fn sum(&self, row: usize, value: impl Fn(usize) -> f64, vector: impl Fn(usize) -> f64) -> f64 {
        self.row(row).map(|at| value(at) * vector(self.places[at])).sum()
    }
}

impl Kernel for Spmv {
    fn quanta(&self) -> usize {
        self.size[0].div_ceil(ROWS)
    }

    fn compute(&self, quantum: usize) {
        for row in self.rows(quantum) {
            let cells = |at: usize| [self.columns.at(at / 2), self.values.at(at), self.vector.at(self.places[at])];
            load(self.row(row).flat_map(cells), SPARSE_ENTRIES);
            let sum = act::outside(|| self.sum(row, |at| self.values.value(at), |at| self.vector.value(at)));
            self.result.put(row, sum);
        }
    }

    fn prefetch(&self, quantum: usize) {
        for row in self.rows(quantum) {
            let cells = |at: usize| [self.columns.at(at / 2), self.vector.at(self.places[at])];
            load(self.row(row).flat_map(cells), SPARSE_ENTRIES);
            // A line has eight values, so one load fetches eight.
            load(self.row(row).step_by(8).map(|at| self.values.at(at)), SPARSE_ENTRIES);
        }
    }

    fn is_right(&self) -> bool {
        (0..self.size[0]).all(|row| self.result.value(row) == self.sum(row, of_values, of_vector))
    }
}
