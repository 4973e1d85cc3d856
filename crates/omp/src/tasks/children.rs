//! The children of a task that are not done, in one word. The word also counts its owners: the task
//! and these children.

use crate::waits::{Waits, Why};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Owned};
use core::ptr::NonNull;

/// The word as the task itself has it.
pub(crate) struct Children<M: Machine>(NonNull<M::Atomic<u32>>);

/// The word as a child that is not done has it.
pub(crate) struct Parent<M: Machine>(NonNull<M::Atomic<u32>>);

/// The word's value where no child is left.
pub(crate) const ALONE: u32 = 1;

// SAFETY: the word is shared, and goes with the last of those who have it.
unsafe impl<M: Machine> Send for Children<M> {}
// SAFETY: as above; a child may be done in any thread of its team.
unsafe impl<M: Machine> Send for Parent<M> {}

impl<M: Machine> Children<M> {
    pub(crate) fn new() -> Self {
        let word = Owned::<M, _>::new(M::Atomic::new(ALONE)).into_raw();
        // SAFETY: an owned value has an address.
        Children(unsafe { NonNull::new_unchecked(word) })
    }

    /// Counts one child more, which no other thread knows yet.
    #[inline]
    pub(crate) fn one_more(&self) -> Parent<M> {
        // Relaxed: a lock is given back before another thread has the child, and only the task's own thread waits for it.
        self.word().fetch_add(1, Relaxed);
        Parent(self.0)
    }

    /// The word, which is [`ALONE`] when no child is left.
    #[inline]
    pub(crate) fn word(&self) -> &M::Atomic<u32> {
        // SAFETY: it stays while this task has it.
        unsafe { self.0.as_ref() }
    }

    /// Whether no child is left.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        // Acquire: who is alone sees what the others did.
        self.word().load(Acquire) == ALONE
    }
}

impl<M: Machine> Drop for Children<M> {
    fn drop(&mut self) {
        // No other owner can come back to the word then, and nothing need be counted.
        if self.is_alone() {
            // SAFETY: no other has it.
            return unsafe { free::<M>(self.0) };
        }
        // SAFETY: this one has it, for the last time.
        unsafe { give_up::<M>(self.0) };
    }
}

impl<M: Machine> Parent<M> {
    /// Whether this is the parent's word.
    #[inline]
    pub(crate) fn is(&self, word: &M::Atomic<u32>) -> bool {
        core::ptr::eq(self.0.as_ptr(), word)
    }

    /// Counts a child as done. Wakes its parent if it was the last child, or if the parent may find
    /// `more` children to run.
    #[inline]
    pub(crate) fn one_done(self, waits: &Waits, more: u32) {
        let word: *const M::Atomic<u32> = self.0.as_ptr();
        // SAFETY: this one has it, for the last time: it is not dropped any more.
        let left = unsafe { give_up::<M>(core::mem::ManuallyDrop::new(self).0) };
        // The wake-up uses only the word's address: the parent may be gone.
        if left == ALONE || (more != 0 && left != 0) {
            M::wake::<u32>(word, u32::MAX, waits.of(Why::Task));
        }
    }
}

impl<M: Machine> Drop for Parent<M> {
    fn drop(&mut self) {
        // SAFETY: this one has it, for the last time.
        unsafe { give_up::<M>(self.0) };
    }
}

/// Gives up one owner's hold on the word. Returns how many owners are left. The last one frees the
/// word.
///
/// # Safety
/// The caller holds the word, and does not use it any more.
#[inline]
unsafe fn give_up<M: Machine>(at: NonNull<M::Atomic<u32>>) -> u32 {
    // SAFETY: by contract it is there.
    let word = unsafe { at.as_ref() };
    // Release: a thread that sees this value, or a later one, sees what the child did, because each
    // later change is a part of the release sequences of the earlier ones.
    let left = word.fetch_add(u32::MAX, Release) - 1;
    if left == 0 {
        // Acquire: what the other owners did with the word comes before its end.
        word.load(Acquire);
        // SAFETY: no other has it.
        unsafe { free::<M>(at) };
    }
    left
}

/// # Safety
/// No other thread holds the word.
unsafe fn free<M: Machine>(at: NonNull<M::Atomic<u32>>) {
    // SAFETY: `Children::new` made it; by contract no other uses it.
    drop(unsafe { Owned::<M, M::Atomic<u32>>::from_raw(at.as_ptr()) });
}
