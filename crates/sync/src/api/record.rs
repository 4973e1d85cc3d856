//! Queues and locks that tell `baton profile` what happens to them: the feature `record`.
//!
//! While a program is profiled, the preload library is loaded, and has the functions
//! `baton_preload_queue` and `baton_preload_lock`. The first queue or lock of the process looks for
//! its function. If there is none, each call costs a load and a branch more than without the feature.

#![allow(clippy::disallowed_types, reason = "the recorder stands beside the algorithm, and is no part of it")]

use crate::queue::lend::{Lends, Places};
use crate::queue::{BadBound, ExactQueue, News, QueueError, QueueInfo, RawQueue};
use crate::recorder::{Act, NONE, Place};
use baton_machine::{Native, Wait};
use core::sync::atomic::Ordering::Relaxed;

/// What is told of a lock. The preload library (`events::library_locks`) has the same numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Told {
    /// The thread took the lock without a wait.
    Taken = 0,
    /// The thread is about to wait for the lock.
    Waits = 1,
    /// The wait ended with the lock.
    Got = 2,
    /// The wait ended without the lock.
    GaveUp = 3,
    /// The thread is about to release the lock.
    Releases = 4,
    /// A try found the lock taken.
    Tried = 5,
}

/// What is told of another object. The preload library (`events::library_objects`) has the same
/// numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Object {
    /// The thread is about to wait for a condition variable; the number is the mutex's address.
    ConditionWaits = 0,
    /// The thread's wait for a condition variable ended with a notification.
    ConditionWoken = 1,
    /// The thread's wait for a condition variable ended at its deadline.
    ConditionExpired = 2,
    /// The thread is about to notify one waiter.
    Notifies = 3,
    /// The thread is about to notify all waiters.
    NotifiesAll = 4,
    /// The thread took a permit without a wait.
    PermitTaken = 5,
    /// The thread is about to wait for a permit.
    PermitWaits = 6,
    /// The wait ended with a permit.
    PermitGot = 7,
    /// The wait ended without a permit.
    PermitGaveUp = 8,
    /// A try found no permit.
    PermitTried = 9,
    /// The thread is about to give a permit.
    PermitGiven = 10,
    /// The thread is about to wait at a barrier.
    Arrives = 11,
    /// The thread leaves a barrier; the number is 1 for the thread that was chosen.
    Leaves = 12,
    /// The thread has given a permit, and woken a thread that waited for one.
    PermitWasGiven = 13,
}

static QUEUES: Place = Place::new(c"baton_preload_queue");
static OBJECTS: Place = Place::new(c"baton_preload_object");
static CHOICES: Place = Place::new(c"baton_preload_choice");
static LOCKS: Place = Place::new(c"baton_preload_lock");

/// Tells what happens to a lock; `mode` is a number of `seen::Mode`.
#[inline(always)]
pub(super) fn lock(told: Told, lock: usize, mode: u64) {
    LOCKS.tell(told as u32, lock, mode);
}

/// Tells what happens to another object.
#[inline(always)]
pub(super) fn object(told: Object, object: usize, number: u64) {
    OBJECTS.tell(told as u32, object, number);
}

/// What became of a choice of the program's user. The preload library (`events::choices`) has the same
/// numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// A queue is as the user asked.
    Chosen = 0,
    /// A queue stays as the program has it.
    Kept = 1,
}

/// Tells `baton run` what became of a choice. Returns false if `baton run` does not run the program.
pub(super) fn choice(choice: Choice) -> bool {
    let mut at = CHOICES.at.load(Relaxed);
    if at.is_null() {
        at = CHOICES.look();
    }
    CHOICES.call(at, choice as u32, 0, 0);
    at != NONE
}

/// A queue that is recorded while the program is profiled.
pub struct Recorded<Q>(Q);

impl<Q> Recorded<Q> {
    /// A queue that is recorded, and `queue` inside of it.
    pub fn by(queue: Q) -> Recorded<Q> {
        Recorded(queue)
    }

    /// Tells the recorder, if there is one. The queue has its address for its whole life from
    /// [`Act::Made`] on.
    #[inline(always)]
    fn tell(&self, act: Act, number: usize) {
        QUEUES.tell(act as u32, core::ptr::from_ref(self).addr(), number as u64);
    }
}

impl<Q> Drop for Recorded<Q> {
    fn drop(&mut self) {
        self.tell(Act::Ends, 0);
    }
}

// SAFETY: every call goes to the queue inside.
unsafe impl<Q: ExactQueue<Native>> RawQueue<Native> for Recorded<Q> {
    type Item = Q::Item;

    const INFO: QueueInfo = Q::INFO;

    fn with_capacity(capacity: usize) -> Result<Self, QueueError> {
        Q::with_capacity(capacity).map(Recorded)
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    #[inline]
    unsafe fn try_enqueue(&self, item: Q::Item, wait: Wait) -> Result<(), Q::Item> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.try_enqueue(item, wait) }?;
        self.tell(Act::Put, 1);
        Ok(())
    }

    #[inline]
    unsafe fn try_dequeue(&self, wait: Wait) -> Option<Q::Item> {
        // SAFETY: guaranteed by the caller.
        let item = unsafe { self.0.try_dequeue(wait) }?;
        self.tell(Act::Taken, 1);
        Some(item)
    }

    unsafe fn enqueue(&self, item: Q::Item, wait: Wait) {
        self.tell(Act::Full, 0);
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.enqueue(item, wait) };
        self.tell(Act::Put, 1);
    }

    unsafe fn dequeue(&self, wait: Wait) -> Q::Item {
        self.tell(Act::Empty, 0);
        // SAFETY: guaranteed by the caller.
        let item = unsafe { self.0.dequeue(wait) };
        self.tell(Act::Taken, 1);
        item
    }
}

// SAFETY: every call goes to the queue inside.
unsafe impl<Q: ExactQueue<Native>> ExactQueue<Native> for Recorded<Q> {
    const EXCHANGES: bool = Q::EXCHANGES;

    fn exactly(capacity: usize) -> Result<Self, BadBound> {
        Q::exactly(capacity).map(Recorded)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    unsafe fn put_some(&self, items: &[Q::Item], wait: Wait) -> usize
    where
        Q::Item: Copy,
    {
        // SAFETY: guaranteed by the caller.
        let count = unsafe { self.0.put_some(items, wait) };
        if count != 0 {
            self.tell(Act::Put, count);
        }
        count
    }

    unsafe fn take_some(&self, items: &mut [Q::Item], wait: Wait) -> usize
    where
        Q::Item: Copy,
    {
        // SAFETY: guaranteed by the caller.
        let count = unsafe { self.0.take_some(items, wait) };
        if count != 0 {
            self.tell(Act::Taken, count);
        }
        count
    }

    fn hear(&self, news: News) {
        match news {
            News::Made => {
                let capacity = self.capacity();
                self.tell(Act::Made, if capacity == usize::MAX { 0 } else { capacity });
            }
            News::Closes => self.tell(Act::Closes, 0),
            News::WaitsForRoom => self.tell(Act::Full, 0),
            News::WaitsForItem => self.tell(Act::Empty, 0),
            News::Got => self.tell(Act::Got, 0),
            News::GoesOn => self.tell(Act::GoesOn, 0),
        }
    }
}

// SAFETY: every call goes to the queue inside.
unsafe impl<Q: ExactQueue<Native> + Lends<Native>> Lends<Native> for Recorded<Q> {
    #[inline]
    unsafe fn reserve(&self, most: usize) -> Places<'_, Native, Q::Item> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.reserve(most) }
    }

    #[inline]
    unsafe fn commit(&self, count: usize, wait: Wait) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.commit(count, wait) };
        self.tell(Act::Put, count);
    }

    #[inline]
    unsafe fn peek(&self, most: usize) -> Places<'_, Native, Q::Item> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.peek(most) }
    }

    #[inline]
    unsafe fn release(&self, count: usize, wait: Wait) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.release(count, wait) };
        self.tell(Act::Taken, count);
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::Park;
    use super::*;
    use crate::event::chain::Chain;
    use crate::queue::channel::{Channel, NotReceived};
    use crate::queue::spsc::ExactSpsc;
    use core::ffi::c_void;
    use std::sync::Mutex;

    static TOLD: Mutex<Vec<(u32, u64)>> = Mutex::new(Vec::new());

    unsafe extern "C" fn tell(act: u32, _queue: usize, number: u64) {
        TOLD.lock().unwrap().push((act, number));
    }

    /// The only test that sets the recorder.
    #[test]
    fn the_recorder_hears_what_happens_in_order() {
        QUEUES.at.store(tell as *mut c_void, Relaxed);
        let queue = Recorded::by(ExactSpsc::<Native, u32>::exactly(2).unwrap());
        let channel: Channel<Native, _, Chain<Native>> = Channel::new(queue);
        let wait = <Park as super::super::policy::WaitPolicy>::WAIT;
        let soon = || Some(super::super::policy::after(core::time::Duration::from_millis(1)));
        // SAFETY: this thread alone uses the channel.
        unsafe {
            assert_eq!(channel.receive(wait, soon()), Err(NotReceived::Expired));
            channel.send(1, wait, None).unwrap();
            channel.send_some(&[2], wait);
            assert!(channel.send(3, wait, soon()).is_err());
            assert_eq!(channel.receive_some(&mut [0; 4], wait), 2);
        }
        channel.close(wait);
        drop(channel);
        QUEUES.at.store(NONE, Relaxed);
        let told = std::mem::take(&mut *TOLD.lock().unwrap());
        let expected = [
            (Act::Empty, 0),
            (Act::GoesOn, 0),
            (Act::Put, 1),
            (Act::Put, 1),
            (Act::Full, 0),
            (Act::GoesOn, 0),
            (Act::Taken, 2),
            (Act::Closes, 0),
            (Act::Ends, 0),
        ];
        assert_eq!(told, expected.map(|(act, number)| (act as u32, number)));
    }
}
