//! Complex numbers, and the Fourier transform of a line of them, whose length is a power of two.

use core::ops::{Add, Mul, Sub};
use std::f64::consts::TAU;

/// Cycles of a butterfly: ten floating-point operations, two in each cycle, and one cycle for
/// indices.
const BUTTERFLY_CYCLES: u64 = 6;
/// Cycles of a sine or cosine, an exponential function or a logarithm.
pub(super) const FUNCTION_CYCLES: u64 = 20;

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Complex {
    /// The real part.
    pub(super) re: f64,
    /// The imaginary part.
    pub(super) im: f64,
}

impl Complex {
    /// Returns exp(2πi · turn).
    pub(super) fn turned(turn: f64) -> Complex {
        Complex { re: (TAU * turn).cos(), im: (TAU * turn).sin() }
    }

    /// The number, multiplied by a real number.
    pub(super) fn scaled(self, by: f64) -> Complex {
        Complex { re: self.re * by, im: self.im * by }
    }

    /// The number with the sign of its imaginary part changed.
    pub(super) fn conjugate(self) -> Complex {
        Complex { re: self.re, im: -self.im }
    }

    /// The square of the number's length.
    pub(super) fn square(self) -> f64 {
        self.re * self.re + self.im * self.im
    }
}

impl Add for Complex {
    type Output = Complex;
    fn add(self, other: Complex) -> Complex {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Sub for Complex {
    type Output = Complex;
    fn sub(self, other: Complex) -> Complex {
        Complex { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Mul for Complex {
    type Output = Complex;
    fn mul(self, other: Complex) -> Complex {
        Complex { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

/// Returns exp(−2πi k / n) for the first n / 2 values of k.
pub(super) fn roots(n: usize) -> Vec<Complex> {
    (0..n / 2).map(|k| Complex::turned(-(k as f64) / n as f64)).collect()
}

/// Cycles of the transform of a line of `n` points.
pub(super) fn cycles(n: usize) -> u64 {
    n as u64 / 2 * u64::from(n.ilog2()) * BUTTERFLY_CYCLES
}

/// Transforms a line in its place (Cooley and Tukey 1965): swaps points by reversed bits, then does
/// butterflies. With `inverse` it transforms back, except for a factor of the length.
pub(super) fn transform(line: &mut [Complex], roots: &[Complex], inverse: bool) {
    let n = line.len();
    let shift = usize::BITS - n.ilog2();
    for at in 0..n {
        let other = at.reverse_bits() >> shift;
        if at < other {
            line.swap(at, other);
        }
    }
    let mut half = 1;
    while half < n {
        for group in line.chunks_exact_mut(2 * half) {
            let (low, high) = group.split_at_mut(half);
            for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
                let root = roots[k * (n / 2 / half)];
                let turned = *b * if inverse { root.conjugate() } else { root };
                (*a, *b) = (*a + turned, *a - turned);
            }
        }
        half *= 2;
    }
}

/// Computes the transform by its definition, for checks: the number of products is the square of
/// the length.
pub(super) fn plain(line: &[Complex], inverse: bool) -> Vec<Complex> {
    let n = line.len();
    let sign = if inverse { 1.0 } else { -1.0 };
    let turns: Vec<Complex> = (0..n).map(|k| Complex::turned(sign * k as f64 / n as f64)).collect();
    let value = |k: usize| {
        line.iter().enumerate().fold(Complex::default(), |sum, (at, value)| sum + *value * turns[at * k % n])
    };
    (0..n).map(value).collect()
}
