//! A queue without a bound for items of any one size, with any number of threads on each side.

use crate::fixed::WAIT;
use crate::spsc::{Patience, not_received, not_sent};
use crate::{error, time::deadline};
use baton_machine::Native;
use baton_sync::queue::ExactQueue;
use baton_sync::queue::channel::Channel;
use baton_sync::queue::segments::Segments;
use core::mem::MaybeUninit;
use std::ffi::{c_int, c_void};

/// An item of some size, as the queue keeps it.
trait Cell: Send + 'static {
    /// # Safety
    /// There are `size` bytes at `from`.
    unsafe fn from_bytes(from: *const u8, size: usize) -> Self;
    /// # Safety
    /// There is room for `size` bytes at `to`, the size that the item was made with.
    unsafe fn into_bytes(self, to: *mut u8, size: usize);
}

/// An item of up to this number of words lies in the queue.
struct Inline<const WORDS: usize>([MaybeUninit<u64>; WORDS]);

impl<const WORDS: usize> Cell for Inline<WORDS> {
    unsafe fn from_bytes(from: *const u8, size: usize) -> Self {
        debug_assert!(size <= 8 * WORDS);
        let mut words = [MaybeUninit::uninit(); WORDS];
        // SAFETY: guaranteed by the caller, and the size was chosen by the words.
        unsafe { words.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(from, size) };
        Inline(words)
    }

    unsafe fn into_bytes(self, to: *mut u8, size: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { to.copy_from_nonoverlapping(self.0.as_ptr().cast(), size) };
    }
}

/// A larger item lies in memory of its own.
struct Boxed(Box<[MaybeUninit<u8>]>);

impl Cell for Boxed {
    unsafe fn from_bytes(from: *const u8, size: usize) -> Self {
        let mut bytes = Box::new_uninit_slice(size);
        // SAFETY: guaranteed by the caller.
        unsafe { bytes.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(from, size) };
        Boxed(bytes)
    }

    unsafe fn into_bytes(self, to: *mut u8, size: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { to.copy_from_nonoverlapping(self.0.as_ptr().cast(), size) };
    }
}

/// A queue of items of a size that is not told.
trait Bytes {
    /// # Safety
    /// As [`Cell::from_bytes`].
    unsafe fn put(&self, item: *const u8, size: usize) -> c_int;
    /// # Safety
    /// As [`Cell::into_bytes`].
    unsafe fn get(&self, item: *mut u8, size: usize, patience: Patience) -> c_int;
    fn close(&self);
    fn length(&self) -> usize;
}

impl<C: Cell> Bytes for Channel<Native, Segments<Native, C, 32>> {
    unsafe fn put(&self, item: *const u8, size: usize) -> c_int {
        // SAFETY: guaranteed by the caller, and the queue takes any number of threads.
        unsafe { self.try_send(C::from_bytes(item, size), WAIT) }.err().map_or(0, |why| not_sent(&why))
    }

    unsafe fn get(&self, item: *mut u8, size: usize, patience: Patience) -> c_int {
        // SAFETY: the queue takes any number of threads.
        let found = unsafe {
            match patience {
                Patience::Try => self.try_receive(WAIT),
                Patience::Until(deadline) => self.receive(WAIT, deadline),
            }
        };
        match found {
            Ok(cell) => {
                // SAFETY: guaranteed by the caller.
                unsafe { cell.into_bytes(item, size) };
                0
            }
            Err(why) => not_received(why),
        }
    }

    fn close(&self) {
        Channel::close(self, WAIT);
    }

    fn length(&self) -> usize {
        self.queue().len()
    }
}

/// `struct baton_unbounded` in C.
pub struct BatonUnbounded {
    queue: Box<dyn Bytes + Send + Sync>,
    item_size: usize,
}

/// Makes an empty queue for items of `item_size` bytes, or returns null and sets the error.
#[unsafe(no_mangle)]
pub extern "C" fn baton_unbounded_new(item_size: usize) -> *mut BatonUnbounded {
    fn of<C: Cell>() -> Box<dyn Bytes + Send + Sync> {
        Box::new(Channel::<Native, Segments<Native, C, 32>>::new(Segments::unbounded()))
    }
    let queue = match item_size {
        0 => {
            error::set("expected items of at least one byte");
            return core::ptr::null_mut();
        }
        1..=8 => of::<Inline<1>>(),
        9..=16 => of::<Inline<2>>(),
        17..=32 => of::<Inline<4>>(),
        33..=64 => of::<Inline<8>>(),
        65..=128 => of::<Inline<16>>(),
        _ => of::<Boxed>(),
    };
    Box::into_raw(Box::new(BatonUnbounded { queue, item_size }))
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

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($queue:ident $(, $argument:ident: $is:ty)*) -> $result:ty $body:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The queue is of `baton_unbounded_new`, and `item` points to an item.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($queue: *const BatonUnbounded $(, $argument: $is)*) -> $result {
            // SAFETY: guaranteed by the caller, here and in the body.
            unsafe {
                let $queue = &*$queue;
                $body
            }
        }
    )*};
}

calls! {
    /// Copies an item in. Returns 0, or `EPIPE` if the queue is closed.
    baton_unbounded_put(queue, item: *const c_void) -> c_int { queue.queue.put(item.cast(), queue.item_size) }
    /// Copies the oldest item out, waiting while there is none. Returns 0 or `EPIPE`.
    baton_unbounded_get(queue, item: *mut c_void) -> c_int {
        queue.queue.get(item.cast(), queue.item_size, Patience::Until(None))
    }
    /// Copies the oldest item out if there is one. Returns 0, `EAGAIN` or `EPIPE`.
    baton_unbounded_tryget(queue, item: *mut c_void) -> c_int {
        queue.queue.get(item.cast(), queue.item_size, Patience::Try)
    }
    /// Copies the oldest item out, or gives up at a time. Returns 0, `ETIMEDOUT`, `EPIPE` or `EINVAL`.
    baton_unbounded_timedget(queue, item: *mut c_void, clock: libc::clockid_t, until: *const libc::timespec) -> c_int {
        let Some(deadline) = deadline(clock, until) else { return libc::EINVAL };
        queue.queue.get(item.cast(), queue.item_size, Patience::Until(Some(deadline)))
    }
    /// Closes the queue: no further item goes in, and waiting threads return. Returns 0.
    baton_unbounded_close(queue) -> c_int {
        queue.queue.close();
        0
    }
    /// Returns the number of items in the queue, which may be stale at once.
    baton_unbounded_length(queue) -> usize { queue.queue.length() }
}
