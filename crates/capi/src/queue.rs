//! A bounded queue of items of any one size, in storage of the caller: a monitor of one mutex and
//! two condition variables. It begins as a constant, never allocates, and copies or moves items.

use crate::calls::{Patience, calls, thrice};
use crate::error;
use crate::fixed::{BatonCond, BatonMutex, WAIT, wait};
use baton_sync::event::RawEvent;
use baton_sync::lock::RawLock;
use core::cell::UnsafeCell;
use std::ffi::{c_int, c_void};

/// What the mutex guards.
#[repr(C)]
struct GuardedQueue {
    /// Place of the oldest item.
    first: usize,
    count: usize,
    closed: u32,
}

/// `struct baton_queue` in C.
#[repr(C)]
pub struct BatonQueue {
    mutex: BatonMutex,
    /// Threads that wait for an item, and for room.
    items: BatonCond,
    room: BatonCond,
    storage: *mut u8,
    item_size: usize,
    capacity: usize,
    state: UnsafeCell<GuardedQueue>,
}

const _: () = assert!(size_of::<BatonQueue>() == 9 * size_of::<usize>());

impl BatonQueue {
    /// Returns the error for a queue that was described wrongly.
    fn check(&self) -> Result<(), c_int> {
        if self.storage.is_null() || self.capacity == 0 || self.item_size == 0 {
            error::set("a queue needs storage, and a capacity and a size of items of at least 1");
            return Err(libc::EINVAL);
        }
        Ok(())
    }

    /// Runs `step` under the mutex until it returns a count above 0, and waits at `cond` in between.
    /// Then wakes as many threads at `others`, still under the mutex: a thread that finds the change
    /// may free the queue at once. Returns the count, or the error of `closed` or of the wait.
    fn guarded(
        &self,
        cond: &BatonCond,
        others: &BatonCond,
        patience: Patience,
        step: &mut dyn FnMut(&mut GuardedQueue) -> Result<usize, c_int>,
    ) -> Result<usize, c_int> {
        self.check()?;
        self.mutex.lock(WAIT);
        let mut expired = false;
        let result = loop {
            // SAFETY: this thread holds the mutex, and no reference to the state lives longer than
            // the step.
            match step(unsafe { &mut *self.state.get() }) {
                Ok(0) => match patience {
                    Patience::Try => break Err(libc::EAGAIN),
                    Patience::Until(_) if expired => break Err(libc::ETIMEDOUT),
                    Patience::Until(deadline) => expired = !wait(cond, &self.mutex, deadline),
                },
                done => break done,
            }
        };
        if let Ok(count) = result {
            others.notify(count, WAIT);
        }
        // SAFETY: this thread holds the mutex.
        unsafe { self.mutex.unlock((), WAIT) };
        result
    }

    /// Puts up to `count` items in: `fill` gets the number of each and its place. Returns how many.
    fn put(&self, count: usize, patience: Patience, fill: &mut dyn FnMut(usize, *mut u8)) -> Result<usize, c_int> {
        self.guarded(&self.room, &self.items, patience, &mut |state| {
            if state.closed != 0 {
                return Err(libc::EPIPE);
            }
            let some = count.min(self.capacity - state.count);
            for i in 0..some {
                let place = (state.first + state.count) % self.capacity;
                // SAFETY: the storage has `capacity` places, of which this one is free.
                fill(i, unsafe { self.storage.add(place * self.item_size) });
                state.count += 1;
            }
            Ok(some)
        })
    }

    /// Takes up to `count` items out: `drain` gets the number of each and its place. Returns how many.
    fn get(&self, count: usize, patience: Patience, drain: &mut dyn FnMut(usize, *mut u8)) -> Result<usize, c_int> {
        self.guarded(&self.items, &self.room, patience, &mut |state| {
            let some = count.min(state.count);
            if some == 0 && state.closed != 0 {
                return Err(libc::EPIPE);
            }
            for i in 0..some {
                // SAFETY: the storage has `capacity` places, of which this one holds an item.
                drain(i, unsafe { self.storage.add(state.first * self.item_size) });
                state.first = (state.first + 1) % self.capacity;
                state.count -= 1;
            }
            Ok(some)
        })
    }

    /// Copies up to `count` items in.
    ///
    /// # Safety
    /// `items` has `count` items.
    unsafe fn copy_in(&self, items: *const u8, count: usize, patience: Patience) -> Result<usize, c_int> {
        // SAFETY: guaranteed by the caller. The place is free.
        self.put(count, patience, &mut |i, place| unsafe {
            place.copy_from_nonoverlapping(items.add(i * self.item_size), self.item_size);
        })
    }

    /// Copies up to `count` items out.
    ///
    /// # Safety
    /// `items` has room for `count` items.
    unsafe fn copy_out(&self, items: *mut u8, count: usize, patience: Patience) -> Result<usize, c_int> {
        // SAFETY: guaranteed by the caller. The place holds an item.
        self.get(count, patience, &mut |i, place| unsafe {
            items.add(i * self.item_size).copy_from_nonoverlapping(place, self.item_size);
        })
    }

    /// Moves all of `count` items, some at a time. Returns 0 or the error after which fewer were
    /// moved, and writes how many.
    fn all(count: usize, moved: *mut usize, step: &mut dyn FnMut(usize) -> Result<usize, c_int>) -> c_int {
        let (mut done, mut code) = (0, 0);
        while done < count && code == 0 {
            match step(done) {
                Ok(some) => done += some,
                Err(why) => code = why,
            }
        }
        // SAFETY: the pointer is null or the caller's.
        if let Some(moved) = unsafe { moved.as_mut() } {
            *moved = done;
        }
        code
    }
}

fn code(result: Result<usize, c_int>) -> c_int {
    result.err().unwrap_or(0)
}

/// Moves an item from the second place to the first one: `baton_move` in C.
type Move = unsafe extern "C" fn(to: *mut c_void, from: *mut c_void);

impl BatonQueue {
    unsafe fn put_one(&self, item: *const c_void, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller.
        code(unsafe { self.copy_in(item.cast(), 1, patience) })
    }

    unsafe fn get_one(&self, item: *mut c_void, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller.
        code(unsafe { self.copy_out(item.cast(), 1, patience) })
    }

    unsafe fn put_by(&self, item: *mut c_void, by: Move, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller. The place is free.
        code(self.put(1, patience, &mut |_, place| unsafe { by(place.cast(), item) }))
    }

    unsafe fn get_by(&self, item: *mut c_void, by: Move, patience: Patience) -> c_int {
        // SAFETY: guaranteed by the caller. The place holds an item.
        code(self.get(1, patience, &mut |_, place| unsafe { by(item, place.cast()) }))
    }
}

/// Defines a call on the queue that may wait.
macro_rules! side {
    ($($call:tt)*) => { thrice! {
        "The queue is alive, began as `BATON_QUEUE_INIT`, and no other queue has its storage. `item` points to an item, \
         or is what `by` takes."
        BatonQueue: $($call)*
    } };
}

side! { put_one baton_queue_put baton_queue_tryput baton_queue_timedput (item: *const c_void) =>
"Copies an item in. Returns 0, `EPIPE`, `EAGAIN`, `ETIMEDOUT` or `EINVAL`." }
side! { get_one baton_queue_get baton_queue_tryget baton_queue_timedget (item: *mut c_void) =>
"Copies the oldest item out. Returns 0, `EPIPE`, `EAGAIN`, `ETIMEDOUT` or `EINVAL`." }
side! { put_by baton_queue_put_by baton_queue_tryput_by baton_queue_timedput_by (item: *mut c_void, by: Move) =>
"Has `by` move an item into its place. Returns 0, `EPIPE`, `EAGAIN`, `ETIMEDOUT` or `EINVAL`." }
side! { get_by baton_queue_get_by baton_queue_tryget_by baton_queue_timedget_by (item: *mut c_void, by: Move) =>
"Has `by` move the oldest item out of its place. Returns 0, `EPIPE`, `EAGAIN`, `ETIMEDOUT` or `EINVAL`." }

calls! {
    "The queue is alive, began as `BATON_QUEUE_INIT`, and no other queue has its storage. Items point to as many items \
     as the call says."

    /// Copies all items in, waiting while the queue is full. Returns 0, `EPIPE` or `EINVAL`, and
    /// writes to `done` how many went in.
    baton_queue_put_all(queue: BatonQueue, items: *const c_void, count: usize, done: *mut usize) -> c_int {
        BatonQueue::all(count, done, &mut |at| {
            queue.copy_in(items.cast::<u8>().add(at * queue.item_size), count - at, Patience::Until(None))
        })
    }
    /// Copies up to `count` of the oldest items out, waiting while there is none. Returns 0, `EPIPE`
    /// or `EINVAL`, and writes to `done` how many came out.
    baton_queue_get_some(queue: BatonQueue, items: *mut c_void, count: usize, done: *mut usize) -> c_int {
        let got = if count == 0 { Ok(0) } else { queue.copy_out(items.cast(), count, Patience::Until(None)) };
        if let Some(done) = done.as_mut() {
            *done = got.unwrap_or(0);
        }
        code(got)
    }
    /// Closes the queue: no further item goes in, and waiting threads return.
    baton_queue_close(queue: BatonQueue) -> c_int {
        queue.mutex.lock(WAIT);
        (*queue.state.get()).closed = 1;
        queue.items.notify_all(WAIT);
        queue.room.notify_all(WAIT);
        queue.mutex.unlock((), WAIT);
        0
    }
    /// Returns the number of items in the queue, which may be stale at once.
    baton_queue_length(queue: BatonQueue) -> usize {
        queue.mutex.lock(WAIT);
        let count = (*queue.state.get()).count;
        queue.mutex.unlock((), WAIT);
        count
    }
    /// Returns 1 if the queue is closed, else 0.
    baton_queue_closed(queue: BatonQueue) -> c_int {
        queue.mutex.lock(WAIT);
        let closed = (*queue.state.get()).closed;
        queue.mutex.unlock((), WAIT);
        c_int::from(closed != 0)
    }
    /// Ends the queue. Nothing is to be freed: `baton profile` hears that the memory may become another
    /// object.
    baton_queue_end(queue: BatonQueue) { let _ = queue; }
}
