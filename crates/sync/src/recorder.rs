//! Recorders: functions of the preload library, which has them while the program is profiled. They are found
//! by their names.

#![allow(clippy::disallowed_types, reason = "the recorder stands beside the algorithm, and is no part of it")]

use core::cell::Cell;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// What is told. The preload library (`events::queues`) has the same numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Act {
    /// The queue was made; the number is its capacity, or 0 if it has none.
    Made = 0,
    /// The queue is about to end.
    Ends = 1,
    /// The thread is about to close the queue.
    Closes = 2,
    /// The thread is about to wait for room.
    Full = 3,
    /// The thread is about to wait for an item.
    Empty = 4,
    /// The thread has put a number of items in.
    Put = 5,
    /// The thread has taken a number of items out.
    Taken = 6,
    /// The thread waits no longer. It gave up, unless it has moved an item since.
    GoesOn = 7,
    /// The thread waits no longer: there is room, or an item, which it moves later.
    Got = 8,
}

/// A function of the preload library: what happened, the object's address, and a number.
type Recorder = unsafe extern "C" fn(u32, usize, u64);

/// The place of a recorder: null before the first search, [`NONE`] if there is none.
pub(crate) struct Place {
    pub(crate) at: AtomicPtr<c_void>,
    name: &'static CStr,
}

/// There is no recorder: the program is not profiled.
pub(crate) const NONE: *mut c_void = core::ptr::without_provenance_mut(1);

std::thread_local! {
    /// Whether the thread looks for a recorder. It has no destructor and is made without allocation.
    static SEARCHES: Cell<bool> = const { Cell::new(false) };
}

impl Place {
    /// The place of the recorder of this name.
    pub(crate) const fn new(name: &'static CStr) -> Place {
        Place { at: AtomicPtr::new(core::ptr::null_mut()), name }
    }

    /// Tells the recorder, if there is one.
    #[inline(always)]
    pub(crate) fn tell(&self, what: u32, object: usize, number: u64) {
        // Relaxed: the function was there before the program's first instruction.
        let at = self.at.load(Relaxed);
        if at != NONE {
            self.call(at, what, object, number);
        }
    }

    #[inline]
    pub(crate) fn call(&self, at: *mut c_void, what: u32, object: usize, number: u64) {
        let at = if at.is_null() { self.look() } else { at };
        if at != NONE {
            // SAFETY: the preload library's functions of these names have this type.
            let recorder: Recorder = unsafe { core::mem::transmute(at) };
            // SAFETY: the function takes any numbers.
            unsafe { recorder(what, object, number) };
        }
    }

    /// Looks for the recorder. A lock that the search itself takes finds none, for the allocator of a
    /// program may use a lock of this crate. Several threads may search at the same time.
    #[cold]
    pub(crate) fn look(&self) -> *mut c_void {
        if SEARCHES.replace(true) {
            return NONE;
        }
        // SAFETY: the name ends with a zero byte.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.name.as_ptr()) };
        let found = if found.is_null() { NONE } else { found };
        self.at.store(found, Relaxed);
        SEARCHES.set(false);
        found
    }
}
