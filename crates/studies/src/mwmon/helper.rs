//! Figure 5: a kernel alone, or with one helper that prefetches what the next quantum needs and is held back by a barrier after each.

use super::product::{Array, load};
use super::run::{Body, Figures, on_contexts};
use super::waits::{Barrier, By};
use baton_chip::{Chip, Simulated, act};
use baton_machine::Machine;
use baton_machine::units::Cycles;
use baton_workloads::xorshift;
use serde::Serialize;
use std::cell::Cell;
use std::rc::Rc;

/// A kernel, and who helps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Assisted {
    pub(super) kernel: Name,
    /// The barrier's mechanism; `None`: no helper.
    pub(super) by: Option<By>,
    /// Whether the helper prefetches.
    pub(super) prefetches: bool,
}

/// Which kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Name {
    /// A sparse matrix by a vector, of the paper's size.
    Spmv,
    /// The first step's update of eight rows of blocks, of the paper's matrix.
    Lu,
}

/// Work in quanta.
trait Kernel {
    fn quanta(&self) -> usize;
    /// The worker's part of a quantum.
    fn compute(&self, quantum: usize);
    /// Loads what a quantum will need.
    fn prefetch(&self, quantum: usize);
    /// Whether all results are those of a plain computation.
    fn is_right(&self) -> bool;
}

/// Rows, columns and numbers of the paper's matrix that are not zero.
const SPARSE: [usize; 3] = [9648, 77_137, 260_785];
/// Rows of a quantum: some 4096 numbers, whose lines of the vector fill a quarter of the second level.
const ROWS: usize = 152;
/// Entries of the reorder buffer a load: nine instructions a number, of which three are loads.
const SPARSE_ENTRIES: u32 = 3;

struct Spmv {
    values: Array,
    /// Numbers of columns, four bytes each: two of a word.
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
    fn new(repetition: u64) -> Spmv {
        let [rows, columns, numbers] = SPARSE;
        let mut state = (repetition + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let places = (0..numbers).map(|_| (xorshift(&mut state) % columns as u64) as usize).collect();
        let array = |len, of: fn(usize) -> f64| Array::new(len, of);
        let [values, vector] = [array(numbers, of_values), array(columns, of_vector)];
        let [columns, result] = [array(numbers.div_ceil(2), |_| 0.0), array(rows, |_| -1.0)];
        Spmv { values, columns, vector, result, places }
    }

    fn row(row: usize) -> std::ops::Range<usize> {
        let [rows, _, numbers] = SPARSE;
        row * numbers / rows..(row + 1) * numbers / rows
    }

    fn rows(quantum: usize) -> std::ops::Range<usize> {
        quantum * ROWS..SPARSE[0].min((quantum + 1) * ROWS)
    }

    fn sum(&self, row: usize, value: impl Fn(usize) -> f64, vector: impl Fn(usize) -> f64) -> f64 {
        Self::row(row).map(|at| value(at) * vector(self.places[at])).sum()
    }
}

impl Kernel for Spmv {
    fn quanta(&self) -> usize {
        SPARSE[0].div_ceil(ROWS)
    }

    fn compute(&self, quantum: usize) {
        for row in Self::rows(quantum) {
            let cells = |at: usize| [self.columns.at(at / 2), self.values.at(at), self.vector.at(self.places[at])];
            load(Self::row(row).flat_map(cells), SPARSE_ENTRIES);
            let sum = act::outside(|| self.sum(row, |at| self.values.value(at), |at| self.vector.value(at)));
            self.result.put(row, sum);
        }
    }

    fn prefetch(&self, quantum: usize) {
        for row in Self::rows(quantum) {
            let cells = |at: usize| [self.columns.at(at / 2), self.vector.at(self.places[at])];
            load(Self::row(row).flat_map(cells), SPARSE_ENTRIES);
            // Eight values lie in a line.
            load(Self::row(row).step_by(8).map(|at| self.values.at(at)), SPARSE_ENTRIES);
        }
    }

    fn is_right(&self) -> bool {
        (0..SPARSE[0]).all(|row| self.result.value(row) == self.sum(row, of_values, of_vector))
    }
}

/// The order of the paper's matrix and of its blocks, whole blocks only; rows of blocks that are updated.
const ORDER: usize = 2040;
const BLOCK: usize = 10;
const UPDATED: usize = 8;
/// Updates of a quantum: half of a row of blocks, some 260 KB of what they load, a quarter of the second level.
const UPDATES: usize = 102;
/// Cycles of an inner product's other instructions, as in figure 4.
const PRODUCT: u64 = 30;

struct Lu(Array);

fn of_matrix(at: usize) -> f64 {
    (at % 17) as f64 - (at / ORDER % 3) as f64
}

impl Lu {
    const PER_ROW: usize = ORDER / BLOCK;

    fn update(&self, number: usize) {
        let (block_row, block) = (1 + number / Self::PER_ROW, number % Self::PER_ROW);
        if block == 0 {
            // The column of the panel, which was factored before.
            return;
        }
        for at in 0..BLOCK * BLOCK {
            let (r, c) = (block_row * BLOCK + at / BLOCK, block * BLOCK + at % BLOCK);
            let (left, above) = (|k: usize| r * ORDER + k, |k: usize| k * ORDER + c);
            let cells = (0..BLOCK).flat_map(|k| [self.0.at(left(k)), self.0.at(above(k))]);
            load(cells.chain([self.0.at(r * ORDER + c)]), 1);
            Simulated::work(Cycles(PRODUCT));
            let value = act::outside(|| {
                let product: f64 = (0..BLOCK).map(|k| self.0.value(left(k)) * self.0.value(above(k))).sum();
                self.0.value(r * ORDER + c) - product
            });
            self.0.put(r * ORDER + c, value);
        }
    }
}

impl Kernel for Lu {
    fn quanta(&self) -> usize {
        (UPDATED * Self::PER_ROW).div_ceil(UPDATES)
    }

    fn compute(&self, quantum: usize) {
        (quantum * UPDATES..(quantum + 1) * UPDATES).for_each(|number| self.update(number));
    }

    fn prefetch(&self, quantum: usize) {
        for number in quantum * UPDATES..(quantum + 1) * UPDATES {
            let (block_row, block) = (1 + number / Self::PER_ROW, number % Self::PER_ROW);
            // A row of a block lies in at most two lines.
            let cells = |row: usize| {
                let first = (block_row * BLOCK + row) * ORDER + block * BLOCK;
                let above = row * ORDER + block * BLOCK;
                [first, first + BLOCK - 1, above, above + BLOCK - 1].map(|at| self.0.at(at))
            };
            load((0..BLOCK).flat_map(cells), SPARSE_ENTRIES);
        }
    }

    fn is_right(&self) -> bool {
        let rows = BLOCK..BLOCK * (1 + UPDATED);
        rows.flat_map(|r| (BLOCK..ORDER).map(move |c| (r, c))).all(|(r, c)| {
            let product = (0..BLOCK).map(|k| of_matrix(r * ORDER + k) * of_matrix(k * ORDER + c)).sum::<f64>();
            self.0.value(r * ORDER + c) == of_matrix(r * ORDER + c) - product
        })
    }
}

fn kernel(name: Name, repetition: u64) -> Rc<dyn Kernel> {
    match name {
        Name::Spmv => Rc::new(Spmv::new(repetition)),
        Name::Lu => Rc::new(Lu(Array::new(ORDER * ORDER, of_matrix))),
    }
}

/// Enters a barrier; the time goes to `waits`.
fn enter(barrier: &Barrier, thread: u32, waits: &Cell<[u64; 2]>) {
    let before = act::time().0;
    barrier.enter(thread);
    let mut all = waits.get();
    all[thread as usize] += act::time().0 - before;
    waits.set(all);
}

/// A run of a kernel. The helper has prefetched a quantum when the worker begins it.
pub(super) fn figures(chip: &Chip, repetition: u64, assisted: Assisted) -> Result<Figures, String> {
    let Assisted { kernel: name, by, prefetches } = assisted;
    let (waits, span) = (Rc::new(Cell::new([0; 2])), Rc::new(Cell::new((0, false))));
    let (of_threads, of_worker) = (waits.clone(), span.clone());
    let make = move || {
        let kernel = kernel(name, repetition);
        let barrier = by.map(|by| Rc::new(Barrier::new(by)));
        let theirs = barrier.clone().map(|barrier| (kernel.clone(), barrier, of_threads.clone()));
        let worker = move || {
            let began = act::time().0;
            for quantum in 0..kernel.quanta() {
                if let Some(barrier) = &barrier {
                    enter(barrier, 0, &of_threads);
                }
                kernel.compute(quantum);
            }
            let took = act::time().0 - began;
            act::outside(|| {
                of_worker.set((took, kernel.is_right()));
                drop((kernel, barrier));
            });
        };
        let helper = theirs.map(|(kernel, barrier, waits)| {
            Box::new(move || {
                for quantum in 0..kernel.quanta() {
                    if prefetches {
                        kernel.prefetch(quantum);
                    }
                    enter(&barrier, 1, &waits);
                }
                act::outside(|| drop((kernel, barrier)));
            }) as Body
        });
        (Box::new(worker) as Body, helper)
    };
    let (_, outcome) = on_contexts(chip, 1 + repetition, make)?;
    let (work, right) = span.get();
    if !right {
        return Err(format!("{name:?}: the result is not that of a plain computation"));
    }
    let worker = outcome.threads.last().ok_or("no thread")?;
    let beyond = worker.memory.iter().filter(|(part, _)| *part == "memory").map(|(_, cycles)| cycles.0).sum();
    Ok(Figures { work, waits: waits.get(), memory: beyond, ..Figures::default() })
}
