//! What the scheduling policy is told of locks and barriers.

use baton_chip::Simulated;
use baton_machine::{LockNotice, Machine};

/// What kind of object a notice is about; its number in the world goes with it.
pub(super) enum Named {
    Lock,
    Barrier,
}

/// Notifies the scheduling policy, if it listens, of what a guest does with a lock or a barrier.
pub(super) fn tell(notice: LockNotice, number: usize, of: Named) {
    if Simulated::hears_locks() {
        Simulated::notify_lock(notice, 2 * number + usize::from(matches!(of, Named::Barrier)));
    }
}
