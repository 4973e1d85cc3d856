//! Clocks that differ from the clock in which time is counted.
//!
//! Time is counted in cycles of `core.clock_hz`, the *reference*: the fastest clock that a core of
//! the chip can have. Conversions to other clocks keep remainders, so that nothing drifts however
//! long a run is.
//!
//! A core's clock can change during a run. What lies in the core's clock domain scales with it:
//! computation, system calls, the L1, a private L2, atomics performed there. The last-level cache,
//! directory, network, memory and devices do not scale, nor do time slices and timers. A
//! computation keeps the remainder of a reference cycle for the next one. A cache look-up and a
//! turn of a spinning loop are rounded up to whole reference cycles. When the clock changes, a
//! computation under way and the pause between two tries of a spinning wait are re-rated to the
//! cycle; anything else ends as it began.
//!
//! | file | holds |
//! | --- | --- |
//! | [`domain`] | the clocks of the cores, and conversions to and from the reference |

pub(crate) mod domain;
