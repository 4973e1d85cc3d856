//! A bounded queue of items of any one size, in storage of the caller: a monitor of one mutex and
//! two condition variables. It begins as a constant, never allocates, and copies items.

use crate::fixed::{BatonCond, BatonMutex, WAIT, wait};
use crate::{error, time::deadline};
use baton_machine::Deadline;
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

/// Whether a call waits.
#[derive(Clone, Copy)]
enum Patience {
    Try,
    Until(Option<Deadline>),
}

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

    /// Copies up to `count` items in. Returns how many.
    ///
    /// # Safety
    /// `items` has `count` items.
    unsafe fn put(&self, items: *const u8, count: usize, patience: Patience) -> Result<usize, c_int> {
        self.guarded(&self.room, &self.items, patience, &mut |state| {
            if state.closed != 0 {
                return Err(libc::EPIPE);
            }
            let some = count.min(self.capacity - state.count);
            for i in 0..some {
                let place = (state.first + state.count) % self.capacity;
                // SAFETY: the storage has `capacity` places, of which this one is free.
                unsafe {
                    let to = self.storage.add(place * self.item_size);
                    to.copy_from_nonoverlapping(items.add(i * self.item_size), self.item_size);
                }
                state.count += 1;
            }
            Ok(some)
        })
    }

    /// Copies up to `count` items out. Returns how many.
    ///
    /// # Safety
    /// `items` has room for `count` items.
    unsafe fn get(&self, items: *mut u8, count: usize, patience: Patience) -> Result<usize, c_int> {
        self.guarded(&self.items, &self.room, patience, &mut |state| {
            let some = count.min(state.count);
            if some == 0 && state.closed != 0 {
                return Err(libc::EPIPE);
            }
            for i in 0..some {
                // SAFETY: the storage has `capacity` places, of which this one holds an item.
                unsafe {
                    let from = self.storage.add(state.first * self.item_size);
                    items.add(i * self.item_size).copy_from_nonoverlapping(from, self.item_size);
                }
                state.first = (state.first + 1) % self.capacity;
                state.count -= 1;
            }
            Ok(some)
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

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($queue:ident $(, $argument:ident: $is:ty)*) -> $result:ty $body:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The queue is alive, began as `BATON_QUEUE_INIT`, and no other queue has its storage. Items
        /// point to as many items as the call says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($queue: *const BatonQueue $(, $argument: $is)*) -> $result {
            // SAFETY: guaranteed by the caller, here and in the body.
            unsafe {
                let $queue = &*$queue;
                $body
            }
        }
    )*};
}

calls! {
    /// Copies an item in, waiting while the queue is full. Returns 0, `EPIPE` if the queue is
    /// closed, or `EINVAL`.
    baton_queue_put(queue, item: *const c_void) -> c_int { code(queue.put(item.cast(), 1, Patience::Until(None))) }
    /// Copies an item in if there is room. Returns 0, `EAGAIN`, `EPIPE` or `EINVAL`.
    baton_queue_tryput(queue, item: *const c_void) -> c_int { code(queue.put(item.cast(), 1, Patience::Try)) }
    /// Copies an item in, or gives up at a time. Returns 0, `ETIMEDOUT`, `EPIPE` or `EINVAL`.
    baton_queue_timedput(queue, item: *const c_void, clock: libc::clockid_t, until: *const libc::timespec) -> c_int {
        let Some(deadline) = deadline(clock, until) else { return libc::EINVAL };
        code(queue.put(item.cast(), 1, Patience::Until(Some(deadline))))
    }
    /// Copies all items in, waiting while the queue is full. Returns 0, `EPIPE` or `EINVAL`, and
    /// writes to `done` how many went in.
    baton_queue_put_all(queue, items: *const c_void, count: usize, done: *mut usize) -> c_int {
        BatonQueue::all(count, done, &mut |at| {
            queue.put(items.cast::<u8>().add(at * queue.item_size), count - at, Patience::Until(None))
        })
    }
    /// Copies the oldest item out, waiting while the queue is empty. Returns 0, `EPIPE` if the queue
    /// is closed and empty, or `EINVAL`.
    baton_queue_get(queue, item: *mut c_void) -> c_int { code(queue.get(item.cast(), 1, Patience::Until(None))) }
    /// Copies the oldest item out if there is one. Returns 0, `EAGAIN`, `EPIPE` or `EINVAL`.
    baton_queue_tryget(queue, item: *mut c_void) -> c_int { code(queue.get(item.cast(), 1, Patience::Try)) }
    /// Copies the oldest item out, or gives up at a time. Returns 0, `ETIMEDOUT`, `EPIPE` or
    /// `EINVAL`.
    baton_queue_timedget(queue, item: *mut c_void, clock: libc::clockid_t, until: *const libc::timespec) -> c_int {
        let Some(deadline) = deadline(clock, until) else { return libc::EINVAL };
        code(queue.get(item.cast(), 1, Patience::Until(Some(deadline))))
    }
    /// Copies up to `count` of the oldest items out, waiting while there is none. Returns 0, `EPIPE`
    /// or `EINVAL`, and writes to `done` how many came out.
    baton_queue_get_some(queue, items: *mut c_void, count: usize, done: *mut usize) -> c_int {
        let got = if count == 0 { Ok(0) } else { queue.get(items.cast(), count, Patience::Until(None)) };
        if let Some(done) = done.as_mut() {
            *done = got.unwrap_or(0);
        }
        code(got)
    }
    /// Closes the queue: no further item goes in, and waiting threads return.
    baton_queue_close(queue) -> c_int {
        queue.mutex.lock(WAIT);
        (*queue.state.get()).closed = 1;
        queue.items.notify_all(WAIT);
        queue.room.notify_all(WAIT);
        queue.mutex.unlock((), WAIT);
        0
    }
    /// Returns the number of items in the queue, which may be stale at once.
    baton_queue_length(queue) -> usize {
        queue.mutex.lock(WAIT);
        let count = (*queue.state.get()).count;
        queue.mutex.unlock((), WAIT);
        count
    }
}
