//! A queue for one producer and one consumer of items of any one size, which lends its places.
//!
//! An item takes one or more units of a ring, as many as the next power of two: so an item is never
//! split where the ring continues at its beginning.

use crate::calls::{Patience, calls, not_received, not_sent, thrice};
use crate::error;
use crate::fixed::WAIT;
use baton_machine::Ordering::Relaxed;
use baton_machine::native::cell::NativeAtomic;
use baton_machine::{Atomic, Native};
use baton_sync::queue::channel::Channel;
use baton_sync::queue::lend::Places;
use baton_sync::queue::{ExactQueue, spsc::ExactSpsc};
use core::mem::MaybeUninit;
use std::ffi::{c_int, c_void};

/// What an item consists of, aligned like memory of malloc.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Unit([MaybeUninit<u8>; 16]);

/// `struct baton_spsc` in C.
pub struct BatonSpsc {
    channel: Channel<Native, ExactSpsc<Native, Unit>>,
    item_size: usize,
    /// Units of an item.
    units: usize,
    /// Items that the producer may commit, and the consumer may release.
    reserved: NativeAtomic<usize>,
    peeked: NativeAtomic<usize>,
}

/// `struct baton_places` in C: places of items, each `stride` bytes behind the one before, in two
/// pieces.
#[derive(Debug)]
#[repr(C)]
pub struct BatonPlaces {
    first: *mut c_void,
    first_count: usize,
    second: *mut c_void,
    second_count: usize,
    stride: usize,
}

type Lent<'a> = Places<'a, Native, Unit>;

impl BatonSpsc {
    fn new(item_size: usize, capacity: usize) -> Result<BatonSpsc, String> {
        let units = item_size.div_ceil(size_of::<Unit>()).checked_next_power_of_two().unwrap_or(usize::MAX);
        let most = (1 << 30) / units;
        if item_size == 0 || !(1..=most).contains(&capacity) {
            return Err(format!(
                "no queue can have {capacity} items of {item_size} bytes; expected at least one byte, and 1 to {most} items"
            ));
        }
        let queue = ExactSpsc::exactly(capacity * units).map_err(|bad| bad.to_string())?;
        let none = || NativeAtomic::new(0);
        Ok(BatonSpsc { channel: Channel::new(queue), item_size, units, reserved: none(), peeked: none() })
    }

    /// # Safety
    /// The calling thread is the only producer.
    unsafe fn reserve(&self, most: usize, patience: Patience) -> Result<Lent<'_>, c_int> {
        let units = most.saturating_mul(self.units);
        // SAFETY: guaranteed by the caller.
        let places = unsafe {
            match patience {
                Patience::Try => self.channel.try_reserve(units),
                Patience::Until(deadline) => self.channel.reserve(units, WAIT, deadline),
            }
        };
        places.map_err(|why| not_sent(&why))
    }

    /// # Safety
    /// The calling thread is the only producer, and the first `count` places that it reserved have items.
    unsafe fn commit(&self, count: usize) -> Result<(), c_int> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.channel.commit(count * self.units, WAIT) }.map_err(|why| not_sent(&why))
    }

    /// # Safety
    /// The calling thread is the only consumer.
    unsafe fn peek(&self, most: usize, patience: Patience) -> Result<Lent<'_>, c_int> {
        let units = most.saturating_mul(self.units);
        // SAFETY: guaranteed by the caller.
        let places = unsafe {
            match patience {
                Patience::Try => self.channel.try_peek(units),
                Patience::Until(deadline) => self.channel.peek(units, WAIT, deadline),
            }
        };
        places.map_err(not_received)
    }

    /// # Safety
    /// `item` points to an item, and the calling thread is the only producer.
    unsafe fn put(&self, item: *const u8, patience: Patience) -> Result<(), c_int> {
        // Relaxed, here and below: only the producer uses it, or the consumer the other one.
        self.reserved.store(0, Relaxed);
        // SAFETY: guaranteed by the caller. The places are free and large enough.
        unsafe {
            let [place, _] = self.reserve(1, patience)?.memory(0..self.units);
            place.cast::<u8>().copy_from_nonoverlapping(item, self.item_size);
            self.commit(1)
        }
    }

    /// # Safety
    /// `item` has room for an item, and the calling thread is the only consumer.
    unsafe fn get(&self, item: *mut u8, patience: Patience) -> Result<(), c_int> {
        self.peeked.store(0, Relaxed);
        // SAFETY: guaranteed by the caller. The place has an item.
        unsafe {
            let [place, _] = self.peek(1, patience)?.memory(0..self.units);
            item.copy_from_nonoverlapping(place.cast::<u8>(), self.item_size);
            self.channel.release(self.units, WAIT);
        }
        Ok(())
    }

    /// Writes places to `to`, and notes in `lent` how many there are.
    ///
    /// # Safety
    /// `to` is null or writable.
    unsafe fn lend(&self, places: &Lent<'_>, to: *mut BatonPlaces, lent: &NativeAtomic<usize>) -> c_int {
        // SAFETY: guaranteed by the caller.
        let Some(to) = (unsafe { to.as_mut() }) else {
            error::set("expected a place to write the places to, got NULL");
            return libc::EINVAL;
        };
        let [first, second] = places.memory(0..places.len());
        *to = BatonPlaces {
            first: first.cast(),
            first_count: first.len() / self.units,
            second: second.cast(),
            second_count: second.len() / self.units,
            stride: self.units * size_of::<Unit>(),
        };
        lent.store(places.len() / self.units, Relaxed);
        0
    }

    /// Takes `count` items off those that are lent. Returns false and sets the error if there are fewer.
    fn settle(lent: &NativeAtomic<usize>, count: usize) -> bool {
        let most = lent.swap(0, Relaxed);
        if count > most {
            error::set(format!("{count} items cannot be handed over: {most} places are lent"));
        }
        count <= most
    }
}

fn code(result: Result<(), c_int>) -> c_int {
    result.err().unwrap_or(0)
}

/// Makes an empty queue, or returns null and sets the error.
#[unsafe(no_mangle)]
pub extern "C" fn baton_spsc_new(item_size: usize, capacity: usize) -> *mut BatonSpsc {
    match BatonSpsc::new(item_size, capacity) {
        Ok(queue) => Box::into_raw(Box::new(queue)),
        Err(why) => {
            error::set(why);
            core::ptr::null_mut()
        }
    }
}

/// Frees a queue. The bytes of its items are forgotten.
///
/// # Safety
/// The queue is null, or of `baton_spsc_new`, and no thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn baton_spsc_free(queue: *mut BatonSpsc) {
    if !queue.is_null() {
        // SAFETY: guaranteed by the caller.
        drop(unsafe { Box::from_raw(queue) });
    }
}

impl BatonSpsc {
    unsafe fn put_code(&self, item: *const c_void, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller.
        code(unsafe { self.put(item.cast(), patience) })
    }

    unsafe fn get_code(&self, item: *mut c_void, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller.
        code(unsafe { self.get(item.cast(), patience) })
    }

    unsafe fn reserve_code(&self, most: usize, to: *mut BatonPlaces, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.reserve(most, patience) {
                Ok(places) => self.lend(&places, to, &self.reserved),
                Err(code) => code,
            }
        }
    }

    unsafe fn peek_code(&self, most: usize, to: *mut BatonPlaces, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.peek(most, patience) {
                Ok(places) => self.lend(&places, to, &self.peeked),
                Err(code) => code,
            }
        }
    }
}

/// Defines a call on the queue that may wait.
macro_rules! side {
    ($($call:tt)*) => { thrice! {
        "The queue is of `baton_spsc_new`, and one thread at a time uses its side. Pointers to items are valid."
        BatonSpsc: $($call)*
    } };
}

side! { put_code baton_spsc_put baton_spsc_tryput baton_spsc_timedput (item: *const c_void) =>
"Copies an item in. Returns 0, `EPIPE`, `EAGAIN`, `ETIMEDOUT` or `EINVAL`." }
side! { get_code baton_spsc_get baton_spsc_tryget baton_spsc_timedget (item: *mut c_void) =>
"Copies the oldest item out. Returns 0, `EPIPE`, `EAGAIN`, `ETIMEDOUT` or `EINVAL`." }
side! { reserve_code baton_spsc_reserve baton_spsc_tryreserve baton_spsc_timedreserve
(most: usize, places: *mut BatonPlaces) =>
"Lends up to `most` free places. Returns 0, `EPIPE`, `EAGAIN`, `ETIMEDOUT` or `EINVAL`." }
side! { peek_code baton_spsc_peek baton_spsc_trypeek baton_spsc_timedpeek
(most: usize, places: *mut BatonPlaces) =>
"Lends the places of up to `most` items. Returns 0, `EPIPE`, `EAGAIN`, `ETIMEDOUT` or `EINVAL`." }

calls! {
    "The queue is of `baton_spsc_new`, and one thread at a time uses its side."

    /// Sends the items in the first `count` reserved places. Returns 0, `EPIPE` or `EINVAL`.
    baton_spsc_commit(queue: BatonSpsc, count: usize) -> c_int {
        if BatonSpsc::settle(&queue.reserved, count) { code(queue.commit(count)) } else { libc::EINVAL }
    }
    /// Gives the first `count` places back that were peeked at. Returns 0 or `EINVAL`.
    baton_spsc_release(queue: BatonSpsc, count: usize) -> c_int {
        if !BatonSpsc::settle(&queue.peeked, count) {
            return libc::EINVAL;
        }
        queue.channel.release(count * queue.units, WAIT);
        0
    }
    /// Closes the queue: no further item goes in, and waiting threads return.
    baton_spsc_close(queue: BatonSpsc) -> c_int {
        queue.channel.close(WAIT);
        0
    }
    /// Returns the number of items in the queue, which may be stale at once.
    baton_spsc_length(queue: BatonSpsc) -> usize { queue.channel.queue().len() / queue.units }
}
