//! A diffusion equation in three dimensions, solved by Fourier transforms (NAS' FT; Bailey and
//! others, RNR-94-007, section 2.4): a transform of random numbers, then for each step of time the
//! decay of each wave, a transform back, and a checksum.

use super::fourier::{Complex, FUNCTION_CYCLES, cycles, plain as transformed, roots, transform};
use super::random::{CYCLES, JUMP_CYCLES, SEED, Sequence};
use super::rows::{PAIRS, Rows};
use super::scene::{Member, Scene};
use super::{near::near, scale::KernelScale};
use crate::places::Places;
use baton_machine::Machine;
use baton_machine::units::Cycles;
use baton_workloads::Team;
use std::f64::consts::PI;
use std::sync::Arc;

/// The rate at which waves decay.
const ALPHA: f64 = 1e-6;
/// Number of points that a checksum adds up.
const CHECKED: usize = 1024;
/// Cycles of a point in a step: a product, and its place.
const STEP_CYCLES: u64 = 3;
/// Cycles of a point in a checksum: its place, and a sum.
const CHECK_CYCLES: u64 = 6;

/// The data that the threads share. Row z·n + y of a field has the points of all x.
struct Data<M: Machine> {
    n: usize,
    /// Roots of unity, and the begin of each plane's random numbers; the first thread writes both.
    roots: Rows<M>,
    seeds: Places<M, u64>,
    /// The share of each wave that is left after a step.
    decay: Rows<M>,
    /// The waves, and the field that they are transformed back to.
    waves: Rows<M>,
    field: Rows<M>,
    /// By step: the sum, written with the lock held.
    sums: Places<M, Complex>,
    /// By step: the checksum, which the first thread writes.
    checks: Places<M, Complex>,
}

/// Makes the threads of the kernel, and the check of their result.
pub(super) fn team<M: Machine>(scene: &Scene) -> Team {
    let scale = scene.scale;
    let (n, rounds) = (scale.size as usize, scale.rounds as usize);
    let data = Arc::new(Data::<M> {
        n,
        roots: Rows::of_pairs(1, n / 2),
        seeds: Places::new(n, |_| 0),
        decay: Rows::new(n * n, n),
        waves: Rows::of_pairs(n * n, n),
        field: Rows::of_pairs(n * n, n),
        sums: Places::new(rounds, |_| Complex::default()),
        checks: Places::new(rounds, |_| Complex::default()),
    });
    let worked = data.clone();
    let verify = move || {
        // SAFETY: (here and below) the threads have ended.
        let found: Vec<Complex> = (0..rounds).map(|step| unsafe { data.checks.get(step) }).collect();
        let (expected, field) = plain(scale);
        for expected in published(scale).into_iter().chain([expected]) {
            for (step, (found, expected)) in found.iter().zip(expected).enumerate() {
                // The published numbers have 13 digits.
                let within = 1e-11 * expected.square().sqrt();
                near(&format!("the checksum of step {step}, its real part"), found.re, expected.re, within)?;
                near(&format!("the checksum of step {step}, its imaginary part"), found.im, expected.im, within)?;
            }
        }
        // A checksum looks at few points, so the field of the last step is compared point by point.
        let greatest = field.iter().fold(0.0, |most: f64, value| most.max(value.square().sqrt()));
        for (row, expected) in field.chunks_exact(n).enumerate() {
            // SAFETY: as above.
            let found = unsafe { data.field.read_pairs(row) };
            for (x, (found, expected)) in found.iter().zip(expected).enumerate() {
                let what = format!("point {x} of row {row}, off by");
                near(&what, (*found - *expected).square().sqrt(), 0.0, 1e-11 * greatest)?;
            }
        }
        Ok(())
    };
    scene.team(move |member| worked.work(member, scale), verify)
}

/// The wave number of an index: the second half of the indices has negative wave numbers.
fn wave(index: usize, n: usize) -> f64 {
    (index as f64) - if index < n / 2 { 0.0 } else { n as f64 }
}

/// The share of a wave that is left after a step.
fn decay(n: usize, x: usize, y: usize, z: usize) -> f64 {
    let square = [x, y, z].map(|index| wave(index, n).powi(2)).iter().sum::<f64>();
    (-4.0 * ALPHA * PI * PI * square).exp()
}

/// The coordinates x, y, z of point `j` of a checksum.
fn checked(n: usize, j: usize) -> (usize, usize, usize) {
    let j = j + 1;
    (j % n, 3 * j % n, 5 * j % n)
}

impl<M: Machine> Data<M> {
    fn work(&self, member: &mut Member, scale: KernelScale) {
        member.alone(|| self.prepare(scale));
        self.begin(member);
        // SAFETY: the roots of unity were written before a meeting, and are not written again.
        let roots = unsafe { self.roots.read_pairs(0) };
        self.lines_of_x(member, &self.waves, &roots, false);
        for stride in [1, self.n] {
            self.lines_across(member, &self.waves, &roots, stride, false);
        }
        for step in 0..scale.rounds as usize {
            self.decay(member);
            for stride in [self.n, 1] {
                self.lines_across(member, &self.field, &roots, stride, true);
            }
            self.lines_of_x(member, &self.field, &roots, true);
            self.check(member, step);
        }
    }

    /// Writes the roots of unity, and the seeds of the planes.
    fn prepare(&self, scale: KernelScale) {
        let n = self.n;
        M::work(Cycles(n as u64 * (FUNCTION_CYCLES + JUMP_CYCLES)));
        let begin = Sequence::new(SEED, scale);
        // SAFETY: the other threads wait, so only this thread accesses the data.
        unsafe {
            self.roots.write_pairs(0, &roots(n));
            (0..n).for_each(|z| self.seeds.set(z, begin.after((2 * n * n * z) as u64).state()));
        }
    }

    /// Draws the random numbers, and computes how fast each wave decays.
    fn begin(&self, member: &mut Member) {
        let n = self.n;
        member.each(n, |z| {
            // SAFETY: (here and below, where threads share the units of a phase) a unit's rows are
            // written by its thread alone, and what others wrote they wrote before the last
            // meeting.
            let mut sequence = Sequence::at(unsafe { self.seeds.get(z) });
            for y in 0..n {
                M::work(Cycles(n as u64 * 2 * CYCLES));
                let mut numbers = Vec::with_capacity(2 * n);
                numbers.resize_with(2 * n, || sequence.next());
                // SAFETY: as above.
                unsafe { self.waves.write(z * n + y, &numbers) };
            }
        });
        member.each(n * n, |row| {
            M::work(Cycles(n as u64 * FUNCTION_CYCLES));
            let numbers: Vec<f64> = (0..n).map(|x| decay(n, x, row % n, row / n)).collect();
            // SAFETY: as above.
            unsafe { self.decay.write(row, &numbers) };
        });
    }

    /// Transforms each row of the field, which is a line along x.
    fn lines_of_x(&self, member: &mut Member, field: &Rows<M>, roots: &[Complex], inverse: bool) {
        member.each(self.n * self.n, |row| {
            // SAFETY: as above.
            let mut line = unsafe { field.read_pairs(row) };
            M::work(Cycles(cycles(self.n)));
            transform(&mut line, roots, inverse);
            // SAFETY: as above.
            unsafe { field.write_pairs(row, &line) };
        });
    }

    /// Transforms along y (rows that are neighbours) or z (rows that are n apart), as many lines at
    /// once as lie in a line of memory.
    fn lines_across(&self, member: &mut Member, field: &Rows<M>, roots: &[Complex], stride: usize, inverse: bool) {
        let n = self.n;
        member.each(n * n / PAIRS, |unit| {
            let (other, block) = (unit / (n / PAIRS), unit % (n / PAIRS));
            let row = |at: usize| if stride == 1 { other * n + at } else { at * n + other };
            // SAFETY: as above.
            let blocks: Vec<[Complex; PAIRS]> = (0..n).map(|at| unsafe { field.block(row(at), block) }).collect();
            M::work(Cycles(PAIRS as u64 * cycles(n)));
            let lines: [Vec<Complex>; PAIRS] = core::array::from_fn(|which| {
                let mut line: Vec<Complex> = blocks.iter().map(|block| block[which]).collect();
                transform(&mut line, roots, inverse);
                line
            });
            (0..n).for_each(|at| {
                let points = core::array::from_fn(|which| lines[which][at]);
                // SAFETY: as above.
                unsafe { field.set_block(row(at), block, points) };
            });
        });
    }

    /// Does one step of time.
    fn decay(&self, member: &mut Member) {
        member.each(self.n * self.n, |row| {
            // SAFETY: as above.
            let (mut waves, left) = unsafe { (self.waves.read_pairs(row), self.decay.read(row)) };
            M::work(Cycles(self.n as u64 * STEP_CYCLES));
            waves.iter_mut().zip(left).for_each(|(wave, left)| *wave = wave.scaled(left));
            // SAFETY: as above.
            unsafe {
                self.waves.write_pairs(row, &waves);
                self.field.write_pairs(row, &waves);
            }
        });
    }

    /// Computes the checksum of a step.
    fn check(&self, member: &mut Member, step: usize) {
        let n = self.n;
        let mut own = Complex::default();
        for j in member.part(CHECKED) {
            let (x, y, z) = checked(n, j);
            // SAFETY: the field was written before the last meeting.
            own = own + unsafe { self.field.block(z * n + y, x / PAIRS) }[x % PAIRS];
            M::work(Cycles(CHECK_CYCLES));
        }
        // SAFETY: this thread holds the lock that guards the sums.
        member.turn(|| unsafe { self.sums.set(step, self.sums.get(step) + own) });
        member.meet();
        // SAFETY: all threads have added to the sum, and the other threads wait.
        member.alone(|| unsafe { self.checks.set(step, self.sums.get(step).scaled(1.0 / n.pow(3) as f64)) });
    }
}

/// A transform in three dimensions by its definition, along one direction after the other.
fn plain_transform(field: &mut [Complex], n: usize, inverse: bool) {
    for stride in [1, n, n * n] {
        for first in (0..n * n * n).filter(|at| at / stride % n == 0) {
            let line: Vec<Complex> = (0..n).map(|at| field[first + at * stride]).collect();
            for (at, value) in transformed(&line, inverse).into_iter().enumerate() {
                field[first + at * stride] = value;
            }
        }
    }
}

/// Computes the result on one thread: all steps of a wave's decay at once, and transforms by their
/// definition. Returns the checksums, and the field of the last step.
fn plain(scale: KernelScale) -> (Vec<Complex>, Vec<Complex>) {
    let n = scale.size as usize;
    let mut sequence = Sequence::new(SEED, scale);
    let mut waves: Vec<Complex> =
        (0..n * n * n).map(|_| Complex { re: sequence.next(), im: sequence.next() }).collect();
    plain_transform(&mut waves, n, false);
    let mut field = Vec::new();
    let check = |step: u32| {
        let left = |at: usize| decay(n, at % n, at / n % n, at / n / n).powi(step as i32);
        field = waves.iter().enumerate().map(|(at, wave)| wave.scaled(left(at))).collect();
        plain_transform(&mut field, n, true);
        let point = |j| {
            let (x, y, z) = checked(n, j);
            field[(z * n + y) * n + x].scaled(1.0 / n.pow(3) as f64)
        };
        (0..CHECKED).map(point).fold(Complex::default(), |sum, point| sum + point)
    };
    let checks = (1..=scale.rounds).map(check).collect();
    (checks, field)
}

/// The published result for class S: 64 points on a side, six steps.
fn published(scale: KernelScale) -> Option<Vec<Complex>> {
    let class_s = [
        (5.546_087_004_964e2, 4.845_363_331_978e2),
        (5.546_385_409_189e2, 4.865_304_269_511e2),
        (5.546_148_406_171e2, 4.883_910_722_336e2),
        (5.545_423_607_415e2, 4.901_273_169_046e2),
        (5.544_255_039_624e2, 4.917_475_857_993e2),
        (5.542_683_411_902e2, 4.932_597_244_941e2),
    ];
    let known = scale.size == 64 && scale.seed == 1 && scale.rounds as usize <= class_s.len();
    let pairs = class_s.into_iter().take(scale.rounds as usize);
    known.then(|| pairs.map(|(re, im)| Complex { re, im }).collect())
}
