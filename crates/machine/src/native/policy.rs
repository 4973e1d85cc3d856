//! A wait policy that may change while threads read it.

use crate::Wait;
use core::sync::atomic::{AtomicU64, Ordering};

/// The policy by which all waiters of a process wait, read at each wait.
pub struct Policy(AtomicU64);

impl Policy {
    /// This policy, to begin with.
    pub const fn new(wait: Wait) -> Policy {
        Policy(AtomicU64::new(wait.bits()))
    }

    /// The policy now.
    #[inline(always)]
    pub fn get(&self) -> Wait {
        // Acquire: with a new policy comes what was done before it was set.
        // SAFETY: only `new` and `set` write the bits.
        unsafe { Wait::of_bits(self.0.load(Ordering::Acquire)) }
    }

    /// Waits that begin later go by this one.
    pub fn set(&self, wait: Wait) {
        // Release: see `get`.
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
