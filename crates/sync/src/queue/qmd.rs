//! A queue that lies in the machine's queue device (CAF: Wang and others, PACT 2016). Threads reach it by requests, not by memory:
//! no line goes to and fro, and it has no orderings of its own but the acquire behind a dequeue.
//!
//! A request takes the way to the device and back. Those of [`RawQueue::enqueue_all`] and [`RawQueue::dequeue_all`] are under way
//! at once, as many as the machine allows; [`Qmd::post`] does not wait for its own at all. A thread that has to wait is kept by the
//! device, whatever wait policy it names.

use super::{Counted, QueueError, QueueInfo, RawQueue, Side, check_capacity};
use baton_machine::Ordering::Acquire;
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{Mode, Operand, QueueDevice, QueueId, QueueRefusal, QueueRequest};
use baton_machine::{Machine, Wait, Word};
use core::marker::PhantomData;

/// The queue.
pub struct Qmd<M: Machine, T: Word> {
    device: M::Queues,
    /// The device's number.
    number: u32,
    queue: QueueId,
    capacity: u32,
    items: PhantomData<fn(T) -> T>,
}

/// A request under way.
type Asked<M> = <<M as Machine>::Queues as Device<QueueDevice>>::Ticket;

/// Requests that a call keeps track of at a time; a machine may allow fewer under way.
const UNDER_WAY: usize = 64;

/// A device has refused a request for a queue that it gave, and that was not released.
#[cold]
#[inline(never)]
fn refused(why: QueueRefusal) -> ! {
    panic!("the queue device refuses a queue of its own: {why:?}")
}

/// What a blocking request gave. `None`: the device's timer, or a guard thread, dropped it, and nothing has come of it.
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

    /// Where it lies, for requests that reach the device by another way ([`Machine::post`]).
    pub fn place(&self) -> (M::Queues, QueueId) {
        (self.device, self.queue)
    }

    /// Puts an item at the end, without waiting until it is there: the thread's later requests come behind it. An item that the
    /// device drops (its timer, a guard thread) is lost, and counted there.
    pub fn post(&self, item: T) {
        drop(self.device.request(self.putting(item, Mode::Block)));
    }

    /// Makes `n` requests, several under way at a time, and passes on what each gave, in order.
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

// SAFETY: the device gives out each item once, and serves the requests of one thread for one queue in their order. A request
// leaves behind all older stores of its thread, and a dequeue is followed by an Acquire fence.
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
        // The two requests: an instruction each.
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
        // The device orders nothing behind a dequeue: see what the producer wrote before its enqueue.
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
        // As in `try_dequeue`.
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
            // Those that the device drops are missing at the end, so that what came stays in its order.
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
        // As in `try_dequeue`.
        M::fence(Acquire);
    }
}

impl<M: Machine, T: Word> Drop for Qmd<M, T> {
    fn drop(&mut self) {
        // One that outlives its machine, as a simulation that is gone, went with it.
        if M::queues(self.number).is_some() {
            // What it still holds is words. The device can refuse only what it does not know.
            let released = self.device.call(QueueRequest::Release(self.queue));
            debug_assert!(released.is_ok(), "a queue was released by another than its owner");
        }
    }
}
