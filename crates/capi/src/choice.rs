//! A queue whose algorithm the user of the program chooses when the program starts
//! ([`baton_sync::Choice`]), for items of any one size.

use crate::calls::{Patience, calls, thrice};
use crate::cells::{Cell, Copying, Make};
use crate::{error, processes};
use baton_machine::Native;
use baton_sync::processes::Kind;
use baton_sync::queue::RawQueue;
use baton_sync::queue::chosen::Chosen;
use baton_sync::{ManyToMany, OneToOne, choose};
use core::cell::OnceCell;
use std::ffi::{CString, c_char, c_int, c_void};

/// `struct baton_choice` in C.
pub struct BatonChoice {
    queue: Copying,
    about: About,
}

/// What became of the choice.
struct About {
    algorithm: CString,
    capacity: usize,
}

/// Makes queues as the user asks, for the threads of a kind and for `capacity` items if the user asks for
/// no number.
struct AsAsked {
    kind: Kind,
    capacity: usize,
    about: OnceCell<About>,
}

impl Make for AsAsked {
    type Queue<C: Cell> = Chosen<Native, C>;

    fn make<C: Cell>(&self) -> Result<Self::Queue<C>, String> {
        // SAFETY: `baton_choice_new` is told the kind, and its caller keeps to it.
        let queue: Self::Queue<C> = unsafe {
            match self.kind {
                Kind::OneToOne => choose::<C, OneToOne>(self.capacity),
                Kind::ManyToMany => choose::<C, ManyToMany>(self.capacity),
            }
        }
        .map_err(|bad| bad.to_string())?;
        let algorithm = CString::new(RawQueue::took(&queue)).map_err(|bad| bad.to_string())?;
        self.about.get_or_init(|| About { algorithm, capacity: RawQueue::capacity(&queue) });
        Ok(queue)
    }
}

/// Makes an empty queue of a kind for items of `item_size` bytes, or returns null and sets the error.
///
/// # Safety
/// A queue of kind `BATON_ONE_TO_ONE` is used by one thread at a time on each side.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_choice_new(kind: c_int, item_size: usize, capacity: usize) -> *mut BatonChoice {
    let made = || {
        let kind = processes::kind(kind).map_err(error::set).ok()?;
        let make = AsAsked { kind, capacity, about: OnceCell::new() };
        let queue = Copying::new(item_size, &make)?;
        Some(BatonChoice { queue, about: make.about.into_inner()? })
    };
    made().map_or(core::ptr::null_mut(), |queue| Box::into_raw(Box::new(queue)))
}

/// Frees a queue. The bytes of its items are forgotten.
///
/// # Safety
/// The queue is null, or of `baton_choice_new`, and no thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_choice_free(queue: *mut BatonChoice) {
    if !queue.is_null() {
        // SAFETY: guaranteed by the caller.
        drop(unsafe { Box::from_raw(queue) });
    }
}

impl BatonChoice {
    unsafe fn put(&self, item: *const c_void, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller.
        unsafe { self.queue.put(item, patience) }
    }

    unsafe fn get(&self, item: *mut c_void, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller.
        unsafe { self.queue.get(item, patience) }
    }
}

/// Defines a call on the queue that may wait.
macro_rules! side {
    ($($call:tt)*) => { thrice! {
        "The queue is of `baton_choice_new`, and its side is used by as many threads as its kind allows. `item` points \
         to an item."
        BatonChoice: $($call)*
    } };
}

side! { put baton_choice_put baton_choice_tryput baton_choice_timedput (item: *const c_void) =>
"Copies an item in. Returns 0, `EPIPE`, `EAGAIN`, `ETIMEDOUT` or `EINVAL`." }
side! { get baton_choice_get baton_choice_tryget baton_choice_timedget (item: *mut c_void) =>
"Copies the oldest item out. Returns 0, `EPIPE`, `EAGAIN`, `ETIMEDOUT` or `EINVAL`." }

calls! {
    "The queue is of `baton_choice_new`."

    /// Closes the queue: no further item goes in, and waiting threads return. Returns 0.
    baton_choice_close(queue: BatonChoice) -> c_int {
        queue.queue.close();
        0
    }
    /// Returns the number of items in the queue, which may be stale at once.
    baton_choice_length(queue: BatonChoice) -> usize { queue.queue.length() }
    /// Returns how many items the queue holds.
    baton_choice_capacity(queue: BatonChoice) -> usize { queue.about.capacity }
    /// Returns the name of the queue's algorithm. The string lives as long as the queue.
    baton_choice_name(queue: BatonChoice) -> *const c_char { queue.about.algorithm.as_ptr() }
}
