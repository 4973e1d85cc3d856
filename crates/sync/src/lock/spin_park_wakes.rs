//! [`spin_park`](super::spin_park) as its paper's algorithm 2 is printed: every unlock wakes a sleeper, if there is any,
//! and not only the unlock of a holder that knows of one. So while spinners overtake the woken thread, each wakes one more.

use super::spin_park::Variant;

/// A sleeper is woken at every unlock.
pub type SpinParkWakes<M> = Variant<M, true, false>;
