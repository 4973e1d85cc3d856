//! Memory of tasks that have ended, kept for the next tasks of the same thread, because an
//! allocation costs more than most of what else a task costs.

use super::children::Children;
use super::task::Task;
use baton_machine::Machine;
use core::cell::RefCell;
use core::mem::MaybeUninit;

/// The memory of ended tasks that a thread keeps, also from one region to the next.
pub struct Spare<M: Machine> {
    tasks: RefCell<Vec<Room<M>>>,
    children: RefCell<Vec<Children<M>>>,
}

/// Memory for a task.
pub(crate) type Room<M> = Box<MaybeUninit<Task<M>>>;

/// The most pieces of memory kept of each kind: some 8 KiB.
const KEPT: usize = 32;

impl<M: Machine> Default for Spare<M> {
    fn default() -> Self {
        Spare { tasks: RefCell::default(), children: RefCell::default() }
    }
}

impl<M: Machine> Spare<M> {
    /// Frees all kept memory.
    pub(crate) fn clear(&self) {
        drop((self.tasks.take(), self.children.take()));
    }

    #[inline]
    pub(crate) fn room(&self) -> Room<M> {
        self.tasks.borrow_mut().pop().unwrap_or_else(Box::new_uninit)
    }

    #[inline]
    pub(crate) fn keep_room(&self, room: Room<M>) {
        keep(&self.tasks, room);
    }

    /// A word that counts no children: a kept one, or a new one.
    #[inline]
    pub(crate) fn children(&self) -> Children<M> {
        self.children.borrow_mut().pop().unwrap_or_else(Children::new)
    }

    /// Keeps the word of a task that has ended, if no child holds it any more.
    #[inline]
    pub(crate) fn keep_children(&self, children: Children<M>) {
        if children.is_alone() {
            keep(&self.children, children);
        }
    }
}

#[inline]
fn keep<T>(kept: &RefCell<Vec<T>>, one: T) {
    let mut kept = kept.borrow_mut();
    if kept.len() < KEPT {
        kept.push(one);
    }
}
