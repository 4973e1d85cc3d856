//! Units as types, so that quantities cross the borders of crates with their units: a latency is
//! [`Cycles`], a clock is [`Hertz`], a place on a network is a [`NodeId`]. Each is serialized as
//! its plain number.
//!
//! [`open`] holds lists of parts that a program may add to; it is in this crate because every crate
//! with a registry needs it.

pub mod open;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident($inner:ty), $suffix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{}", $suffix), self.0)
            }
        }
    };
}

macro_rules! quantity {
    ($($name:ident),*) => {$(
        impl Add for $name {
            type Output = $name;
            #[inline]
            fn add(self, other: $name) -> $name { $name(self.0 + other.0) }
        }
        impl AddAssign for $name {
            #[inline]
            fn add_assign(&mut self, other: $name) { self.0 += other.0 }
        }
        impl Sub for $name {
            type Output = $name;
            #[inline]
            fn sub(self, other: $name) -> $name { $name(self.0 - other.0) }
        }
        impl SubAssign for $name {
            #[inline]
            fn sub_assign(&mut self, other: $name) { self.0 -= other.0 }
        }
    )*};
}

unit!(/** Clock cycles of the component whose clock is meant. */ Cycles(u64), " cycles");
unit!(/** Nanoseconds. */ Nanos(u64), " ns");
unit!(/** Clock frequency in hertz. */ Hertz(u64), " Hz");
unit!(/** Flow-control units: what a link carries in one cycle. */ Flits(u64), " flits");
unit!(/** A node of the network on chip. */ NodeId(u32), "");
unit!(/** A core of the chip. */ CoreId(u32), "");
unit!(/** A CPU: what an operating system schedules onto, a hardware context of a core. */ CpuId(u32), "");
unit!(/** A cache line's number: its address divided by the line size. */ LineAddr(u64), "");

quantity!(Cycles, Nanos, Flits);

/// Energy in picojoules. It is a float, because the price of one event is often a fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Picojoules(pub f64);

impl Add for Picojoules {
    type Output = Picojoules;
    fn add(self, other: Picojoules) -> Picojoules {
        Picojoules(self.0 + other.0)
    }
}

impl AddAssign for Picojoules {
    fn add_assign(&mut self, other: Picojoules) {
        self.0 += other.0;
    }
}

impl Hertz {
    /// Returns how long `cycles` of this clock take, rounded to the nearest nanosecond.
    pub fn nanos(self, cycles: Cycles) -> Nanos {
        let ns = (u128::from(cycles.0) * 1_000_000_000 + u128::from(self.0) / 2) / u128::from(self.0.max(1));
        Nanos(ns as u64)
    }

    /// Returns the first cycle of this clock that starts at or after `ns`.
    pub fn cycles(self, ns: Nanos) -> Cycles {
        Cycles((u128::from(ns.0) * u128::from(self.0)).div_ceil(1_000_000_000) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_converts_both_ways() {
        let clock = Hertz(2_000_000_000);
        assert_eq!(clock.nanos(Cycles(2_000)), Nanos(1_000));
        assert_eq!(clock.cycles(Nanos(1_000)), Cycles(2_000));
        assert_eq!(Hertz(3).cycles(Nanos(1)), Cycles(1), "a deadline is never early");
    }

    #[test]
    fn a_long_run_does_not_overflow() {
        let clock = Hertz(5_000_000_000);
        let year = Nanos(365 * 24 * 3600 * 1_000_000_000);
        assert_eq!(clock.nanos(clock.cycles(year)), year);
    }
}
