//! Queues that copy items of any one size: the size is known when a queue is made.

use crate::calls::{Patience, not_received, not_sent};
use crate::error;
use crate::fixed::WAIT;
use baton_machine::Native;
use baton_sync::queue::ExactQueue;
use baton_sync::queue::channel::Channel;
use core::mem::MaybeUninit;
use std::ffi::{c_int, c_void};

/// An item of some size, as the queue keeps it.
pub(crate) trait Cell: Send + 'static {
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
    /// As [`Cell::from_bytes`], and the thread may put items in.
    unsafe fn put(&self, item: *const u8, size: usize, patience: Patience) -> c_int;
    /// # Safety
    /// As [`Cell::into_bytes`], and the thread may take items out.
    unsafe fn get(&self, item: *mut u8, size: usize, patience: Patience) -> c_int;
    fn close(&self);
    fn length(&self) -> usize;
}

impl<C: Cell, Q: ExactQueue<Native, Item = C>> Bytes for Channel<Native, Q> {
    unsafe fn put(&self, item: *const u8, size: usize, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller.
        let sent = unsafe {
            let cell = C::from_bytes(item, size);
            match patience {
                Patience::Try => self.try_send(cell, WAIT),
                Patience::Until(deadline) => self.send(cell, WAIT, deadline),
            }
        };
        sent.err().map_or(0, |why| not_sent(&why))
    }

    unsafe fn get(&self, item: *mut u8, size: usize, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller.
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

/// Makes a queue whose items are kept as cells of a type.
pub(crate) trait Make {
    type Queue<C: Cell>: ExactQueue<Native, Item = C>;

    /// Returns the queue, or why it cannot be made.
    fn make<C: Cell>(&self) -> Result<Self::Queue<C>, String>;
}

/// A queue that copies items of one size.
pub(crate) struct Copying {
    queue: Box<dyn Bytes + Send + Sync>,
    item_size: usize,
}

impl Copying {
    /// Makes a queue for items of `item_size` bytes, or sets the error.
    pub(crate) fn new<M: Make>(item_size: usize, make: &M) -> Option<Copying> {
        fn of<C: Cell, M: Make>(make: &M) -> Result<Box<dyn Bytes + Send + Sync>, String> {
            Ok(Box::new(Channel::<Native, M::Queue<C>>::new(make.make()?)))
        }
        let queue = match item_size {
            0 => Err("expected items of at least one byte".to_owned()),
            1..=8 => of::<Inline<1>, M>(make),
            9..=16 => of::<Inline<2>, M>(make),
            17..=32 => of::<Inline<4>, M>(make),
            33..=64 => of::<Inline<8>, M>(make),
            65..=128 => of::<Inline<16>, M>(make),
            _ => of::<Boxed, M>(make),
        };
        queue.map_err(error::set).ok().map(|queue| Copying { queue, item_size })
    }

    /// Copies an item in. Returns 0 or an error of C.
    ///
    /// # Safety
    /// `item` points to an item, and the thread may put items in.
    pub(crate) unsafe fn put(&self, item: *const c_void, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller.
        unsafe { self.queue.put(item.cast(), self.item_size, patience) }
    }

    /// Copies the oldest item out. Returns 0 or an error of C.
    ///
    /// # Safety
    /// `item` has room for an item, and the thread may take items out.
    pub(crate) unsafe fn get(&self, item: *mut c_void, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller.
        unsafe { self.queue.get(item.cast(), self.item_size, patience) }
    }

    pub(crate) fn close(&self) {
        self.queue.close();
    }

    pub(crate) fn length(&self) -> usize {
        self.queue.length()
    }
}
