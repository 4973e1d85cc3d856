//! The lines that a cache with least-recently-used replacement keeps, for sets whose lines are
//! accessed at random: Che, Tung and Wang (IEEE JSAC 20, 2002). A line stays for `T` cycles after
//! its last access. `T` is the same for all lines, and is such that the lines that stay fill the
//! cache. If a set of `w` lines is accessed `r` times a cycle, the share `1 − e^(−rT/w)` of it
//! stays.

/// The most Newton steps; ten are usual.
const STEPS: u32 = 200;

/// A set of lines, as a cache sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Touched {
    /// The number of lines.
    pub(super) lines: f64,
    /// Accesses per cycle, or per unit of whatever `T` is counted in.
    pub(super) rate: f64,
}

/// `e^-x`, by operations that are exact to the last bit on every host.
pub(super) fn decay(x: f64) -> f64 {
    if x > 700.0 {
        return 0.0;
    }
    let r = x / 1024.0;
    let mut power = 1.0 - r * (1.0 - r / 2.0 * (1.0 - r / 3.0 * (1.0 - r / 4.0 * (1.0 - r / 5.0 * (1.0 - r / 6.0)))));
    for _ in 0..10 {
        power *= power;
    }
    power
}

impl Touched {
    /// The share of the set's lines that stay, if a line stays for `time` after its last access.
    pub(super) fn stays(self, time: f64) -> f64 {
        if self.rate <= 0.0 || self.lines <= 0.0 {
            return 0.0;
        }
        if time.is_infinite() { 1.0 } else { 1.0 - decay(self.rate * time / self.lines) }
    }
}

/// How long a line stays after its last access in a cache of `capacity` lines; infinite if all sets
/// fit. `near` is a guess at the result, or infinite.
pub(super) fn stay(sets: &[Touched], capacity: f64, near: f64) -> f64 {
    let touched = || sets.iter().filter(|set| set.rate > 0.0 && set.lines > 0.0);
    let (all, rate): (f64, f64) = touched().fold((0.0, 0.0), |(lines, rate), set| (lines + set.lines, rate + set.rate));
    if all <= capacity {
        return f64::INFINITY;
    }
    if capacity <= 0.0 {
        return 0.0;
    }
    let step = |time: f64| {
        let (kept, slope) = touched().fold((0.0, 0.0), |(kept, slope), set| {
            let gone = decay(set.rate * time / set.lines);
            (kept + set.lines * (1.0 - gone), slope + set.rate * gone)
        });
        time + (capacity - kept) / slope
    };
    // Newton steps. The number of kept lines grows ever more slowly with time, so no step
    // overshoots the solution, wherever the steps began, and the first step without progress is
    // exact to the last bit. The lower bound is the time that the cache takes to fill if every
    // access brings another line.
    let least = capacity / rate;
    let mut time = if near.is_finite() { step(near).max(least) } else { least };
    for _ in 0..STEPS {
        let next = step(time);
        if !next.is_finite() || next <= time {
            break;
        }
        time = next;
    }
    time
}
