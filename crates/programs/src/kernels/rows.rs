//! Rows of numbers in the machine's memory. Each row begins at the begin of a line.

use super::fourier::Complex;
use crate::places::Places;
use baton_machine::{Machine, Slot};

/// Number of numbers that a line of 64 bytes has room for.
pub(super) const IN_LINE: usize = 8;
/// Number of complex numbers that a line of 64 bytes has room for.
pub(super) const PAIRS: usize = IN_LINE / 2;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f64; IN_LINE]);

/// Rows of equal width.
pub(super) struct Rows<M: Machine> {
    lines: Places<M, Line>,
    /// Numbers in a row.
    width: usize,
    /// Lines in a row.
    each: usize,
}

impl<M: Machine> Rows<M> {
    /// Rows of zeros.
    pub(super) fn new(rows: usize, width: usize) -> Self {
        let each = width.div_ceil(IN_LINE);
        Rows { lines: Places::new(rows * each, |_| Line([0.0; IN_LINE])), width, each }
    }

    /// Rows of `pairs` complex numbers, all zero.
    pub(super) fn of_pairs(rows: usize, pairs: usize) -> Self {
        Rows::new(rows, 2 * pairs)
    }

    /// Reads a row.
    ///
    /// # Safety
    /// No thread writes the row meanwhile, and the last write happened before.
    pub(super) unsafe fn read(&self, row: usize) -> Vec<f64> {
        let mut lines = vec![Line([0.0; IN_LINE]); self.each];
        let from = &self.lines.0[row * self.each..(row + 1) * self.each];
        // SAFETY: the caller promises that no thread writes the row meanwhile; `lines` has room for
        // the row's lines.
        unsafe { Slot::read_row(from, lines.as_mut_ptr()) };
        lines.iter().flat_map(|line| line.0).take(self.width).collect()
    }

    /// Writes a row.
    ///
    /// # Safety
    /// No other thread accesses the row meanwhile, and earlier accesses happened before.
    pub(super) unsafe fn write(&self, row: usize, numbers: &[f64]) {
        let number = |at: usize| numbers.get(at).copied().unwrap_or(0.0);
        let line = |line: usize| Line(core::array::from_fn(|at| number(line * IN_LINE + at)));
        let lines: Vec<Line> = (0..self.each).map(line).collect();
        let into = &self.lines.0[row * self.each..(row + 1) * self.each];
        // SAFETY: the caller promises that no other thread accesses the row meanwhile; `lines`
        // holds as many lines as the row.
        unsafe { Slot::write_row(into, lines.as_ptr()) };
    }

    /// Reads a row of complex numbers.
    ///
    /// # Safety
    /// The condition of [`Rows::read`].
    pub(super) unsafe fn read_pairs(&self, row: usize) -> Vec<Complex> {
        // SAFETY: the caller promises that no thread writes the row meanwhile.
        let numbers = unsafe { self.read(row) };
        numbers.chunks_exact(2).map(|pair| Complex { re: pair[0], im: pair[1] }).collect()
    }

    /// Writes a row of complex numbers.
    ///
    /// # Safety
    /// The condition of [`Rows::write`].
    pub(super) unsafe fn write_pairs(&self, row: usize, pairs: &[Complex]) {
        let numbers: Vec<f64> = pairs.iter().flat_map(|pair| [pair.re, pair.im]).collect();
        // SAFETY: the caller promises that no other thread accesses the row meanwhile.
        unsafe { self.write(row, &numbers) };
    }

    /// Reads one line of a row: four complex numbers.
    ///
    /// # Safety
    /// The condition of [`Rows::read`].
    pub(super) unsafe fn block(&self, row: usize, block: usize) -> [Complex; PAIRS] {
        // SAFETY: the caller promises that no thread writes the row meanwhile.
        let Line(line) = unsafe { self.lines.get(row * self.each + block) };
        core::array::from_fn(|at| Complex { re: line[2 * at], im: line[2 * at + 1] })
    }

    /// Writes one line of a row.
    ///
    /// # Safety
    /// The condition of [`Rows::write`].
    pub(super) unsafe fn set_block(&self, row: usize, block: usize, pairs: [Complex; PAIRS]) {
        let line = core::array::from_fn(|at| if at % 2 == 0 { pairs[at / 2].re } else { pairs[at / 2].im });
        // SAFETY: the caller promises that no other thread accesses the row meanwhile.
        unsafe { self.lines.set(row * self.each + block, Line(line)) };
    }
}
