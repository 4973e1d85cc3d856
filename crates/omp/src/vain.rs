//! Regions whose threads sleep where they would else spin first.
//!
//! If another program keeps a CPU busy, the kernel may put two threads of a team on one CPU. The one
//! that spins then keeps the CPU from the one that it waits for, until it sleeps: each region takes as
//! long as the spins. The first thread notices that what it waited for came soon after it slept. Then
//! the threads of its next regions sleep at once, and now and then it is found out anew.

use baton_machine::Machine;
use baton_machine::local::Use;
use core::cell::Cell;

/// The number of regions whose threads sleep, when spins were in vain for the first time.
const FEWEST: u32 = 64;
/// The greatest such number. It doubles each time that spins are found to be in vain still: a region
/// that spins to find that out takes many times as long as the others.
const MOST: u32 = 1024;

/// What a thread knows of the spins in its regions.
#[derive(Default)]
pub(crate) struct Vain {
    /// The number of regions until one has spun to find out whether that is in vain.
    left: Cell<u32>,
    /// The number of regions whose threads sleep or slept before that one; 0: its spins were not in
    /// vain.
    last: Cell<u32>,
}

impl Vain {
    /// Called when a region of several threads begins. Returns whether they are to sleep where they
    /// would else spin first.
    #[inline]
    pub(crate) fn next<M: Machine>(&self) -> bool {
        let left = self.left.get();
        if left == 0 && self.last.get() == 0 && M::local().get(Use::SpunInVain) == 0 {
            // The usual case.
            return false;
        }
        self.found_out::<M>(left)
    }

    #[cold]
    #[inline(never)]
    fn found_out<M: Machine>(&self, left: u32) -> bool {
        let vain = M::local().get(Use::SpunInVain) != 0;
        M::local().set(Use::SpunInVain, 0);
        if left != 0 {
            self.left.set(left - 1);
            // The last of these regions spins.
            return left != 1;
        }
        let regions = if vain { (2 * self.last.get()).clamp(FEWEST, MOST) } else { 0 };
        self.left.set(regions);
        self.last.set(regions);
        vain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Native;

    /// The number of regions that sleep before one that spins.
    fn sleeping(vain: &Vain) -> u32 {
        (0..).take_while(|_| vain.next::<Native>()).count() as u32
    }

    #[test]
    fn regions_sleep_after_a_spin_in_vain_and_try_again() {
        let (vain, spun) = (Vain::default(), || Native::local().set(Use::SpunInVain, 1));
        assert_eq!(sleeping(&vain), 0);
        let counts = [64, 128, 256, 512, 1024, 1024].map(|_| {
            spun();
            sleeping(&vain)
        });
        assert_eq!(counts, [64, 128, 256, 512, 1024, 1024]);
        // The region that spun has ended without a brief sleep.
        assert!(!vain.next::<Native>());
        spun();
        assert_eq!(sleeping(&vain), 64, "it begins anew");
    }
}
