//! What the rooms above do as threads begin and end, and as the process forks. Each room registers its [`Callbacks`] once, at the
//! library's start; this room calls them, in the order in which they were registered, and knows none of them by name.
//!
//! The registry is static and never locks or allocates: threads begin inside of `pthread_create`, inside of the program's allocator
//! and in signal handlers, and forks happen anywhere.

use super::record::Thread;
use crate::base::message;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

/// What a room does as threads begin and end, and as the process forks. The program may not be held
/// up for long at these moments: no callback allocates or unwinds, and none waits, except for the
/// few steps of a thread that is writing an event on the ending thread's behalf.
pub struct Callbacks {
    /// The calling thread got this record. Its parts in this room are in order already.
    pub thread_begins: fn(&Thread),
    /// The calling thread is about to lose this record.
    pub thread_ends: fn(&Thread),
    /// The calling thread, which has lost its record, still runs destructors, and got another
    /// record.
    pub late_thread_begins: fn(&Thread),
    /// A thread that ran on after it had lost its first record, and then got this one, has ended
    /// for good.
    pub late_thread_ended: fn(&Thread),
    /// The calling thread is about to fork.
    pub before_fork: fn(),
    /// The calling thread has forked, and this is the parent.
    pub after_fork_in_parent: fn(),
    /// The calling thread has forked, and this is the child, which has no other thread.
    pub after_fork_in_child: fn(),
}

impl Callbacks {
    /// Callbacks that do nothing: a room takes from here those that it does not need.
    pub const NONE: Callbacks = Callbacks {
        thread_begins: |_| {},
        thread_ends: |_| {},
        late_thread_begins: |_| {},
        late_thread_ended: |_| {},
        before_fork: || {},
        after_fork_in_parent: || {},
        after_fork_in_child: || {},
    };
}

/// The callbacks of the rooms, in the order of their registration; null behind the last one.
static ROOMS: [AtomicPtr<Callbacks>; 8] = [const { AtomicPtr::new(null_mut()) }; 8];

/// Adds a room's callbacks behind those of the others. Called at start, by one thread.
pub fn register(callbacks: &'static Callbacks) {
    let Some(free) = ROOMS.iter().find(|room| room.load(Ordering::Relaxed).is_null()) else {
        message::die("more rooms register callbacks than there is room for");
    };
    // Release: a thread that finds the callbacks finds their contents. Other threads come later,
    // except for those that wait for the library's start.
    free.store(core::ptr::from_ref(callbacks).cast_mut(), Ordering::Release);
}

fn registered() -> impl Iterator<Item = &'static Callbacks> {
    // SAFETY: null, or a reference that `register` was given, which lives for ever and is never
    // written.
    ROOMS.iter().map_while(|room| unsafe { room.load(Ordering::Acquire).as_ref() })
}

pub(super) fn thread_begins(thread: &Thread) {
    registered().for_each(|room| (room.thread_begins)(thread));
}

pub(super) fn thread_ends(thread: &Thread) {
    registered().for_each(|room| (room.thread_ends)(thread));
}

pub(super) fn late_thread_begins(thread: &Thread) {
    registered().for_each(|room| (room.late_thread_begins)(thread));
}

pub(super) fn late_thread_ended(thread: &Thread) {
    registered().for_each(|room| (room.late_thread_ended)(thread));
}

pub(super) fn before_fork() {
    registered().for_each(|room| (room.before_fork)());
}

pub(super) fn after_fork_in_parent() {
    registered().for_each(|room| (room.after_fork_in_parent)());
}

pub(super) fn after_fork_in_child() {
    registered().for_each(|room| (room.after_fork_in_child)());
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicUsize;

    #[test]
    fn rooms_are_called_in_the_order_in_which_they_registered() {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        static FIRST: Callbacks = Callbacks {
            before_fork: || CALLS.store(CALLS.load(Ordering::Relaxed) * 10 + 1, Ordering::Relaxed),
            ..Callbacks::NONE
        };
        static SECOND: Callbacks = Callbacks {
            before_fork: || CALLS.store(CALLS.load(Ordering::Relaxed) * 10 + 2, Ordering::Relaxed),
            ..Callbacks::NONE
        };
        register(&FIRST);
        register(&SECOND);
        before_fork();
        after_fork_in_child();
        assert_eq!(CALLS.load(Ordering::Relaxed), 12);
    }
}
