//! A wait policy that may change while threads read it.

use crate::Wait;
use core::sync::atomic::{AtomicU64, Ordering};

/// The policy by which all waiters of a process wait; each wait reads it anew.
pub struct Policy(AtomicU64);

impl Policy {
    /// Starts with policy `wait`.
    pub const fn new(wait: Wait) -> Policy {
        Policy(AtomicU64::new(wait.bits()))
    }

    /// Returns the current policy.
    #[inline(always)]
    pub fn get(&self) -> Wait {
        // Acquire, so that a thread that sees a new policy also sees what was done before it was
        // set.
        // SAFETY: only `new` and `set` write the bits.
        unsafe { Wait::of_bits(self.0.load(Ordering::Acquire)) }
    }

    /// Sets the policy for waits that begin later.
    pub fn set(&self, wait: Wait) {
        // Release pairs with the Acquire in `get`.
        self.0.store(wait.bits(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::POLICIES;

    #[test]
    fn every_policy_comes_out_as_it_went_in() {
        let policy = Policy::new(Wait::SpinPark(7));
        assert_eq!(policy.get(), Wait::SpinPark(7));
        for (wait, _) in POLICIES {
            policy.set(*wait);
            assert_eq!(policy.get(), *wait);
        }
    }
}
