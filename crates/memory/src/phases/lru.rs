//! What a cache with least-recently-used replacement keeps of sets whose lines are touched at random: Che, Tung and Wang (IEEE
//! JSAC 20, 2002). A line stays for `T` cycles after its last touch, the same `T` for all lines, such that what stays fills the
//! cache. Of a set of `w` lines, touched `r` times a cycle, a share of `1 − e^(−rT/w)` stays.

/// Newton's steps at most; ten are usual.
const STEPS: u32 = 200;

/// A set as a cache sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Touched {
    /// Lines.
    pub(super) lines: f64,
    /// Touches a cycle, or a unit of whatever `T` is counted in.
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
    /// The share of its lines that stay, when a line stays for `time` after its last touch.
    pub(super) fn stays(self, time: f64) -> f64 {
        if self.rate <= 0.0 || self.lines <= 0.0 {
            return 0.0;
        }
        if time.is_infinite() { 1.0 } else { 1.0 - decay(self.rate * time / self.lines) }
    }
}

/// How long a line stays after its last touch in a cache of `capacity` lines; infinite if all sets fit. `near`: a time that is
/// thought to be near; infinite: none is known.
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
    // Newton's steps. What is kept grows ever more slowly with time, so that no step ends beyond the time that is looked for, wherever
    // it began, and the first that does not go on is at the last bit. No line stays less long than the cache takes to fill if every
    // touch brings another line.
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
