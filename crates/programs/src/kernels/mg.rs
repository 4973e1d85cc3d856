//! A multigrid solver in three dimensions (NAS' MG; Bailey and others, RNR-94-007, section 2.3):
//! Poisson's equation with twenty charges, on a cube whose opposite sides touch. A V-cycle takes
//! the residual down to coarse grids, and corrections up from them. One thread alone works on the
//! coarse grids.

use super::random::{CYCLES, SEED, Sequence};
use super::rows::Rows;
use super::scene::{Member, Scene};
use super::{near::near, scale::KernelScale};
use crate::places::Places;
use baton_machine::Machine;
use baton_machine::units::Cycles;
use baton_workloads::Team;
use std::sync::Arc;

/// Cycles of a point in a sum over its neighbours: some 16 floating-point operations, and the loads
/// for them.
const SUM_CYCLES: u64 = 12;
/// Cycles of a point in an interpolation or in a norm.
const POINT_CYCLES: u64 = 4;
/// Number of charges of each sign.
const CHARGES: usize = 10;

/// Weights of a point, and of the neighbours that differ from it in one, two and three directions.
type Weights = [f64; 4];
const OPERATOR: Weights = [-8.0 / 3.0, 0.0, 1.0 / 6.0, 1.0 / 12.0];
const SMOOTHER: Weights = [-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0];
const COARSER: Weights = [0.5, 0.25, 0.125, 0.0625];

/// A grid. Row z·side + y has the points of all x.
struct Grid<M: Machine> {
    side: usize,
    /// The solution, or a correction of the solution of the next finer grid.
    u: Rows<M>,
    /// The residual.
    r: Rows<M>,
}

/// The data that the threads share: grids from 2 points on a side on, and the right side of the
/// finest grid.
struct Data<M: Machine> {
    grids: Vec<Grid<M>>,
    v: Rows<M>,
    /// The largest side of the grids that one thread works on alone.
    alone: usize,
    /// Sums of the squares of the residual, written with the lock held.
    squares: Places<M, f64>,
    /// The norm of the residual, which the first thread writes.
    norm: Places<M, f64>,
}

/// Makes the threads of the kernel, and the check of their result.
pub(super) fn team<M: Machine>(scene: &Scene) -> Team {
    let scale = scene.scale;
    let side = scale.size as usize;
    let grid = |level| {
        let side = 2_usize << level;
        Grid { side, u: Rows::new(side * side, side), r: Rows::new(side * side, side) }
    };
    let data = Arc::new(Data::<M> {
        grids: (0..side.ilog2()).map(grid).collect(),
        v: Rows::new(side * side, side),
        alone: scale.grain as usize,
        squares: Places::new(1, |_| 0.0),
        norm: Places::new(1, |_| 0.0),
    });
    let worked = data.clone();
    let verify = move || {
        // SAFETY: (here and below) the threads have ended.
        let norm = unsafe { data.norm.get(0) };
        if let Some(expected) = published(scale) {
            // The residual is a difference that nearly cancels, so rounding shows in its norm: the
            // benchmark asks for eight digits.
            near("the norm of what is left", norm, expected, 1e-8 * expected)?;
        }
        let (solution, expected) = plain(scale);
        near("the norm of what is left", norm, expected, 1e-8 * expected)?;
        let greatest = solution.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        for (row, expected) in solution.chunks_exact(side).enumerate() {
            // SAFETY: as above.
            let found = unsafe { data.grids[data.grids.len() - 1].u.read(row) };
            for (x, (found, expected)) in found.into_iter().zip(expected).enumerate() {
                near(&format!("point {x} of row {row}"), found, *expected, 1e-12 * greatest)?;
            }
        }
        Ok(())
    };
    scene.team(move |member| worked.work(member, scale), verify)
}

/// For each point of a row: its value, and the sums of the neighbours that differ from it in one,
/// two and three directions. `rows` are the row and the eight rows around it, the row itself in the
/// middle.
fn sums(rows: &[Vec<f64>; 9]) -> Vec<[f64; 4]> {
    let n = rows[4].len();
    // Each sum across the rows is computed once and used for three points.
    let beside: Vec<f64> = (0..n).map(|x| rows[1][x] + rows[3][x] + rows[5][x] + rows[7][x]).collect();
    let aslant: Vec<f64> = (0..n).map(|x| rows[0][x] + rows[2][x] + rows[6][x] + rows[8][x]).collect();
    let point = |x: usize| {
        let (left, right) = ((x + n - 1) % n, (x + 1) % n);
        let one = rows[4][left] + rows[4][right] + beside[x];
        [rows[4][x], one, aslant[x] + beside[left] + beside[right], aslant[left] + aslant[right]]
    };
    (0..n).map(point).collect()
}

fn weighted(weights: &Weights, sums: &[f64; 4]) -> f64 {
    weights.iter().zip(sums).map(|(weight, sum)| weight * sum).sum()
}

/// The row of a field and the eight rows around it.
///
/// # Safety
/// The condition of [`Rows::read`].
unsafe fn about<M: Machine>(field: &Rows<M>, side: usize, y: usize, z: usize) -> [Vec<f64>; 9] {
    core::array::from_fn(|at| {
        let (y, z) = ((y + side + at % 3 - 1) % side, (z + side + at / 3 - 1) % side);
        // SAFETY: the caller promises that no thread writes the rows meanwhile.
        unsafe { field.read(z * side + y) }
    })
}

/// The rows of a coarse grid on which a fine row lies, or between which it lies.
fn between(fine: usize, coarse: usize) -> [usize; 2] {
    // Coarse point c lies on fine point 2c + 1.
    [(fine + 2 * coarse - 1) / 2 % coarse, fine / 2 % coarse]
}

impl<M: Machine> Data<M> {
    fn work(&self, member: &mut Member, scale: KernelScale) {
        let last = self.grids.len() - 1;
        member.alone(|| self.charge(scale));
        self.leave(member, last);
        for _ in 0..scale.rounds {
            for level in (1..=last).rev() {
                self.coarser(member, level);
            }
            self.smooth(member, 0, true);
            for level in 1..=last {
                self.finer(member, level, level < last);
                self.leave(member, level);
                self.smooth(member, level, false);
            }
            self.leave(member, last);
        }
        self.norm(member);
    }

    /// Writes the right side: +1 at the ten greatest of as many random numbers as there are points,
    /// −1 at the ten least.
    fn charge(&self, scale: KernelScale) {
        let side = scale.size as usize;
        let mut sequence = Sequence::new(SEED, scale);
        let (mut least, mut most) = (Vec::new(), Vec::new());
        for at in 0..side.pow(3) {
            let number = sequence.next();
            keep(&mut most, (-number, at));
            keep(&mut least, (number, at));
        }
        M::work(Cycles(side.pow(3) as u64 * (CYCLES + 2)));
        for (charge, places) in [(1.0, most), (-1.0, least)] {
            for (_, at) in places {
                // SAFETY: the other threads wait, so only this thread accesses the data.
                unsafe {
                    let mut row = self.v.read(at / side);
                    row[at % side] = charge;
                    self.v.write(at / side, &row);
                }
            }
        }
    }

    /// Runs a phase over the rows (y, z) of a grid.
    fn sweep(&self, member: &mut Member, side: usize, mut row: impl FnMut(usize, usize)) {
        if side <= self.alone {
            member.alone(|| (0..side * side).for_each(|at| row(at % side, at / side)));
        } else {
            member.each(side * side, |at| row(at % side, at / side));
        }
    }

    /// Computes the residual; on coarse grids the right side is the residual that came down.
    fn leave(&self, member: &mut Member, level: usize) {
        let Grid { side, u, r } = &self.grids[level];
        let right = if level + 1 == self.grids.len() { &self.v } else { r };
        self.sweep(member, *side, |y, z| {
            // SAFETY: (here and below) a phase writes each row by one thread, and reads what was
            // written before the last meeting, or the row itself.
            let (near, mut left) = unsafe { (about(u, *side, y, z), right.read(z * side + y)) };
            M::work(Cycles(*side as u64 * SUM_CYCLES));
            left.iter_mut().zip(sums(&near)).for_each(|(left, sums)| *left -= weighted(&OPERATOR, &sums));
            // SAFETY: as above.
            unsafe { r.write(z * side + y, &left) };
        });
    }

    /// Corrects the solution by the residual.
    fn smooth(&self, member: &mut Member, level: usize, from_zero: bool) {
        let Grid { side, u, r } = &self.grids[level];
        self.sweep(member, *side, |y, z| {
            // SAFETY: as above.
            let near = unsafe { about(r, *side, y, z) };
            // SAFETY: as above.
            let mut row = if from_zero { vec![0.0; *side] } else { unsafe { u.read(z * side + y) } };
            M::work(Cycles(*side as u64 * SUM_CYCLES));
            row.iter_mut().zip(sums(&near)).for_each(|(value, sums)| *value += weighted(&SMOOTHER, &sums));
            // SAFETY: as above.
            unsafe { u.write(z * side + y, &row) };
        });
    }

    /// Takes the residual down to the next coarser grid.
    fn coarser(&self, member: &mut Member, level: usize) {
        let (fine, coarse) = (&self.grids[level], &self.grids[level - 1]);
        self.sweep(member, coarse.side, |y, z| {
            // SAFETY: as above.
            let near = unsafe { about(&fine.r, fine.side, 2 * y + 1, 2 * z + 1) };
            M::work(Cycles(coarse.side as u64 * SUM_CYCLES));
            let row: Vec<f64> = sums(&near).iter().skip(1).step_by(2).map(|sums| weighted(&COARSER, sums)).collect();
            // SAFETY: as above.
            unsafe { coarse.r.write(z * coarse.side + y, &row) };
        });
    }

    /// Brings the correction of the next coarser grid up: points between coarse points take their
    /// mean.
    fn finer(&self, member: &mut Member, level: usize, from_zero: bool) {
        let (fine, coarse) = (&self.grids[level], &self.grids[level - 1]);
        self.sweep(member, fine.side, |y, z| {
            let mut mean = vec![0.0; coarse.side];
            for z in between(z, coarse.side) {
                for y in between(y, coarse.side) {
                    // SAFETY: as above.
                    let row = unsafe { coarse.u.read(z * coarse.side + y) };
                    mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += 0.25 * value);
                }
            }
            let at = z * fine.side + y;
            // SAFETY: as above.
            let mut row = if from_zero { vec![0.0; fine.side] } else { unsafe { fine.u.read(at) } };
            M::work(Cycles(fine.side as u64 * POINT_CYCLES));
            for (x, value) in row.iter_mut().enumerate() {
                let [left, right] = between(x, coarse.side);
                *value += 0.5 * (mean[left] + mean[right]);
            }
            // SAFETY: as above.
            unsafe { fine.u.write(at, &row) };
        });
    }

    /// Computes the norm of the residual.
    fn norm(&self, member: &mut Member) {
        let Grid { side, r, .. } = &self.grids[self.grids.len() - 1];
        let mut own = 0.0;
        for row in member.part(side * side) {
            // SAFETY: as above.
            own += unsafe { r.read(row) }.iter().map(|value| value * value).sum::<f64>();
            M::work(Cycles(*side as u64 * POINT_CYCLES));
        }
        // SAFETY: this thread holds the lock that guards the sum of squares.
        member.turn(|| unsafe { self.squares.set(0, self.squares.get(0) + own) });
        member.meet();
        // SAFETY: all threads have added to the sum, and the other threads wait.
        member.alone(|| unsafe { self.norm.set(0, (self.squares.get(0) / side.pow(3) as f64).sqrt()) });
    }
}

/// Inserts `one` into the sorted list of the least values if it is among the [`CHARGES`] least.
fn keep(kept: &mut Vec<(f64, usize)>, one: (f64, usize)) {
    if kept.len() < CHARGES || one.0 < kept[CHARGES - 1].0 {
        kept.insert(kept.partition_point(|other| *other < one), one);
        kept.truncate(CHARGES);
    }
}

/// A plain cube of numbers.
#[derive(Clone)]
struct Cube(usize, Vec<f64>);

/// The 27 points around a point, itself among them, and in how many directions each differs.
fn neighbours() -> impl Iterator<Item = ([usize; 3], usize)> {
    // 2 stands for one step back, because opposite sides touch.
    (0..27)
        .map(|code| [code % 3, code / 3 % 3, code / 9])
        .map(|step| (step, step.iter().filter(|one| **one > 0).count()))
}

impl Cube {
    fn at(side: usize, [x, y, z]: [usize; 3], step: [usize; 3]) -> usize {
        let moved = |from: usize, step: usize| (from + if step == 2 { side - 1 } else { step }) % side;
        (moved(z, step[2]) * side + moved(y, step[1])) * side + moved(x, step[0])
    }

    fn points(side: usize) -> impl Iterator<Item = [usize; 3]> {
        (0..side.pow(3)).map(move |at| [at % side, at / side % side, at / side / side])
    }

    fn sum(&self, weights: &Weights, point: [usize; 3]) -> f64 {
        neighbours().map(|(step, far)| weights[far] * self.1[Cube::at(self.0, point, step)]).sum()
    }

    /// Returns this cube with each point increased by `times` the weighted sum around the same
    /// point of `other`.
    fn plus(&self, times: f64, weights: &Weights, other: &Cube) -> Cube {
        let value = |(point, value): ([usize; 3], &f64)| value + times * other.sum(weights, point);
        Cube(self.0, Cube::points(self.0).zip(&self.1).map(value).collect())
    }

    fn coarser(&self) -> Cube {
        let side = self.0 / 2;
        Cube(side, Cube::points(side).map(|point| self.sum(&COARSER, point.map(|c| 2 * c + 1))).collect())
    }

    /// Adds each coarse point to all fine points around it.
    fn add_coarse(&mut self, coarse: &Cube) {
        for (point, value) in Cube::points(coarse.0).zip(&coarse.1) {
            for (step, far) in neighbours() {
                self.1[Cube::at(self.0, point.map(|c| 2 * c + 1), step)] += value * 0.5_f64.powi(far as i32);
            }
        }
    }
}

/// Returns the solution after one V-cycle that begins at `u`, whose residual is `left`.
fn cycle(u: Cube, right: &Cube, left: &Cube) -> Cube {
    let zero = |side: usize| Cube(side, vec![0.0; side.pow(3)]);
    if u.0 == 2 {
        return u.plus(1.0, &SMOOTHER, left);
    }
    let below = left.coarser();
    let mut corrected = u;
    corrected.add_coarse(&cycle(zero(below.0), &below, &below));
    let left = right.plus(-1.0, &OPERATOR, &corrected);
    corrected.plus(1.0, &SMOOTHER, &left)
}

/// Computes on one thread, point by point over whole cubes: the solution, and the norm of the
/// residual.
fn plain(scale: KernelScale) -> (Vec<f64>, f64) {
    let side = scale.size as usize;
    let mut sequence = Sequence::new(SEED, scale);
    let mut numbers: Vec<(f64, usize)> = (0..side.pow(3)).map(|at| (sequence.next(), at)).collect();
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut right = Cube(side, vec![0.0; side.pow(3)]);
    numbers[..CHARGES].iter().for_each(|(_, at)| right.1[*at] = -1.0);
    numbers[numbers.len() - CHARGES..].iter().for_each(|(_, at)| right.1[*at] = 1.0);
    let mut u = Cube(side, vec![0.0; side.pow(3)]);
    let mut left = right.clone();
    for _ in 0..scale.rounds {
        u = cycle(u, &right, &left);
        left = right.plus(-1.0, &OPERATOR, &u);
    }
    let squares: f64 = left.1.iter().map(|value| value * value).sum();
    (u.1, (squares / side.pow(3) as f64).sqrt())
}

/// The published result for class S: 32 points on a side, four V-cycles.
fn published(scale: KernelScale) -> Option<f64> {
    (scale.size == 32 && scale.rounds == 4 && scale.seed == 1).then_some(0.530_770_700_573_4e-4)
}
