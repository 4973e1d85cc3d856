//! The stencil of BT's right-hand side (NAS): second and fourth differences in three directions, of
//! five variables of each cell of a grid. The kernel leaves out BT's own equations and its solver
//! of block tridiagonal systems.

use super::kernel::{Kernel, SPARSE_ENTRIES};
use crate::mwmon::product::{Array, load};
use baton_chip::{Simulated, act};
use baton_machine::Machine;
use baton_machine::units::Cycles;

/// Variables of a cell.
const FIVE: usize = 5;
/// The number of planes that are computed, behind a border of two planes.
const PLANES: usize = 8;
/// The number of cells at each border that are not computed, because differences reach two cells
/// far.
const BORDER: usize = 2;
/// The rows of a quantum on the paper's grid. They load some 230 KB, a quarter of the second level.
const ROWS: usize = 15;
/// The cycles of a variable's other instructions: some sixty additions, multiplications and
/// addresses, two in each cycle, as in figure 4.
const OTHERS: u64 = 30;

pub(super) struct Stencil {
    edge: usize,
    u: Array,
    forcing: Array,
    result: Array,
}

fn of_u(at: usize) -> f64 {
    (at % 19) as f64 - (at / 7 % 5) as f64
}

fn of_forcing(at: usize) -> f64 {
    (at % 23) as f64
}

impl Stencil {
    pub(super) fn new(edge: usize) -> Stencil {
        let array = |of: fn(usize) -> f64| Array::new(edge * edge * edge * FIVE, of);
        Stencil { edge, u: array(of_u), forcing: array(of_forcing), result: array(|_| -1.0) }
    }

    /// The index of a variable in an array, by plane, row, cell and the variable's number.
    fn at(&self, plane: usize, row: usize, cell: usize, variable: usize) -> usize {
        ((plane * self.edge + row) * self.edge + cell) * FIVE + variable
    }

    /// The distances in an array to the same variable in the next cell, row and plane.
    fn steps(&self) -> [usize; 3] {
        [FIVE, self.edge * FIVE, self.edge * self.edge * FIVE]
    }

    /// The cells of a row that are computed; the same range holds for rows and planes.
    fn inner(&self) -> std::ops::Range<usize> {
        BORDER..self.edge - BORDER
    }

    /// The plane and the row number of each row of a quantum.
    fn rows(&self, quantum: usize) -> impl Iterator<Item = (usize, usize)> {
        let per_plane = self.inner().len();
        let all = quantum * ROWS..(PLANES * per_plane).min((quantum + 1) * ROWS);
        all.map(move |number| (BORDER + number / per_plane, BORDER + number % per_plane))
    }

    /// A variable's right-hand side.
    fn sum(&self, at: usize, u: impl Fn(usize) -> f64, forcing: f64) -> f64 {
        let differences = |step: usize| {
            let [far, near, here] = [u(at - 2 * step) + u(at + 2 * step), u(at - step) + u(at + step), u(at)];
            3.0 * (near - 2.0 * here) - 0.25 * (far - 4.0 * near + 6.0 * here)
        };
        forcing + self.steps().map(differences).into_iter().sum::<f64>()
    }
}

impl Kernel for Stencil {
    fn quanta(&self) -> usize {
        (PLANES * self.inner().len()).div_ceil(ROWS)
    }

    fn compute(&self, quantum: usize) {
        for (plane, row) in self.rows(quantum) {
            for cell in self.inner() {
                for variable in 0..FIVE {
                    let at = self.at(plane, row, cell, variable);
                    let around = |step: usize| [at - 2 * step, at - step, at + step, at + 2 * step];
                    let cells = self.steps().into_iter().flat_map(around).chain([at]).map(|at| self.u.at(at));
                    load(cells.chain([self.forcing.at(at)]), 1);
                    Simulated::work(Cycles(OTHERS));
                    let value = act::outside(|| self.sum(at, |at| self.u.value(at), self.forcing.value(at)));
                    self.result.put(at, value);
                }
            }
        }
    }

    fn prefetch(&self, quantum: usize) {
        for (plane, row) in self.rows(quantum) {
            // A row of cells is contiguous: one load for each line, and one for the last element.
            let line = |array: &Array, plane: usize| {
                let (first, last) = (self.at(plane, row, 0, 0), self.at(plane, row, self.edge - 1, FIVE - 1));
                let cells: Vec<_> = (first..=last).step_by(8).chain([last]).map(|at| array.at(at)).collect();
                load(cells.into_iter(), SPARSE_ENTRIES);
            };
            (plane - BORDER..=plane + BORDER).for_each(|plane| line(&self.u, plane));
            line(&self.forcing, plane);
        }
    }

    fn is_right(&self) -> bool {
        let cells = (BORDER..BORDER + PLANES).flat_map(|plane| self.inner().map(move |row| (plane, row)));
        cells.flat_map(|(plane, row)| self.inner().map(move |cell| (plane, row, cell))).all(|(plane, row, cell)| {
            (0..FIVE).all(|variable| {
                let at = self.at(plane, row, cell, variable);
                self.result.value(at) == self.sum(at, of_u, of_forcing(at))
            })
        })
    }
}
