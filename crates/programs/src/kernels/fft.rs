//! The Fourier transform of one long line in six steps (Bailey 1990; as in SPLASH-2's FFT): the
//! line, as a square of rows, is transposed, and its rows are transformed; each point is turned by
//! an angle; then the square is transposed, transformed and transposed again. The first thread
//! makes the input and adds up the result.

use super::fourier::{Complex, FUNCTION_CYCLES, cycles, roots, transform};
use super::random::{CYCLES, SEED, Sequence};
use super::rows::{PAIRS, Rows};
use super::scene::{Member, Scene};
use super::{near::near, scale::KernelScale};
use crate::places::Places;
use baton_machine::Machine;
use baton_machine::units::Cycles;
use baton_workloads::Team;
use std::sync::Arc;

/// Cycles of a point that is turned, added up or moved.
const POINT_CYCLES: u64 = 4;

/// The data that the threads share.
struct Data<M: Machine> {
    /// Number of rows, and of points in a row.
    m: usize,
    /// The two squares between which the points go to and fro: an odd number of times for each
    /// transform.
    squares: [Rows<M>; 2],
    /// Roots of unity for a row, which the first thread writes.
    roots: Rows<M>,
    /// By row: the factor by which each point is turned and scaled between the two transforms.
    turns: Rows<M>,
    /// The sum of the squares of all points' lengths, to which every thread adds under the lock.
    energy: Places<M, f64>,
    /// The sum of all points, which the first thread writes.
    sum: Places<M, Complex>,
}

/// Makes the threads of the kernel, and the check of their result.
pub(super) fn team<M: Machine>(scene: &Scene) -> Team {
    let scale = scene.scale;
    let m = scale.size as usize;
    let data = Arc::new(Data::<M> {
        m,
        squares: [Rows::of_pairs(m, m), Rows::of_pairs(m, m)],
        roots: Rows::of_pairs(1, m / 2),
        turns: Rows::of_pairs(m, m),
        energy: Places::new(1, |_| 0.0),
        sum: Places::new(1, |_| Complex::default()),
    });
    let worked = data.clone();
    let verify = move || {
        let input = input(scale);
        let mut expected = input.clone();
        for _ in 0..scale.rounds {
            expected = plain(&expected).iter().map(|value| value.scaled(1.0 / m as f64)).collect();
        }
        let energy = |line: &[Complex]| line.iter().map(|value| value.square()).sum::<f64>();
        let most = energy(&input).sqrt();
        for (row, expected) in expected.chunks_exact(m).enumerate() {
            // SAFETY: (here and below) the threads have ended.
            let found = unsafe { data.squares[scale.rounds as usize % 2].read_pairs(row) };
            for (x, (found, expected)) in found.iter().zip(expected).enumerate() {
                near(&format!("point {x} of row {row}"), (*found - *expected).square().sqrt(), 0.0, 1e-12 * most)?;
            }
        }
        // SAFETY: as above.
        let (found, sum) = unsafe { (data.energy.get(0), data.sum.get(0)) };
        // Parseval's theorem: the transform keeps the sum of the squares of all points' lengths.
        near("the sum of all squares", found, energy(&input), 1e-12 * energy(&input))?;
        let expected = expected.iter().fold(Complex::default(), |sum, value| sum + *value);
        near("the sum of all points, off by", (sum - expected).square().sqrt(), 0.0, 1e-10 * most)
    };
    scene.team(move |member| worked.work(member, scale.rounds as usize, scale), verify)
}

/// Random numbers around 0.
fn input(scale: KernelScale) -> Vec<Complex> {
    let mut sequence = Sequence::new(SEED, scale);
    let mut number = || sequence.next() - 0.5;
    (0..scale.size.pow(2)).map(|_| Complex { re: number(), im: number() }).collect()
}

impl<M: Machine> Data<M> {
    fn work(&self, member: &mut Member, rounds: usize, scale: KernelScale) {
        let m = self.m;
        member.alone(|| self.prepare(scale));
        member.each(m, |row| {
            M::work(Cycles(m as u64 * 2 * FUNCTION_CYCLES));
            let turns: Vec<Complex> = (0..m)
                .map(|at| Complex::turned(-((row * at) as f64) / (m * m) as f64).scaled(1.0 / m as f64))
                .collect();
            // SAFETY: (here and below) a phase writes each row by one thread, and reads what was
            // written before the last meeting, or the row itself.
            unsafe { self.turns.write_pairs(row, &turns) };
        });
        // SAFETY: as above.
        let roots = unsafe { self.roots.read_pairs(0) };
        for round in 0..rounds {
            let (from, to) = (&self.squares[round % 2], &self.squares[(round + 1) % 2]);
            self.transpose(member, from, to);
            self.rows(member, to, &roots, true);
            self.transpose(member, to, from);
            self.rows(member, from, &roots, false);
            self.transpose(member, from, to);
        }
        self.add_up(member, &self.squares[rounds % 2]);
    }

    /// Writes the input and the roots of unity.
    fn prepare(&self, scale: KernelScale) {
        let m = self.m;
        let points = input(scale);
        M::work(Cycles(m as u64 * FUNCTION_CYCLES));
        // SAFETY: the other threads wait, so only this thread accesses the data.
        unsafe {
            self.roots.write_pairs(0, &roots(m));
            for (row, points) in points.chunks_exact(m).enumerate() {
                M::work(Cycles(m as u64 * 2 * CYCLES));
                self.squares[0].write_pairs(row, points);
            }
        }
    }

    /// Makes rows into columns, in squares with as many points on a side as lie in a line of
    /// memory.
    fn transpose(&self, member: &mut Member, from: &Rows<M>, to: &Rows<M>) {
        let blocks = self.m / PAIRS;
        member.each(blocks * blocks, |unit| {
            let (row, column) = (unit / blocks, unit % blocks);
            // SAFETY: a phase writes each square of points by one thread, and reads what was
            // written before the last meeting.
            let read: [[Complex; PAIRS]; PAIRS] =
                core::array::from_fn(|at| unsafe { from.block(column * PAIRS + at, row) });
            M::work(Cycles((PAIRS * PAIRS) as u64 * POINT_CYCLES));
            let turned: [[Complex; PAIRS]; PAIRS] = core::array::from_fn(|at| read.map(|block| block[at]));
            for (at, block) in turned.into_iter().enumerate() {
                // SAFETY: as above.
                unsafe { to.set_block(row * PAIRS + at, column, block) };
            }
        });
    }

    /// Transforms each row, and then, if `turned`, multiplies each point by its factor of `turns`.
    fn rows(&self, member: &mut Member, square: &Rows<M>, roots: &[Complex], turned: bool) {
        let m = self.m;
        member.each(m, |row| {
            // SAFETY: as above.
            let mut line = unsafe { square.read_pairs(row) };
            M::work(Cycles(cycles(m)));
            transform(&mut line, roots, false);
            if turned {
                // SAFETY: as above.
                let turns = unsafe { self.turns.read_pairs(row) };
                M::work(Cycles(m as u64 * POINT_CYCLES));
                line.iter_mut().zip(turns).for_each(|(value, turn)| *value = *value * turn);
            }
            // SAFETY: as above.
            unsafe { square.write_pairs(row, &line) };
        });
    }

    /// All threads add up squares of lengths; the first thread adds up the points.
    fn add_up(&self, member: &mut Member, square: &Rows<M>) {
        let m = self.m;
        let mut own = 0.0;
        for row in member.part(m) {
            // SAFETY: as above.
            own += unsafe { square.read_pairs(row) }.iter().map(|value| value.square()).sum::<f64>();
            M::work(Cycles(m as u64 * POINT_CYCLES));
        }
        // SAFETY: this thread holds the lock that guards the energy.
        member.turn(|| unsafe { self.energy.set(0, self.energy.get(0) + own) });
        member.meet();
        member.alone(|| {
            let mut sum = Complex::default();
            for row in 0..m {
                // SAFETY: the rows were written before the last meeting, and the other threads
                // wait.
                sum = unsafe { square.read_pairs(row) }.into_iter().fold(sum, |sum, value| sum + value);
                M::work(Cycles(m as u64 * POINT_CYCLES));
            }
            // SAFETY: as above.
            unsafe { self.sum.set(0, sum) };
        });
    }
}

/// Computes the transform on one thread: even and odd points are transformed separately, again and
/// again (Danielson and Lanczos 1942).
fn plain(line: &[Complex]) -> Vec<Complex> {
    if line.len() == 1 {
        return line.to_vec();
    }
    let half = |first: usize| plain(&line.iter().skip(first).step_by(2).copied().collect::<Vec<_>>());
    let (even, odd) = (half(0), half(1));
    let turned = |(k, value): (usize, &Complex)| *value * Complex::turned(-(k as f64) / line.len() as f64);
    let odd: Vec<Complex> = odd.iter().enumerate().map(turned).collect();
    let pairs = || even.iter().zip(&odd);
    pairs().map(|(even, odd)| *even + *odd).chain(pairs().map(|(even, odd)| *even - *odd)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::fourier;

    #[test]
    fn the_plain_transform_is_that_of_the_definition() {
        let scale = KernelScale { size: 8, grain: 1, rounds: 1, seed: 5 };
        let line = input(scale);
        for (found, expected) in plain(&line).iter().zip(fourier::plain(&line, false)) {
            assert!((*found - expected).square() < 1e-24, "{found:?} {expected:?}");
        }
    }
}
