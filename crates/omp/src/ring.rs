//! The rings of a team's work-shares.
//!
//! The n-th work-share that a thread meets is the n-th of each thread, and stands in slot n modulo
//! the ring's length. A thread that is a whole ring ahead of another one finds its slot in use. It
//! closes the slot to later work-shares, and goes on in a larger ring. Every other thread finds the
//! slot closed when it comes to the same number, and goes on in the larger ring too; the numbers
//! before are in the smaller one. So the threads agree on where each work-share is. Once a team has a
//! larger ring, its next regions begin there.
//!
//! A thread that is a [`LONG`] ring ahead waits for [`PATIENCE`] before it goes on in a larger one: a
//! thread that it waits for may have no CPU, and a ring that is longer saves little. It does go on,
//! because the other thread may wait for this one, outside of the runtime.

use crate::share::{RING, Share};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::cell::Ptr;
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Machine, Owned, OwnedSlice};
use core::cell::Cell;

/// How many rings a team can have, the first one included.
const LEVELS: usize = 7;

/// The length from which on a ring is a long one: 1 MiB.
pub(crate) const LONG: u32 = 4096;

/// How long a thread waits for room in a long ring.
pub(crate) const PATIENCE: Nanos = Nanos(10_000_000);

/// A ring of a team that a thread is in.
pub(crate) struct Ring<M: Machine> {
    first: *const Share<M>,
    /// Its length less one; a length is a power of two.
    mask: u32,
    level: u32,
}

impl<M: Machine> Clone for Ring<M> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M: Machine> Copy for Ring<M> {}

impl<M: Machine> Ring<M> {
    fn new(level: u32, slots: &[Share<M>]) -> Self {
        Ring { first: slots.as_ptr(), mask: slots.len() as u32 - 1, level }
    }

    /// The number of slots.
    #[inline]
    pub(crate) fn length(self) -> u32 {
        self.mask + 1
    }

    /// The slot of work-share `number`. It stays as long as the team.
    #[inline(always)]
    pub(crate) fn slot(self, number: u32) -> *const Share<M> {
        // SAFETY: the ring has `mask` + 1 slots.
        unsafe { self.first.add((number & self.mask) as usize) }
    }
}

/// A larger ring.
struct Larger<M: Machine>(OwnedSlice<M, Share<M>>);

/// The rings of a team.
pub(crate) struct Rings<M: Machine> {
    first: [Share<M>; RING as usize],
    /// The larger rings that there are, from the second on.
    larger: [M::Atomic<Ptr<Larger<M>>>; LEVELS - 1],
    threads: u32,
    /// The level of the ring in which the next region begins. Only the team's first thread accesses
    /// it, between regions.
    next: Cell<u32>,
    /// A ring has 2^`growth` times as many slots as the one before; 0: there is only the first.
    growth: u32,
}

impl<M: Machine> Rings<M> {
    /// The first ring of a team of `threads` threads, and none beside it.
    pub(crate) fn new(threads: u32, growth: u32) -> Self {
        let first = core::array::from_fn(|at| Share::new(at as u32, threads));
        let larger = core::array::from_fn(|_| M::Atomic::new(Ptr::NULL));
        Rings { first, larger, threads, next: Cell::new(0), growth }
    }

    /// The ring of this level, if the team has it.
    fn slots(&self, level: u32) -> Option<&[Share<M>]> {
        if level == 0 {
            return Some(&self.first);
        }
        // Acquire: the thread sees the slots as they were made.
        let larger = self.larger[level as usize - 1].load(Acquire);
        // SAFETY: null, or a ring that stays as long as the team.
        unsafe { larger.0.as_ref() }.map(|larger| &*larger.0)
    }

    /// The ring of this level, which the team has.
    #[inline]
    pub(crate) fn ring(&self, level: u32) -> Ring<M> {
        if level == 0 { Ring::new(0, &self.first) } else { self.larger_ring(level) }
    }

    #[cold]
    fn larger_ring(&self, level: u32) -> Ring<M> {
        Ring::new(level, self.slots(level).expect("the team has this ring"))
    }

    /// The level of the ring in which the next region begins.
    pub(crate) fn next_level(&self) -> u32 {
        self.next.get()
    }

    /// Lets the next region begin in the ring in which the team's first thread has ended this one.
    pub(crate) fn keep(&self, ring: Ring<M>) {
        self.next.set(ring.level);
    }

    /// Whether a thread that finds no free slot in this ring can go on in a larger one.
    pub(crate) fn has_larger(&self, ring: Ring<M>) -> bool {
        self.growth != 0 && (ring.level as usize) < LEVELS - 1
    }

    /// The ring in which a thread goes on that found the slot of work-share `number` closed. All
    /// threads that leave `ring` do so at this number.
    pub(crate) fn larger(&self, ring: Ring<M>, number: u32) -> Option<Ring<M>> {
        if !self.has_larger(ring) {
            return None;
        }
        let level = ring.level + 1;
        if let Some(slots) = self.slots(level) {
            return Some(Ring::new(level, slots));
        }
        let length = RING << (self.growth * level);
        // Slot n is free for the first work-share from `number` on that is n modulo the length.
        let share = |slot: u32| number.wrapping_add(slot.wrapping_sub(number) & (length - 1));
        let slots = OwnedSlice::new(length as usize, |slot| Share::new(share(slot as u32), self.threads));
        let made = Owned::<M, _>::new(Larger(slots)).into_raw();
        let at = &self.larger[level as usize - 1];
        // Release: threads that find the ring see its slots. Relaxed on failure: this thread loads
        // the other thread's ring with Acquire below.
        if at.compare_exchange(Ptr::NULL, Ptr(made), Release, Relaxed).is_err() {
            // SAFETY: made above, and no other thread has seen it.
            drop(unsafe { Owned::<M, _>::from_raw(made) });
        }
        Some(self.ring(level))
    }

    /// Calls `then` with every slot.
    pub(crate) fn each(&self, then: impl FnMut(&Share<M>)) {
        (0..LEVELS as u32).filter_map(|level| self.slots(level)).flatten().for_each(then);
    }

    /// Makes the slots of the largest ring free for the work-shares from `number` on, and lets the
    /// next region begin there. No thread is in a work-share of the team.
    pub(crate) fn restart(&self, number: u32) {
        // A smaller ring is not used again.
        self.each(|share| share.restart(0));
        // Relaxed: the region in which another thread made a ring has ended.
        let largest = self.larger.iter().take_while(|larger| !larger.load(Relaxed).is_null()).count();
        let ring = self.ring(largest as u32);
        self.keep(ring);
        for number in (0..=ring.mask).map(|at| number.wrapping_add(at)) {
            // SAFETY: the ring stays as long as the team.
            unsafe { &*ring.slot(number) }.restart(number);
        }
    }
}

impl<M: Machine> Drop for Rings<M> {
    fn drop(&mut self) {
        for larger in &self.larger {
            // Relaxed: no thread uses the team any more.
            let larger = larger.load(Relaxed);
            if !larger.is_null() {
                // SAFETY: `larger` made the ring, and only this code frees it.
                drop(unsafe { Owned::<M, _>::from_raw(larger.0) });
            }
        }
    }
}
