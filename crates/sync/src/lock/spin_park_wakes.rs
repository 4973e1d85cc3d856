//! [`spin_park`](super::spin_park) as algorithm 2 of its paper is printed: every unlock wakes a
//! sleeper, if there is one, and not only the unlock of a holder that knows of one. So while
//! spinners overtake the woken thread, each of them wakes one more.

use super::spin_park::Variant;

/// Every unlock wakes a sleeper.
pub type SpinParkWakes<M> = Variant<M, true, false>;
