//! The bounds of loops, which clang passes in four types of numbers. Both bounds are values of the
//! loop variable: the upper one is the last.

/// A type of loop variables.
pub(crate) trait Number: Copy + PartialOrd {
    /// The number's bits in 64, extended by the sign if the type has one.
    fn wide(self) -> u64;
    /// The number with the low bits of `wide`.
    fn narrow(wide: u64) -> Self;
}

macro_rules! numbers {
    ($($type:ident as $signed:ident)*) => {$(
        impl Number for $type {
            #[inline]
            fn wide(self) -> u64 {
                self as $signed as u64
            }
            #[inline]
            fn narrow(wide: u64) -> Self {
                wide as $type
            }
        }
    )*};
}

numbers! { i32 as i64 u32 as u64 i64 as i64 u64 as u64 }

/// The number of iterations of a loop from `lower` to `upper` in steps of `step`; 0 for a step of 0.
#[inline]
pub(crate) fn count<N: Number>(lower: N, upper: N, step: i64) -> u64 {
    let (low, high) = if step > 0 { (lower, upper) } else { (upper, lower) };
    if high < low || step == 0 {
        return 0;
    }
    let span = high.wide().wrapping_sub(low.wide());
    // One more than the greatest number does not fit: such a loop lacks its last iteration.
    (span / step.unsigned_abs()).saturating_add(1)
}

/// The value of the loop variable in iteration `at` of a loop that begins with `lower`.
#[inline]
pub(crate) fn value<N: Number>(lower: N, step: i64, at: u64) -> N {
    N::narrow(lower.wide().wrapping_add((step as u64).wrapping_mul(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_reach_the_ends_of_their_types() {
        assert_eq!(count(i32::MIN, i32::MAX, 1), 1 << 32);
        assert_eq!(count(0u32, u32::MAX, 1), 1 << 32);
        assert_eq!(count(i64::MIN, i64::MAX, 1), u64::MAX);
        assert_eq!(count(0u64, 9, 3), 4);
        assert_eq!(count(9u64, 0, -3), 4);
        assert_eq!((count(0, -1, 1), count(1u32, 0, 1), count(0, 1, -1), count(0, 1, 0)), (0, 0, 0, 0));
        assert_eq!((value(10, -3, 2), value(u32::MAX, 1, 1), value(i32::MIN, 1, 1 << 31)), (4, 0, 0));
    }
}
