//! A queue in the machine's queue device (CAF: Wang and others, PACT 2016). Threads use it by
//! requests instead of shared memory: no cache line moves between cores, and it needs no orderings
//! but the acquire after a dequeue.
//!
//! A request travels to the device and back. [`RawQueue::enqueue_all`] and
//! [`RawQueue::dequeue_all`] have several requests in flight at once, as many as the machine
//! allows; [`Qmd::post`] does not wait for its request at all.
//!
//! The device holds back a thread that must wait, which keeps its CPU. Where other threads wait for
//! a CPU, the device drops the request after a time. The thread then sleeps until the queue has an
//! item or room: at once if its wait policy parks, else when a second request was dropped. It asks
//! the device for an interrupt; the answer says whether there is something now, and an interrupt
//! that comes before the thread sleeps is not lost.

use super::{Counted, QueueError, QueueInfo, RawQueue, Side, check_capacity};
use baton_machine::Ordering::Acquire;
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{Direction, Mode, Operand, QueueDevice, QueueId, QueueRefusal, QueueRequest};
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

    /// Makes a row of `n` requests with several in flight, and passes each answer to `take`, in
    /// order. Returns the number of requests that were served: all that come before one that the
    /// device has dropped.
    fn row(&self, n: usize, ask: impl Fn(usize, Mode) -> QueueRequest, mut take: impl FnMut(usize, u64)) -> usize {
        let mut under_way: [Option<Asked<M>>; UNDER_WAY] = [const { None }; UNDER_WAY];
        let mut served = 0;
        let mut answered = |i: usize, ticket: Asked<M>| {
            let answer = given(ticket.wait());
            if let Some(word) = answer {
                assert!(served == i, "a queue device served a request behind one of its row that it had dropped");
                take(i, word);
                served += 1;
            }
            answer.is_some()
        };
        let mut made = 0;
        while made < n {
            let ticket = &mut under_way[made % UNDER_WAY];
            if let Some(ticket) = ticket.take()
                && !answered(made - UNDER_WAY, ticket)
            {
                break;
            }
            *ticket = Some(self.device.request(ask(made, Mode::Timed { follows: made > 0 })));
            made += 1;
        }
        for i in made.saturating_sub(UNDER_WAY)..made {
            if let Some(ticket) = under_way[i % UNDER_WAY].take() {
                answered(i, ticket);
            }
        }
        served
    }

    /// Follows a request that the device has dropped, after `drops` others of this call. Sleeps
    /// until the queue has an item (or room), or returns at once so that the thread asks again.
    #[cold]
    fn stand_aside(&self, direction: Direction, drops: &mut u32, wait: Wait) {
        *drops += 1;
        M::relax();
        if *drops < if wait.parks() { 1 } else { 2 } {
            return;
        }
        let arm = QueueRequest::Dequeue { from: self.operand(Mode::Arm(direction)) };
        match self.device.request(arm).wait() {
            Ok(0) => self.device.armed(),
            // There is something now, or the device has no place for another thread: ask again.
            Ok(_) | Err(QueueRefusal::NoRoom | QueueRefusal::Dropped) => {}
            Err(why) => refused(why),
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
        limits: "needs a queue device; items of up to eight bytes; a waiting thread keeps its CPU unless others wait for one",
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

    unsafe fn enqueue(&self, item: T, wait: Wait) {
        let timed = self.putting(item, Mode::Timed { follows: false });
        let mut drops = 0;
        while given(self.device.request(timed).wait()).is_none() {
            self.stand_aside(Direction::Enqueue, &mut drops, wait);
        }
    }

    unsafe fn dequeue(&self, wait: Wait) -> T {
        let timed = self.taking(Mode::Timed { follows: false });
        let mut drops = 0;
        let item = loop {
            match given(self.device.request(timed).wait()) {
                Some(item) => break T::from_bits(item),
                None => self.stand_aside(Direction::Dequeue, &mut drops, wait),
            }
        };
        // Acquire for the reason in `try_dequeue`.
        M::fence(Acquire);
        item
    }

    unsafe fn enqueue_all(&self, items: &[T], wait: Wait) {
        let (mut sent, mut drops) = (0, 0);
        while sent < items.len() {
            let left = &items[sent..];
            sent += self.row(left.len(), |i, mode| self.putting(left[i], mode), |_, _| {});
            if sent < items.len() {
                self.stand_aside(Direction::Enqueue, &mut drops, wait);
            }
        }
    }

    unsafe fn dequeue_all(&self, items: &mut [T], wait: Wait) {
        let (mut got, mut drops) = (0, 0);
        while got < items.len() {
            let left = &mut items[got..];
            got += self.row(left.len(), |_, mode| self.taking(mode), |i, item| left[i] = T::from_bits(item));
            if got < items.len() {
                self.stand_aside(Direction::Dequeue, &mut drops, wait);
            }
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
