//! A queue in the machine's queue device (CAF: Wang and others, PACT 2016). Threads use it by
//! requests instead of shared memory: no cache line moves between cores, and it needs no orderings
//! but the acquire after a dequeue.
//!
//! A request travels to the device and back. [`RawQueue::enqueue_all`] and
//! [`RawQueue::dequeue_all`] have several requests in flight at once, as many as the machine
//! allows; [`Qmd::post`] does not wait for its request at all. The device holds back a thread that
//! must wait, whatever wait policy the thread names.

use super::{Counted, QueueError, QueueInfo, RawQueue, Side, check_capacity};
use baton_machine::Ordering::Acquire;
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{Mode, Operand, QueueDevice, QueueId, QueueRefusal, QueueRequest};
use baton_machine::{Machine, Wait, Word};
use core::marker::PhantomData;

/// A queue in a device.
pub struct Qmd<M: Machine, T: Word> {
    device: M::Queues,
    /// The device's number on the machine.
    number: u32,
    queue: QueueId,
    capacity: u32,
    items: PhantomData<fn(T) -> T>,
}

/// A request in flight.
type Asked<M> = <<M as Machine>::Queues as Device<QueueDevice>>::Ticket;

/// Number of requests that a call keeps in flight; the machine may allow fewer.
const UNDER_WAY: usize = 64;

/// Panics: the device has refused a request for a queue that it allocated and that was not
/// released.
#[cold]
#[inline(never)]
fn refused(why: QueueRefusal) -> ! {
    panic!("the queue device refuses a queue of its own: {why:?}")
}

/// Returns the answer to a blocking request; `None` if the device's timer or a guard thread dropped
/// the request without effect.
fn given(answer: Result<u64, QueueRefusal>) -> Option<u64> {
    match answer {
        Ok(word) => Some(word),
        Err(QueueRefusal::Dropped) => None,
        Err(why) => refused(why),
    }
}

impl<M: Machine, T: Word> Qmd<M, T> {
    fn operand(&self, mode: Mode) -> Operand {
        Operand { mode, ..Operand::of(self.queue) }
    }

    fn putting(&self, item: T, mode: Mode) -> QueueRequest {
        QueueRequest::Enqueue { to: self.operand(mode), item: item.to_bits() }
    }

    fn taking(&self, mode: Mode) -> QueueRequest {
        QueueRequest::Dequeue { from: self.operand(mode) }
    }

    /// Returns the device and the queue's id, for requests that reach the device by another way
    /// ([`Machine::post`]).
    pub fn place(&self) -> (M::Queues, QueueId) {
        (self.device, self.queue)
    }

    /// Appends an item without waiting for the device: the thread's later requests come after it.
    /// An item that the device drops (by its timer or a guard thread) is lost, and counted there.
    pub fn post(&self, item: T) {
        drop(self.device.request(self.putting(item, Mode::Block)));
    }

    /// Makes `n` requests with several in flight, and passes each answer to `take`, in order.
    fn each(&self, n: usize, ask: impl Fn(usize) -> QueueRequest, mut take: impl FnMut(usize, Option<u64>)) {
        let mut under_way: [Option<Asked<M>>; UNDER_WAY] = [const { None }; UNDER_WAY];
        for i in 0..n {
            let ticket = &mut under_way[i % UNDER_WAY];
            if let Some(ticket) = ticket.take() {
                take(i - UNDER_WAY, given(ticket.wait()));
            }
            *ticket = Some(self.device.request(ask(i)));
        }
        for i in n.saturating_sub(UNDER_WAY)..n {
            if let Some(ticket) = under_way[i % UNDER_WAY].take() {
                take(i, given(ticket.wait()));
            }
        }
    }
}

// SAFETY: the device gives out each item once, and serves a thread's requests for a queue in order.
// A request follows all older stores of its thread, and an Acquire fence follows a dequeue.
unsafe impl<M: Machine, T: Word> RawQueue<M> for Qmd<M, T> {
    type Item = T;
    const INFO: QueueInfo = QueueInfo {
        name: "qmd",
        what: "lies in the machine's queue device; threads reach it by requests, several under way in bulk",
        source: "CAF: Wang and others, PACT 2016",
        limits: "needs a queue device; items of up to eight bytes; waits as the device does, which keeps the core; a device that \
                 drops requests does not keep the order of a bulk",
        producers: Side::Multi,
        consumers: Side::Multi,
        bulk: false,
        device: true,
        // The two requests are an instruction each.
        counted: Counted { instructions: 2.0, accesses: 2 },
        counted_bulk: None,
    };

    fn with_capacity(capacity: usize) -> Result<Self, QueueError> {
        let entries = check_capacity(capacity)?;
        let mut error = QueueError::NoDevice;
        for (number, device) in (0..).map_while(|number| Some((number, M::queues(number)?))) {
            let asked = QueueRequest::Allocate { entries, queues: 1, enqueue_credits: false, dequeue_credits: false };
            match device.call(asked) {
                Ok(id) => {
                    let queue = QueueId(id as u32);
                    return Ok(Qmd { device, number, queue, capacity: entries, items: PhantomData });
                }
                Err(QueueRefusal::NoRoom) => error = QueueError::NoRoom(capacity),
                Err(why) => refused(why),
            }
        }
        Err(error)
    }

    fn capacity(&self) -> usize {
        self.capacity as usize
    }

    unsafe fn try_enqueue(&self, item: T, _: Wait) -> Result<(), T> {
        match self.device.request(self.putting(item, Mode::Try)).wait() {
            Ok(_) => Ok(()),
            Err(QueueRefusal::Full | QueueRefusal::Dropped) => Err(item),
            Err(why) => refused(why),
        }
    }

    unsafe fn try_dequeue(&self, _: Wait) -> Option<T> {
        let item = match self.device.request(self.taking(Mode::Try)).wait() {
            Ok(item) => T::from_bits(item),
            Err(QueueRefusal::Empty | QueueRefusal::Dropped) => return None,
            Err(why) => refused(why),
        };
        // The device orders nothing after a dequeue: the fence makes visible what the producer
        // wrote before its enqueue.
        M::fence(Acquire);
        Some(item)
    }

    unsafe fn enqueue(&self, item: T, _: Wait) {
        while given(self.device.request(self.putting(item, Mode::Block)).wait()).is_none() {}
    }

    unsafe fn dequeue(&self, _: Wait) -> T {
        let item = loop {
            if let Some(item) = given(self.device.request(self.taking(Mode::Block)).wait()) {
                break T::from_bits(item);
            }
        };
        // Acquire for the reason in `try_dequeue`.
        M::fence(Acquire);
        item
    }

    unsafe fn enqueue_all(&self, items: &[T], wait: Wait) {
        let again = |i: usize, answer: Option<u64>| {
            if answer.is_none() {
                // SAFETY: any number of threads may enqueue.
                unsafe { self.enqueue(items[i], wait) };
            }
        };
        self.each(items.len(), |i| self.putting(items[i], Mode::Block), again);
    }

    unsafe fn dequeue_all(&self, items: &mut [T], _: Wait) {
        let mut got = 0;
        while got < items.len() {
            // Items that the device drops are missing at the end, so that those which arrived stay
            // in order.
            self.each(
                items.len() - got,
                |_| self.taking(Mode::Block),
                |_, item| {
                    if let Some(item) = item {
                        items[got] = T::from_bits(item);
                        got += 1;
                    }
                },
            );
        }
        // Acquire for the reason in `try_dequeue`.
        M::fence(Acquire);
    }
}

impl<M: Machine, T: Word> Drop for Qmd<M, T> {
    fn drop(&mut self) {
        // A queue that outlives its machine (say, of a simulation that has ended) ended with the
        // machine.
        if M::queues(self.number).is_some() {
            // The remaining items are words without destructors. The device can refuse only a queue
            // that it does not know.
            let released = self.device.call(QueueRequest::Release(self.queue));
            debug_assert!(released.is_ok(), "a queue was released by another than its owner");
        }
    }
}
