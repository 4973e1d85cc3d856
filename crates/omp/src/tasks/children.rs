//! The children of a task that are not done, counted in one word. The word also counts its owners:
//! the task and these children.

use crate::waits::{Waits, Why};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Owned};
use core::ptr::NonNull;

/// The task's own hold on the word.
pub(crate) struct Children<M: Machine>(NonNull<M::Atomic<u32>>);

/// A child's hold on its parent's word, which the child has until it is done.
pub(crate) struct Parent<M: Machine>(NonNull<M::Atomic<u32>>);

/// The word's value if no child is left.
pub(crate) const ALONE: u32 = 1;

// SAFETY: the word is an atomic that several threads may share, and its last owner frees it.
unsafe impl<M: Machine> Send for Children<M> {}
// SAFETY: the word is an atomic that several threads may share; a child may be done in any thread
// of its team.
unsafe impl<M: Machine> Send for Parent<M> {}

impl<M: Machine> Children<M> {
    pub(crate) fn new() -> Self {
        let word = Owned::<M, _>::new(M::Atomic::new(ALONE)).into_raw();
        // SAFETY: an owned value has an address that is not null.
        Children(unsafe { NonNull::new_unchecked(word) })
    }

    /// Counts one more child, which no other thread knows yet.
    #[inline]
    pub(crate) fn one_more(&self) -> Parent<M> {
        // Relaxed: a lock is released before another thread gets the child, and only the task's own
        // thread waits for the word.
        self.word().fetch_add(1, Relaxed);
        Parent(self.0)
    }

    /// The word, which is [`ALONE`] when no child is left.
    #[inline]
    pub(crate) fn word(&self) -> &M::Atomic<u32> {
        // SAFETY: the word is not freed while this task holds it.
        unsafe { self.0.as_ref() }
    }

    /// Whether no child is left.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        // Acquire: a thread that finds no child left sees what the children did.
        self.word().load(Acquire) == ALONE
    }
}

impl<M: Machine> Drop for Children<M> {
    fn drop(&mut self) {
        // If no child is left, no other owner can come back to the word, so nothing need be
        // counted.
        if self.is_alone() {
            // SAFETY: no child holds the word any more.
            return unsafe { free::<M>(self.0) };
        }
        // SAFETY: the task holds the word, and uses it here for the last time.
        unsafe { give_up::<M>(self.0) };
    }
}

impl<M: Machine> Parent<M> {
    /// Whether `word` is the word in which this child's parent counts its children.
    #[inline]
    pub(crate) fn is(&self, word: &M::Atomic<u32>) -> bool {
        core::ptr::eq(self.0.as_ptr(), word)
    }

    /// The address of the word.
    #[inline]
    pub(crate) fn address(&self) -> *const () {
        self.0.as_ptr().cast()
    }

    /// Counts a child as done. If the parent may sleep, wakes it if this was the last child, or if
    /// `more` tasks have become ready that the parent may run.
    #[inline]
    pub(crate) fn one_done(self, waits: &Waits, may_sleep: bool, more: u32) {
        let word: *const M::Atomic<u32> = self.0.as_ptr();
        // SAFETY: the child holds the word, and uses it here for the last time, as `ManuallyDrop`
        // prevents its drop.
        let left = unsafe { give_up::<M>(core::mem::ManuallyDrop::new(self).0) };
        // The wake-up uses only the word's address, because the parent may have ended.
        if may_sleep && (left == ALONE || (more != 0 && left != 0)) {
            M::wake::<u32>(word, u32::MAX, waits.of(Why::Task));
        }
    }
}

impl<M: Machine> Drop for Parent<M> {
    fn drop(&mut self) {
        // SAFETY: the child holds the word, and uses it here for the last time.
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
    // SAFETY: the caller holds the word, so it is not freed yet.
    let word = unsafe { at.as_ref() };
    // Release: a thread that sees this value, or a later one, sees what the child did, because each
    // later change is a part of the release sequences of the earlier ones.
    let left = word.fetch_add(u32::MAX, Release) - 1;
    if left == 0 {
        // Acquire: the word is freed after all accesses of its other owners.
        word.load(Acquire);
        // SAFETY: this was the last owner.
        unsafe { free::<M>(at) };
    }
    left
}

/// Frees the word.
///
/// # Safety
/// No other thread holds the word.
unsafe fn free<M: Machine>(at: NonNull<M::Atomic<u32>>) {
    // SAFETY: `Children::new` allocated the word, and the caller says that no other thread holds
    // it.
    drop(unsafe { Owned::<M, M::Atomic<u32>>::from_raw(at.as_ptr()) });
}
