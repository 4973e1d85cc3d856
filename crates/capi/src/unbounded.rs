//! A queue without a bound for items of any one size, with any number of threads on each side.

use crate::calls::{Patience, calls, thrice};
use crate::cells::{Cell, Copying, Make};
use baton_machine::Native;
use baton_sync::queue::segments::Segments;
use std::ffi::{c_int, c_void};

/// `struct baton_unbounded` in C.
pub struct BatonUnbounded(Copying);

/// Makes queues without a bound.
struct Boundless;

impl Make for Boundless {
    type Queue<C: Cell> = Segments<Native, C, 32>;

    fn make<C: Cell>(&self) -> Result<Self::Queue<C>, String> {
        Ok(Segments::unbounded())
    }
}

/// Makes an empty queue for items of `item_size` bytes, or returns null and sets the error.
#[unsafe(no_mangle)]
pub extern "C" fn baton_unbounded_new(item_size: usize) -> *mut BatonUnbounded {
    let queue = Copying::new(item_size, &Boundless);
    queue.map_or(core::ptr::null_mut(), |queue| Box::into_raw(Box::new(BatonUnbounded(queue))))
}

/// Frees a queue. The bytes of its items are forgotten.
///
/// # Safety
/// The queue is null, or of `baton_unbounded_new`, and no thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_unbounded_free(queue: *mut BatonUnbounded) {
    if !queue.is_null() {
        // SAFETY: guaranteed by the caller.
        drop(unsafe { Box::from_raw(queue) });
    }
}

impl BatonUnbounded {
    unsafe fn get(&self, item: *mut c_void, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller; the queue takes any number of threads.
        unsafe { self.0.get(item, patience) }
    }
}

thrice! { "The queue is of `baton_unbounded_new`, and `item` points to an item."
BatonUnbounded: get baton_unbounded_get baton_unbounded_tryget baton_unbounded_timedget (item: *mut c_void) =>
"Copies the oldest item out. Returns 0, `EPIPE`, `EAGAIN`, `ETIMEDOUT` or `EINVAL`." }

calls! {
    "The queue is of `baton_unbounded_new`, and `item` points to an item."

    /// Copies an item in. Returns 0, or `EPIPE` if the queue is closed.
    baton_unbounded_put(queue: BatonUnbounded, item: *const c_void) -> c_int { queue.0.put(item, Patience::Try) }
    /// Closes the queue: no further item goes in, and waiting threads return. Returns 0.
    baton_unbounded_close(queue: BatonUnbounded) -> c_int {
        queue.0.close();
        0
    }
    /// Returns the number of items in the queue, which may be stale at once.
    baton_unbounded_length(queue: BatonUnbounded) -> usize { queue.0.length() }
}
