//! The keys of a profile file: one table from which reading, writing and messages come.

use super::profile::{Draw, Range, Ranges};

/// The limits of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub most: f64,
    /// Whether only whole numbers are allowed.
    pub whole: bool,
}

impl Limits {
    /// The limits in words, for messages.
    pub fn expected(self) -> String {
        let what = if self.whole { "a whole number" } else { "a number" };
        format!("{what} from {} to {}", self.least, self.most)
    }

    /// Whether a number is within the limits.
    pub fn hold(self, value: f64) -> bool {
        (self.least..=self.most).contains(&value) && (!self.whole || value.fract() == 0.0)
    }
}

pub(crate) const fn whole(least: f64, most: f64) -> Limits {
    Limits { least, most, whole: true }
}
pub(crate) const fn number(least: f64, most: f64) -> Limits {
    Limits { least, most, whole: false }
}

/// A key of `[[draw]]`.
pub(super) struct DrawKey {
    pub(super) name: &'static str,
    pub(super) limits: Limits,
    pub(super) get: fn(&Draw) -> f64,
    pub(super) set: fn(&mut Draw, f64),
}

impl DrawKey {
    /// The value as it stands in a file, with at most four digits after the point, so that the file
    /// stays readable.
    pub(super) fn written(&self, draw: &Draw) -> f64 {
        let value = (self.get)(draw);
        if self.limits.whole { value } else { (value * 1e4).round() / 1e4 }
    }
}

macro_rules! draw_keys {
    ($($name:ident: $type:ty, $limits:expr;)*) => {
        /// Every key of `[[draw]]`, in the order in which it is written.
        pub(super) const DRAW: &[DrawKey] = &[$(DrawKey {
            name: stringify!($name),
            limits: $limits,
            get: |draw| draw.$name as f64,
            set: |draw, value| draw.$name = value as $type,
        }),*];
    };
}
draw_keys! {
    acquisitions: u64, whole(1.0, 1e6);
    locks: u32, whole(1.0, 1024.0);
    hot: f64, number(0.0, 1.0);
    even: f64, number(0.0, 1.0);
    section_cycles: u64, whole(0.0, 1e7);
    section_lines: u32, whole(0.0, 64.0);
    think_cycles: u64, whole(0.0, 1e8);
    spread: f64, number(0.0, 1.0);
    phase: u32, whole(0.0, 1e6);
    misses: f64, number(0.0, 1000.0);
    burst: u32, whole(1.0, 64.0);
    writes: f64, number(0.0, 1.0);
    own_lines: u32, whole(1.0, 65536.0);
}

/// A key of `[[ranges]]`.
pub(super) struct RangeKey {
    pub(super) name: &'static str,
    pub(super) limits: Limits,
    pub(super) set: fn(&mut Ranges, Range),
}

macro_rules! range_keys {
    ($($name:ident, $limits:expr;)*) => {
        /// Every key of `[[ranges]]`.
        pub(super) const RANGES: &[RangeKey] = &[$(RangeKey {
            name: stringify!($name),
            limits: $limits,
            set: |ranges, range| ranges.$name = range,
        }),*];
    };
}
range_keys! {
    acquisitions, whole(1.0, 1e6);
    locks, whole(1.0, 1024.0);
    hot, number(0.0, 1.0);
    even, number(0.0, 1.0);
    section_cycles, whole(0.0, 1e7);
    section_lines, whole(0.0, 64.0);
    think_cycles, whole(0.0, 1e8);
    phase, whole(0.0, 1e6);
    spread, number(0.0, 1.0);
    misses, number(0.0, 1000.0);
    cs_share, number(0.0, 1.0);
    coh_share, number(0.0, 1.0);
    rate, number(0.0, 1000.0);
    packets, number(0.0, 1000.0);
}

/// The limits of a draw's number: the seeds of further runs are a thousand apart.
pub(super) const NUMBER: Limits = whole(0.0, 999.0);

/// The limits of a share that may be printed.
pub(super) const SHARE: Limits = number(0.0, 1.0);
