//! LU decomposition in blocks. The kernel does the first step's update on eight rows of blocks.

use super::kernel::{Kernel, SPARSE_ENTRIES};
use crate::mwmon::product::{Array, load};
use baton_chip::{Simulated, act};
use baton_machine::Machine;
use baton_machine::units::Cycles;

/// The order of the paper's blocks; below, the number of rows of blocks that are updated.
const BLOCK: usize = 10;
const UPDATED: usize = 8;
/// The updates of a quantum: half of a row of blocks of the paper's matrix. They load some 260 KB,
/// a quarter of the second level.
const UPDATES: usize = 102;
/// The cycles of an inner product's other instructions, as in figure 4.
const PRODUCT: u64 = 30;

pub(super) struct Lu {
    /// The order of the matrix, a multiple of the blocks' order.
    order: usize,
    matrix: Array,
}

impl Lu {
    pub(super) fn new(order: usize) -> Lu {
        Lu { order, matrix: Array::new(order * order, |at| Self::of_matrix(order, at)) }
    }

    fn of_matrix(order: usize, at: usize) -> f64 {
        (at % 17) as f64 - (at / order % 3) as f64
    }

    fn per_row(&self) -> usize {
        self.order / BLOCK
    }

    /// The numbers of the updates of a quantum.
    fn updates(&self, quantum: usize) -> std::ops::Range<usize> {
        quantum * UPDATES..(UPDATED * self.per_row()).min((quantum + 1) * UPDATES)
    }

    fn update(&self, number: usize) {
        let (order, matrix) = (self.order, &self.matrix);
        let (block_row, block) = (1 + number / self.per_row(), number % self.per_row());
        if block == 0 {
            // Block 0 belongs to the panel's column, which was factored before.
            return;
        }
        for at in 0..BLOCK * BLOCK {
            let (r, c) = (block_row * BLOCK + at / BLOCK, block * BLOCK + at % BLOCK);
            let (left, above) = (|k: usize| r * order + k, |k: usize| k * order + c);
            let cells = (0..BLOCK).flat_map(|k| [matrix.at(left(k)), matrix.at(above(k))]);
            load(cells.chain([matrix.at(r * order + c)]), 1);
            Simulated::work(Cycles(PRODUCT));
            let value = act::outside(|| {
                let product: f64 = (0..BLOCK).map(|k| matrix.value(left(k)) * matrix.value(above(k))).sum();
                matrix.value(r * order + c) - product
            });
            matrix.put(r * order + c, value);
        }
    }
}

impl Kernel for Lu {
    fn quanta(&self) -> usize {
        (UPDATED * self.per_row()).div_ceil(UPDATES)
    }

    fn compute(&self, quantum: usize) {
        self.updates(quantum).for_each(|number| self.update(number));
    }

    fn prefetch(&self, quantum: usize) {
        let order = self.order;
        for number in self.updates(quantum) {
            let (block_row, block) = (1 + number / self.per_row(), number % self.per_row());
            // A row of a block lies in at most two lines.
            let cells = |row: usize| {
                let first = (block_row * BLOCK + row) * order + block * BLOCK;
                let above = row * order + block * BLOCK;
                [first, first + BLOCK - 1, above, above + BLOCK - 1].map(|at| self.matrix.at(at))
            };
            load((0..BLOCK).flat_map(cells), SPARSE_ENTRIES);
        }
    }

    fn is_right(&self) -> bool {
        let order = self.order;
        let of = |at| Self::of_matrix(order, at);
        let rows = BLOCK..BLOCK * (1 + UPDATED);
        rows.flat_map(|r| (BLOCK..order).map(move |c| (r, c))).all(|(r, c)| {
            let product = (0..BLOCK).map(|k| of(r * order + k) * of(k * order + c)).sum::<f64>();
            self.matrix.value(r * order + c) == of(r * order + c) - product
        })
    }
}
