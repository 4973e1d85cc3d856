//! Memory of tasks that have ended, kept for the next tasks of the same thread, because an
//! allocation costs more than most of what else a task costs.

use super::children::Children;
use super::task::Task;
use baton_machine::Machine;
use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;

/// The memory of ended tasks that a thread keeps, also from one region to the next.
pub struct Spare<M: Machine> {
    tasks: Kept<Room<M>>,
    children: Kept<Children<M>>,
}

/// Memory for a task.
pub(crate) type Room<M> = Box<MaybeUninit<Task<M>>>;

/// The most pieces of memory kept of each kind: some 8 KiB.
const KEPT: usize = 32;

impl<M: Machine> Default for Spare<M> {
    fn default() -> Self {
        Spare { tasks: Kept::new(), children: Kept::new() }
    }
}

impl<M: Machine> Spare<M> {
    /// Frees all kept memory.
    pub(crate) fn clear(&self) {
        self.tasks.clear();
        self.children.clear();
    }

    #[inline]
    pub(crate) fn room(&self) -> Room<M> {
        self.tasks.take().unwrap_or_else(Box::new_uninit)
    }

    #[inline]
    pub(crate) fn keep_room(&self, room: Room<M>) {
        self.tasks.keep(room);
    }

    /// A word that counts no children: a kept one, or a new one.
    #[inline]
    pub(crate) fn children(&self) -> Children<M> {
        self.children.take().unwrap_or_else(Children::new)
    }

    /// Keeps the word of a task that has ended, if no child holds it any more; else returns it.
    #[inline]
    pub(crate) fn keep_children(&self, children: Children<M>) -> Option<Children<M>> {
        if children.is_alone() {
            self.children.keep(children);
            return None;
        }
        Some(children)
    }
}

/// A stack of a few values. Each call is over before the next begins, as no code of `T` calls back
/// into it.
struct Kept<T> {
    /// The number of values, which are the first ones of `values`.
    count: Cell<usize>,
    values: UnsafeCell<[MaybeUninit<T>; KEPT]>,
}

impl<T> Kept<T> {
    fn new() -> Self {
        Kept { count: Cell::new(0), values: UnsafeCell::new([const { MaybeUninit::uninit() }; KEPT]) }
    }

    fn at(&self, place: usize) -> *mut T {
        self.values.get().cast::<T>().wrapping_add(place)
    }

    /// Keeps a value, or drops it if there is no room.
    #[inline]
    fn keep(&self, one: T) {
        let count = self.count.get();
        if count < KEPT {
            // SAFETY: the place is inside of the array, and holds no value.
            unsafe { self.at(count).write(one) };
            self.count.set(count + 1);
        }
    }

    #[inline]
    fn take(&self) -> Option<T> {
        let count = self.count.get().checked_sub(1)?;
        self.count.set(count);
        // SAFETY: the place held a value, and counts as empty from now on.
        Some(unsafe { self.at(count).read() })
    }

    fn clear(&self) {
        while let Some(one) = self.take() {
            drop(one);
        }
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn values_beyond_the_room_are_dropped_and_the_others_come_back() {
        let (kept, one) = (Kept::new(), Rc::new(()));
        (0..KEPT + 3).for_each(|_| kept.keep(one.clone()));
        assert_eq!(Rc::strong_count(&one), KEPT + 1);
        assert!(kept.take().is_some());
        kept.clear();
        assert!(kept.take().is_none());
        kept.keep(one.clone());
        drop(kept);
        assert_eq!(Rc::strong_count(&one), 1);
    }
}
