//! [`spin_park`](super::spin_park) with one try for a woken thread, one reading of figure 4b of its
//! paper: the home wakes the thread, "which will then enter into the critical section after a
//! successful locking request".

use super::spin_park::Variant;

/// A woken thread has one try before it sleeps again.
pub type SpinParkOnce<M> = Variant<M, false, true>;
