//! The paper's work: products of matrices, with the loads of the paper's program. Values lie in
//! guest memory, every element's load goes through the caches, and the result is compared with a
//! plain product.

use baton_chip::{Simulated, act};
use baton_machine::Ordering::Relaxed;
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, OwnedSlice};
use std::rc::Rc;

type Number = <Simulated as Machine>::Atomic<u64>;

/// An array in guest memory; threads share it.
#[derive(Clone)]
pub(super) struct Array(Rc<OwnedSlice<Simulated, Number>>);

impl Array {
    pub(super) fn new(len: usize, value: impl Fn(usize) -> f64) -> Array {
        Array(Rc::new(OwnedSlice::new(len, |at| Number::new(value(at).to_bits()))))
    }

    pub(super) fn at(&self, at: usize) -> *const Number {
        &raw const self.0[at]
    }

    /// The value of an element, without a load: its load was made before, or the caller is outside
    /// of guest code.
    pub(super) fn value(&self, at: usize) -> f64 {
        f64::from_bits(self.0[at].load(Relaxed))
    }

    /// Stores an element in the calling thread.
    pub(super) fn put(&self, at: usize, value: f64) {
        self.0[at].store(value.to_bits(), Relaxed);
    }
}

/// Makes loads in the calling thread. The machine decides which load delays which.
pub(super) fn load(cells: impl Iterator<Item = *const Number>, entries: u32) {
    act::load_all(cells, entries);
}

/// The order of the matrices of tables 1 and 2.
const ORDER: usize = 512;
/// The number of inner products that a run makes, of the 512 times 512 of the paper.
const PRODUCTS: usize = 6;

/// Part of the product of two large matrices: a row of the first with some neighbouring columns of
/// the second.
pub(super) struct Large {
    row: Array,
    columns: Array,
    first: usize,
}

fn of_row(k: usize) -> f64 {
    (k % 7) as f64
}

fn of_columns(at: usize) -> f64 {
    (at % 11) as f64
}

impl Large {
    /// Makes the part for a repetition. Its columns depend on the repetition, so that the
    /// repetitions of a case spread over the whole matrix.
    pub(super) fn new(repetition: u64) -> Large {
        let first = (repetition as usize * 37) % (ORDER - PRODUCTS);
        Large { row: Array::new(ORDER, of_row), columns: Array::new(ORDER * ORDER, of_columns), first }
    }

    /// Computes the part. Each load takes `entries` entries of the reorder buffer, and a turn of
    /// the inner loop has two loads.
    pub(super) fn compute(&self, entries: u32) -> f64 {
        let mut sum = 0.0;
        for column in self.first..self.first + PRODUCTS {
            load((0..ORDER).flat_map(|k| [self.row.at(k), self.columns.at(k * ORDER + column)]), entries);
            sum += act::outside(|| {
                (0..ORDER).map(|k| self.row.value(k) * self.columns.value(k * ORDER + column)).sum::<f64>()
            });
        }
        sum
    }

    /// The sum of the same products, computed without the simulated program.
    pub(super) fn expected(&self) -> f64 {
        let columns = self.first..self.first + PRODUCTS;
        columns.map(|column| (0..ORDER).map(|k| of_row(k) * of_columns(k * ORDER + column)).sum::<f64>()).sum()
    }
}

/// The order of a unit's matrices.
const SMALL: usize = 10;

/// A unit of work of figure 4: a product of two matrices of 10 by 10.
pub(super) struct Unit {
    a: Array,
    b: Array,
    c: Array,
}

impl Unit {
    pub(super) fn new() -> Unit {
        let len = SMALL * SMALL;
        Unit { a: Array::new(len, of_row), b: Array::new(len, of_columns), c: Array::new(len, |_| 0.0) }
    }

    /// Computes the unit. The loads of an inner product take one entry of the reorder buffer each.
    /// Its other instructions take `work` cycles of a core that runs alone.
    pub(super) fn compute(&self, work: u64) {
        for at in 0..SMALL * SMALL {
            let (i, j) = (at / SMALL, at % SMALL);
            load((0..SMALL).flat_map(|k| [self.a.at(i * SMALL + k), self.b.at(k * SMALL + j)]), 1);
            Simulated::work(Cycles(work));
            let value =
                act::outside(|| (0..SMALL).map(|k| self.a.value(i * SMALL + k) * self.b.value(k * SMALL + j)).sum());
            self.c.put(at, value);
        }
    }

    /// Whether the unit has the result of a plain product.
    pub(super) fn is_right(&self) -> bool {
        (0..SMALL * SMALL).all(|at| {
            let (i, j) = (at / SMALL, at % SMALL);
            self.c.value(at) == (0..SMALL).map(|k| of_row(i * SMALL + k) * of_columns(k * SMALL + j)).sum::<f64>()
        })
    }
}
