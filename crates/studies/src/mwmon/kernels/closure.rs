//! The kernel computes the transitive closure of a directed graph in dense representation, by
//! Warshall's algorithm in tiles of 16 by 16. It updates rows of tiles in one step of the
//! algorithm. A plain program brings the matrix to that step, and closes the step's own row and
//! column of tiles.

use super::kernel::{Kernel, SPARSE_ENTRIES};
use baton_chip::{Simulated, act};
use baton_machine::Ordering::Relaxed;
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, OwnedSlice};
use baton_workloads::xorshift;

/// The order of the paper's tiles. A row of a tile is 16 numbers of four bytes, which are a line.
const TILE: usize = 16;
/// The step that the kernel does: paths through the first 160 vertices are known, so that some
/// pairs are reached by now and others are not.
const STEP: usize = 10;
/// The number of rows of tiles that are updated. They lie behind the step's own row.
const UPDATED: usize = 8;
/// The tiles of a quantum, which load 200 KB, a fifth of the second level.
const TILES: usize = 100;
/// The cycles of an element's other instructions: sixteen turns of six instructions, at the rate
/// that the window sustains, as in figure 4.
const ELEMENT: u64 = 48;

type Number = <Simulated as Machine>::Atomic<u32>;

/// A row of a tile.
#[repr(align(64))]
struct Row([Number; TILE]);

pub(super) struct Closure {
    vertices: usize,
    /// Row by row.
    matrix: OwnedSlice<Simulated, Row>,
    /// The matrix before the step's update, in plain memory.
    plain: Plain,
}

/// The matrix in plain memory, with a bit for each pair of vertices.
struct Plain {
    vertices: usize,
    words: Vec<u64>,
}

impl Plain {
    fn random(vertices: usize, edges: usize, repetition: u64) -> Plain {
        let mut state = (repetition + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut plain = Plain { vertices, words: vec![0; vertices * vertices.div_ceil(64)] };
        let mut drawn = || (xorshift(&mut state) % vertices as u64) as usize;
        for _ in 0..edges {
            let (from, to) = (drawn(), drawn());
            plain.set(from, to);
        }
        plain
    }

    fn at(&self, from: usize, to: usize) -> usize {
        from * self.vertices.div_ceil(64) + to / 64
    }

    fn set(&mut self, from: usize, to: usize) {
        let at = self.at(from, to);
        self.words[at] |= 1 << (to % 64);
    }

    fn has(&self, from: usize, to: usize) -> bool {
        self.words[self.at(from, to)] >> (to % 64) & 1 != 0
    }

    /// Does Warshall's step for the vertex `via`, on the rows for which `of` holds.
    fn through(&mut self, via: usize, of: impl Fn(usize) -> bool) {
        let width = self.vertices.div_ceil(64);
        let row: Vec<u64> = self.words[via * width..][..width].to_vec();
        for from in (0..self.vertices).filter(|&from| of(from)) {
            if self.has(from, via) {
                self.words[from * width..][..width].iter_mut().zip(&row).for_each(|(to, via)| *to |= via);
            }
        }
    }

    /// The matrix when the step's own row and column of tiles are closed and no other tile is updated.
    fn before(vertices: usize, edges: usize, repetition: u64) -> Plain {
        let mut all = Plain::random(vertices, edges, repetition);
        (0..STEP * TILE).for_each(|via| all.through(via, |_| true));
        let mine = STEP * TILE..(STEP + 1) * TILE;
        // The step's own row of tiles is closed first; of the other rows, only the columns of this
        // step.
        mine.clone().for_each(|via| all.through(via, |from| mine.contains(&from)));
        for from in (0..vertices).filter(|from| !mine.contains(from)) {
            for via in mine.clone() {
                if all.has(from, via) {
                    for to in mine.clone().filter(|&to| all.has(via, to)).collect::<Vec<_>>() {
                        all.set(from, to);
                    }
                }
            }
        }
        all
    }

    /// Whether `to` is reached from `from` after the step's update.
    fn updated(&self, from: usize, to: usize) -> bool {
        self.has(from, to) || (STEP * TILE..(STEP + 1) * TILE).any(|via| self.has(from, via) && self.has(via, to))
    }
}

impl Closure {
    pub(super) fn new(vertices: usize, edges: usize, repetition: u64) -> Closure {
        let plain = Plain::before(vertices, edges, repetition);
        let per_row = vertices / TILE;
        let row = |at: usize| {
            let (from, first) = (at / per_row, at % per_row * TILE);
            Row(std::array::from_fn(|to| Number::new(u32::from(plain.has(from, first + to)))))
        };
        let matrix = OwnedSlice::new(vertices * per_row, row);
        Closure { vertices, matrix, plain }
    }

    fn per_row(&self) -> usize {
        self.vertices / TILE
    }

    fn cell(&self, from: usize, to: usize) -> &Number {
        &self.matrix[from * self.per_row() + to / TILE].0[to % TILE]
    }

    /// The first row and column of a tile, by its number among all tiles of the rows
    /// that are updated.
    fn tile(&self, number: usize) -> (usize, usize) {
        ((STEP + 1 + number / self.per_row()) * TILE, number % self.per_row() * TILE)
    }

    fn tiles(&self, quantum: usize) -> impl Iterator<Item = (usize, usize)> {
        let all = quantum * TILES..(UPDATED * self.per_row()).min((quantum + 1) * TILES);
        // The step's own column of tiles was closed before.
        all.map(|number| self.tile(number)).filter(|&(_, column)| column != STEP * TILE)
    }

    fn update(&self, row: usize, column: usize) {
        for at in 0..TILE * TILE {
            let (from, to) = (row + at / TILE, column + at % TILE);
            let via = || STEP * TILE..(STEP + 1) * TILE;
            let turns = via().flat_map(|via| [self.cell(from, via), self.cell(via, to)]);
            act::load_all(turns.chain([self.cell(from, to)]).map(|cell| &raw const *cell), 1);
            Simulated::work(Cycles(ELEMENT));
            let value = act::outside(|| {
                let load = |from, to| self.cell(from, to).load(Relaxed);
                via().fold(load(from, to), |known, via| known | load(from, via) & load(via, to))
            });
            self.cell(from, to).store(value, Relaxed);
        }
    }
}

impl Kernel for Closure {
    fn quanta(&self) -> usize {
        (UPDATED * self.per_row()).div_ceil(TILES)
    }

    fn compute(&self, quantum: usize) {
        self.tiles(quantum).for_each(|(row, column)| self.update(row, column));
    }

    fn prefetch(&self, quantum: usize) {
        for (row, column) in self.tiles(quantum) {
            let cells = |at: usize| [self.cell(row + at, column), self.cell(STEP * TILE + at, column)];
            act::load_all((0..TILE).flat_map(cells).map(|cell| &raw const *cell), SPARSE_ENTRIES);
        }
    }

    fn is_right(&self) -> bool {
        let rows = (STEP + 1) * TILE..(STEP + 1 + UPDATED) * TILE;
        rows.flat_map(|from| (0..self.vertices).map(move |to| (from, to))).all(|(from, to)| {
            let expected = if to / TILE == STEP { self.plain.has(from, to) } else { self.plain.updated(from, to) };
            self.cell(from, to).load(Relaxed) == u32::from(expected)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The update reaches some pairs that were not reached before, and leaves others unreached. Its
    /// result is that of Warshall's algorithm after the step.
    #[test]
    fn the_step_is_warshalls_and_decides_something() {
        let (vertices, edges) = (800, 12_500);
        let before = Plain::before(vertices, edges, 0);
        let mut whole = Plain::random(vertices, edges, 0);
        (0..(STEP + 1) * TILE).for_each(|via| whole.through(via, |_| true));
        let rows = (STEP + 1) * TILE..(STEP + 1 + UPDATED) * TILE;
        let pairs: Vec<_> = rows.flat_map(|from| (0..vertices).map(move |to| (from, to))).collect();
        assert!(pairs.iter().all(|&(from, to)| before.updated(from, to) == whole.has(from, to)));
        let count = |of: &dyn Fn(usize, usize) -> bool| pairs.iter().filter(|&&(from, to)| of(from, to)).count();
        let (known, reached) = (count(&|from, to| before.has(from, to)), count(&|from, to| before.updated(from, to)));
        assert!(
            known * 10 > pairs.len() && known < reached && reached < pairs.len(),
            "{known} {reached} {}",
            pairs.len()
        );
    }
}
