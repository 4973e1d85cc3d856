//! Clocks that differ from the one that time is counted in.
//!
//! Time is counted in cycles of `core.clock_hz`, the *reference*: the fastest clock that a core of the chip can have. Every
//! other clock is a whole fraction of it, so that nothing drifts however long a run is.
//!
//! A core's clock can change while it runs. What is in its domain scales with it: computation, system calls, the L1, a
//! private L2, atomics done there. The last level, directory, network, memory and devices do not, nor do time slices and
//! timers. A computation keeps its remainder of a reference cycle for the next one; a cache lookup and a turn of a spinning
//! loop are rounded up to whole ones. What is under way when the clock changes is re-rated to the cycle if it is a
//! computation or the pause between two tries of a spinning wait; anything else ends as it began.
//!
//! | file | holds |
//! | --- | --- |
//! | [`domain`] | the cores' clocks, and from their cycles to the reference's and back |

pub(crate) mod domain;
