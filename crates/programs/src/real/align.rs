//! A sequence alignment by tasks (Smith and Waterman 1981; as in OMP2012's smithwa and bots'
//! alignment): the matrix of scores is cut into blocks, and a block is ready when the blocks above
//! and to the left of it are done.

use super::{pool::Pool, scale::Scale};
use crate::monitor::{Guarded, Kit};
use crate::places::Places;
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Ordering::AcqRel, OwnedSlice};
use baton_workloads::{Body, Shared, Team, share, xorshift};
use std::sync::Arc;

/// Cycles of a cell: three comparisons and a look at two letters.
const CYCLES: u64 = 4;

const MATCH: i32 = 3;
const MISMATCH: i32 = -2;
const GAP: i32 = -2;

/// The score of a cell from the scores of its neighbours.
fn score(across: i32, above: i32, left: i32, same: bool) -> i32 {
    (across + if same { MATCH } else { MISMATCH }).max(above + GAP).max(left + GAP).max(0)
}

/// Two related sequences. The second is the first, in which about three letters of sixteen are
/// drawn anew, left out, or followed by an inserted letter.
fn input(scale: Scale) -> [Vec<u8>; 2] {
    let mut state = scale.seed | 1;
    let mut letter = || b"ACGT"[(xorshift(&mut state) >> 62) as usize];
    let first: Vec<u8> = (0..scale.size).map(|_| letter()).collect();
    let mut second = Vec::with_capacity(first.len() + 1);
    for &same in &first {
        match (letter(), letter()) {
            (b'A', b'A') => second.push(letter()),
            (b'A', b'C') => {}
            (b'A', b'G') => second.extend([same, letter()]),
            _ => second.push(same),
        }
    }
    second.resize_with(first.len(), letter);
    [first, second]
}

/// Computes the score on one thread.
fn plain(scale: Scale) -> i32 {
    let [first, second] = input(scale);
    let mut above = vec![0; second.len() + 1];
    let mut best = 0;
    for a in &first {
        let (mut across, mut left) = (0, 0);
        for (b, cell) in second.iter().zip(&mut above[1..]) {
            let value = score(across, *cell, left, a == b);
            (across, left, *cell) = (*cell, value, value);
            best = best.max(value);
        }
    }
    best
}

/// The data that the threads share.
struct Data<M: Machine, K: Kit<M>> {
    sequences: [Places<M, u8>; 2],
    /// By row of blocks and column of the matrix: the scores in the bottom row of each block.
    lowest: Places<M, i32>,
    /// By column of blocks and row of the matrix: the scores in the rightmost column of each block.
    rightmost: Places<M, i32>,
    /// By block: the number of neighbours that are done.
    done: OwnedSlice<M, M::Atomic<u32>>,
    best: Shared<M, Guarded<M, K, i32>>,
    pool: Pool<M, K>,
    /// Letters in a side of a block, and blocks in a side of the matrix.
    grain: usize,
    side: usize,
}

/// Makes the threads of the program, and the check of their result.
pub(super) fn team<M: Machine, K: Kit<M>>(threads: u32, scale: Scale, kit: &K) -> Team {
    let (size, grain) = (scale.size as usize, scale.grain as usize);
    let side = size / grain;
    let data = Arc::new(Data::<M, K> {
        sequences: input(scale).map(|letters| Places::new(size, |at| letters[at])),
        lowest: Places::new(side * size, |_| 0),
        rightmost: Places::new(side * size, |_| 0),
        done: OwnedSlice::new(side * side, |_| M::Atomic::new(0)),
        best: share::<M, _>(Guarded::new(kit, 1, 0)),
        // At most one block of each row is ready at a time.
        pool: Pool::new(kit, 0, side, &[0]),
        grain,
        side,
    });
    let body = |_| {
        let (data, kit) = (data.clone(), kit.clone());
        Box::new(move || data.pool.run(&kit, |block| data.task(&kit, block as usize))) as Body
    };
    let bodies = (0..threads).map(body).collect();
    let verify = move || {
        // SAFETY: the threads have ended.
        let found = unsafe { data.best.at_end(|best| *best) };
        baton_workloads::expect("the best alignment's score", found as u64, plain(scale) as u64)
    };
    Team::new(bodies, Box::new(verify))
}

impl<M: Machine, K: Kit<M>> Data<M, K> {
    /// Computes a block. Returns the blocks that this makes ready.
    fn task(&self, kit: &K, block: usize) -> Vec<u32> {
        let (row, column) = (block / self.side, block % self.side);
        let (top, left) = (row * self.grain, column * self.grain);
        let size = self.side * self.grain;
        // SAFETY: (here and below) edges are written by their block's task alone, and read by tasks
        // that `done` and the pool's lock order after it; the sequences are never written.
        let letters = |which: usize, at: usize| -> Vec<u8> {
            // SAFETY: as above.
            (at..at + self.grain).map(|at| unsafe { self.sequences[which].get(at) }).collect()
        };
        // SAFETY: as above.
        let low = |column: usize| unsafe { self.lowest.get((row - 1) * size + column) };
        // SAFETY: as above.
        let right = |row: usize| unsafe { self.rightmost.get((column - 1) * size + row) };
        let mut above: Vec<i32> = (left..left + self.grain).map(|at| if row == 0 { 0 } else { low(at) }).collect();
        let mut corner = if row == 0 || column == 0 { 0 } else { low(left - 1) };
        let (first, second) = (letters(0, top), letters(1, left));
        let mut best = 0;
        for (y, a) in first.iter().enumerate() {
            let edge = if column == 0 { 0 } else { right(top + y) };
            let (mut across, mut before) = (corner, edge);
            for (b, cell) in second.iter().zip(&mut above) {
                let value = score(across, *cell, before, a == b);
                (across, before, *cell) = (*cell, value, value);
                best = best.max(value);
            }
            corner = edge;
            // SAFETY: as above.
            unsafe { self.rightmost.set(column * size + top + y, before) };
        }
        M::work(Cycles((self.grain * self.grain) as u64 * CYCLES));
        for (x, value) in above.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { self.lowest.set(row * size + left + x, value) };
        }
        self.best.with(kit, |all| *all = best.max(*all));
        let mut ready = Vec::new();
        if row + 1 < self.side {
            ready.extend(self.arrive(row + 1, column));
        }
        if column + 1 < self.side {
            ready.extend(self.arrive(row, column + 1));
        }
        ready
    }

    /// Notes that a neighbour of the block is done. Returns the block if this was the last
    /// neighbour.
    fn arrive(&self, row: usize, column: usize) -> Option<u32> {
        let block = row * self.side + column;
        let neighbours = u32::from(row > 0) + u32::from(column > 0);
        // AcqRel: the thread that finds the other neighbour done has seen that neighbour's edges.
        (self.done[block].fetch_add(1, AcqRel) + 1 == neighbours).then_some(block as u32)
    }
}
