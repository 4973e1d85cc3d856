//! A clock as a fraction of the reference: its edges fall on the first cycle of the reference at or after their exact
//! moments, so the n-th edge is never more than a cycle late, for any n.

use baton_units::Hertz;

/// A clock's cycles in `den` cycles of the reference: `num`, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    pub num: u64,
    pub den: u64,
}

impl Ratio {
    /// The reference itself.
    pub const ONE: Ratio = Ratio { num: 1, den: 1 };

    /// The ratio of `clock` to `reference`, neither of which is 0.
    pub fn of(clock: Hertz, reference: Hertz) -> Ratio {
        let common = gcd(clock.0, reference.0).max(1);
        Ratio { num: (clock.0 / common).max(1), den: (reference.0 / common).max(1) }
    }

    /// The time of the clock's edge number `cycle`.
    #[inline]
    pub fn edge(self, cycle: u64) -> u64 {
        if self == Ratio::ONE {
            return cycle;
        }
        match cycle.checked_mul(self.den) {
            Some(exact) => exact.div_ceil(self.num),
            None => (u128::from(cycle) * u128::from(self.den)).div_ceil(u128::from(self.num)) as u64,
        }
    }

    /// The number of the first edge at or after `time`.
    #[inline]
    pub fn cycle_at(self, time: u64) -> u64 {
        match time.checked_sub(1) {
            _ if self == Ratio::ONE => time,
            None => 0,
            Some(before) => match before.checked_mul(self.num) {
                Some(exact) => exact / self.den + 1,
                None => (u128::from(before) * u128::from(self.num) / u128::from(self.den)) as u64 + 1,
            },
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(baton_needs::property!(256))]
        /// An edge is at its exact moment, rounded up, and the edge at or after a time is the first
        /// such edge.
        #[test]
        fn edges_do_not_drift(clock in 1u64..5_000_000_000, reference in 1u64..5_000_000_000, at in 0u64..1 << 40) {
            let ratio = Ratio::of(Hertz(clock), Hertz(reference));
            let edge = ratio.edge(at);
            let exact = |edge: u64| u128::from(edge) * u128::from(clock);
            prop_assert!(exact(edge) >= u128::from(at) * u128::from(reference));
            prop_assert!(edge == 0 || exact(edge - 1) < u128::from(at) * u128::from(reference));
            let cycle = ratio.cycle_at(at);
            prop_assert!(ratio.edge(cycle) >= at);
            prop_assert!(cycle == 0 || ratio.edge(cycle - 1) < at);
        }
    }
}
