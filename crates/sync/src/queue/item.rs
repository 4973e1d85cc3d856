//! A slot for an item. The queue knows whether the slot is empty.

use baton_machine::{Machine, Slot};
use core::mem::MaybeUninit;

/// A slot of the machine, so that a model checker reports accesses at the wrong time.
#[repr(transparent)]
pub(super) struct ItemSlot<M: Machine, T: Send + 'static>(M::Slot<MaybeUninit<T>>);

// SAFETY: by the contracts of `put` and `get` only one thread at a time uses a slot. It hands items
// from thread to thread, which are `Send`.
unsafe impl<M: Machine, T: Send + 'static> Send for ItemSlot<M, T> {}
// SAFETY: only one thread at a time uses a slot, as above.
unsafe impl<M: Machine, T: Send + 'static> Sync for ItemSlot<M, T> {}

impl<M: Machine, T: Send + 'static> ItemSlot<M, T> {
    /// An empty slot.
    pub(super) fn empty() -> Self {
        ItemSlot(Slot::new(MaybeUninit::uninit()))
    }

    /// Puts an item in.
    ///
    /// # Safety
    /// The slot is empty and only the caller uses it; earlier accesses to it happened before.
    #[inline(always)]
    pub(super) unsafe fn put(&self, item: T) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.write(|at| at.write(MaybeUninit::new(item))) };
    }

    /// Calls `f` with the item.
    ///
    /// # Safety
    /// The slot holds an item, whose write happened before; no thread changes the slot meanwhile.
    #[inline(always)]
    pub(super) unsafe fn look<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        // SAFETY: by contract the slot holds an item.
        unsafe { self.0.read(|at| f((*at).assume_init_ref())) }
    }

    /// Takes the item out.
    ///
    /// # Safety
    /// The slot holds an item and only the caller uses it; the write of the item happened before.
    #[inline(always)]
    pub(super) unsafe fn get(&self) -> T {
        // SAFETY: by contract the slot holds an item.
        unsafe { self.0.take().assume_init() }
    }
}

/// Splits `count` neighbouring places of a ring from `first` on into the part up to the ring's end
/// and the part that continues at its beginning.
#[inline(always)]
pub(super) fn parts<S>(places: &[S], first: u32, count: usize) -> (&[S], &[S]) {
    let begin = first as usize & (places.len() - 1);
    let before = count.min(places.len() - begin);
    (&places[begin..begin + before], &places[..count - before])
}

impl<M: Machine, T: Copy + Send + 'static> ItemSlot<M, T> {
    /// Views the slots as slots of the machine.
    #[inline(always)]
    fn row(row: &[Self]) -> &[M::Slot<MaybeUninit<T>>] {
        // SAFETY: an item's slot has the layout of a slot of the machine (`repr(transparent)`).
        unsafe { core::slice::from_raw_parts(row.as_ptr().cast(), row.len()) }
    }

    /// Puts items into neighbouring places of a ring, from `first` on.
    ///
    /// # Safety
    /// The rules of [`ItemSlot::put`] hold for each place; there are no more items than places.
    #[inline(always)]
    pub(super) unsafe fn put_row(places: &[Self], first: u32, items: &[T]) {
        let (behind, begin) = parts(places, first, items.len());
        // SAFETY: guaranteed by the caller, whose items are outside of the ring.
        unsafe {
            Slot::write_row(Self::row(behind), items.as_ptr().cast());
            if begin.is_empty() {
                return;
            }
            Slot::write_row(Self::row(begin), items.as_ptr().add(behind.len()).cast());
        }
    }

    /// Takes items out of neighbouring places of a ring, from `first` on.
    ///
    /// # Safety
    /// The rules of [`ItemSlot::get`] hold for each place; there are no more items than places.
    #[inline(always)]
    pub(super) unsafe fn get_row(places: &[Self], first: u32, items: &mut [T]) {
        let (behind, begin) = parts(places, first, items.len());
        // SAFETY: by contract each place holds an item, and the caller's items are outside of the
        // ring.
        unsafe {
            Slot::take_row(Self::row(behind), items.as_mut_ptr().cast());
            if begin.is_empty() {
                return;
            }
            Slot::take_row(Self::row(begin), items.as_mut_ptr().add(behind.len()).cast());
        }
    }
}
