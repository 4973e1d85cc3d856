//! Queues of a queue device without a library's queue around them: for what only the device can do
//! with several queues at once.

use crate::Refused;
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{Mode, Operand, QueueDevice, QueueId, QueueRefusal, QueueRequest};
use baton_machine::{Machine, Ordering::Acquire};
use baton_sync::queue::QueueError;
use std::collections::VecDeque;

/// A request under way.
type Asked<M> = <<M as Machine>::Queues as Device<QueueDevice>>::Ticket;

/// Largest number of requests of one kind that a thread keeps track of at a time; a machine may
/// allow fewer under way.
const UNDER_WAY: usize = 64;

/// Neighbouring queues of a device. Dropping this gives the queues back, which must happen outside
/// of guest threads.
pub struct DeviceQueues<M: Machine> {
    device: M::Queues,
    /// The number of the device.
    number: u32,
    first: QueueId,
    count: u32,
}

fn request_of(why: QueueRefusal) -> String {
    format!("the queue device refuses a request for a queue of its own: {why:?}")
}

impl<M: Machine> DeviceQueues<M> {
    /// Makes `count` queues of `entries` entries each, in the first device that has room.
    pub fn new(count: u32, entries: usize) -> Result<Self, Refused> {
        let mut why = "the machine has no queue device; a chip has one with device.kind = \"qmd\", as caf16".to_owned();
        let few = u32::try_from(entries).ok().filter(|entries| entries.is_power_of_two() && *entries <= 1 << 30);
        let Some(each) = few else {
            return Err(Refused::because(format!(
                "queues of {entries} places; expected a power of two from 1 to 2^30"
            )));
        };
        let asked =
            QueueRequest::Allocate { entries: each, queues: count, enqueue_credits: false, dequeue_credits: false };
        for (number, device) in (0..).map_while(|number| Some((number, M::queues(number)?))) {
            match device.call(asked) {
                Ok(id) => return Ok(DeviceQueues { device, number, first: QueueId(id as u32), count }),
                Err(QueueRefusal::NoRoom) => {
                    why = format!(
                        "no queue device of the machine has room for {count} queues of {entries} items: device.qmd.queues and \
                         device.qmd.entries say for how many"
                    );
                }
                Err(why) => return Err(Refused::because(request_of(why))),
            }
        }
        Err(Refused::because(why))
    }

    /// The identifier of queue `n`.
    pub fn queue(&self, n: u32) -> QueueId {
        self.first.plus(n)
    }

    /// Has the device do something with the queues as a whole. Returns the device's answer.
    pub fn call(&self, request: QueueRequest) -> Result<u64, Refused> {
        self.device.call(request).map_err(|why| Refused::because(request_of(why)))
    }

    /// Takes an item; waits while there is none.
    pub fn take(&self, from: QueueId) -> u64 {
        let take = QueueRequest::Dequeue { from: operand(from) };
        let item = self.answer(self.ask(take), take);
        // The device orders nothing behind a dequeue: the fence makes visible what the producer
        // wrote before its enqueue.
        M::fence(Acquire);
        item
    }

    fn ask(&self, request: QueueRequest) -> Asked<M> {
        self.device.request(request)
    }

    /// Waits for the answer to a request. A request that the device dropped is made again.
    fn answer(&self, mut ticket: Asked<M>, request: QueueRequest) -> u64 {
        loop {
            match ticket.wait() {
                Ok(word) => return word,
                Err(QueueRefusal::Dropped) => ticket = self.ask(request),
                Err(why) => panic!("{}", request_of(why)),
            }
        }
    }

    /// Puts an item into one queue and takes one out of another, with both requests under way at
    /// once. Returns the item that was taken.
    pub fn put_and_take(&self, to: QueueId, item: u64, from: QueueId) -> u64 {
        let put = QueueRequest::Enqueue { to: operand(to), item };
        let take = QueueRequest::Dequeue { from: operand(from) };
        let (putting, taking) = (self.ask(put), self.ask(take));
        self.answer(putting, put);
        let item = self.answer(taking, take);
        M::fence(Acquire);
        item
    }

    /// Takes `count` items whose values say nothing, with several requests under way at a time.
    pub fn take_any(&self, from: QueueId, count: u32) {
        let take = QueueRequest::Dequeue { from: operand(from) };
        let mut under_way: VecDeque<Asked<M>> = VecDeque::with_capacity(UNDER_WAY);
        for _ in 0..count {
            if under_way.len() == UNDER_WAY
                && let Some(oldest) = under_way.pop_front()
            {
                self.answer(oldest, take);
            }
            under_way.push_back(self.ask(take));
        }
        under_way.into_iter().for_each(|ticket| _ = self.answer(ticket, take));
        M::fence(Acquire);
    }

    /// Puts an item into a queue, or into one queue of a group, if there is room. Returns false if
    /// there is none, or if the device dropped the request.
    pub fn try_put(&self, to: QueueId, item: u64) -> bool {
        match self.ask(QueueRequest::Enqueue { to: Operand { mode: Mode::Try, ..operand(to) }, item }).wait() {
            Ok(_) => true,
            Err(QueueRefusal::Full | QueueRefusal::Dropped) => false,
            Err(why) => panic!("{}", request_of(why)),
        }
    }

    /// Takes an item; `None` if there is none, or if the device dropped the request.
    pub fn try_take(&self, from: QueueId) -> Option<u64> {
        let item = match self.ask(QueueRequest::Dequeue { from: Operand { mode: Mode::Try, ..operand(from) } }).wait() {
            Ok(item) => item,
            Err(QueueRefusal::Empty | QueueRefusal::Dropped) => return None,
            Err(why) => panic!("{}", request_of(why)),
        };
        M::fence(Acquire);
        Some(item)
    }

    /// Gives a group of these queues back. The group must be given back before the queues.
    pub fn release_group(&self, group: QueueId) {
        // A group that outlives its machine ended with the machine, and need not be given back.
        if M::queues(self.number).is_some() {
            let released = self.call(QueueRequest::Release(group));
            debug_assert!(released.is_ok(), "{released:?}");
        }
    }

    /// Makes an outbox, which sends items whose order does not matter, several under way at a time.
    pub fn outbox(&self) -> Outbox<'_, M> {
        Outbox { queues: self, under_way: VecDeque::with_capacity(UNDER_WAY) }
    }

    /// Puts all of `items` into a queue and fills `into` from another, with up to 64 puts and 64
    /// takes under way at a time.
    ///
    /// # Panics
    /// Panics if the device drops a request, because the order of the items is lost then, or if the
    /// device refuses one.
    pub fn exchange(&self, to: QueueId, from: QueueId, items: &[u64], into: &mut [u64]) {
        let whole = |answer: Result<u64, QueueRefusal>| match answer {
            Ok(word) => word,
            Err(QueueRefusal::Dropped) => {
                panic!(
                    "the queue device has dropped an item of a vector, whose order is lost; device.qmd.timeout = 0 lets it wait"
                )
            }
            Err(why) => panic!("{}", request_of(why)),
        };
        let (mut puts, mut takes) = (VecDeque::with_capacity(UNDER_WAY), VecDeque::with_capacity(UNDER_WAY));
        for &item in items {
            if puts.len() == UNDER_WAY {
                puts.pop_front().map(|put: Asked<M>| whole(put.wait()));
            }
            puts.push_back(self.device.request(QueueRequest::Enqueue { to: operand(to), item }));
        }
        let mut got = 0;
        for _ in 0..into.len() {
            if takes.len() == UNDER_WAY
                && let Some(take) = takes.pop_front()
            {
                let take: Asked<M> = take;
                into[got] = whole(take.wait());
                got += 1;
            }
            takes.push_back(self.device.request(QueueRequest::Dequeue { from: operand(from) }));
        }
        puts.into_iter().for_each(|put| _ = whole(put.wait()));
        for take in takes {
            into[got] = whole(take.wait());
            got += 1;
        }
        M::fence(Acquire);
    }
}

/// The error of a queue that cannot be made, as a refusal.
pub fn unmade(queue: &str, error: QueueError) -> Refused {
    let hint = match error {
        QueueError::NoDevice => "; a chip has one with device.kind = \"qmd\", as caf16",
        QueueError::NoRoom(_) => {
            "; fewer or smaller queues (--capacity, --pool), or device.qmd.queues and device.qmd.entries"
        }
        QueueError::Capacity(_) => "",
    };
    Refused::because(format!("queue `{queue}`: {error}{hint}"))
}

fn operand(queue: QueueId) -> Operand {
    Operand { queue, priority: 0, mode: Mode::Block }
}

impl<M: Machine> Drop for DeviceQueues<M> {
    fn drop(&mut self) {
        // Queues that outlive their machine (say, of a simulation that has ended) ended with the
        // machine.
        if M::queues(self.number).is_some() {
            for queue in 0..self.count {
                let released = self.device.call(QueueRequest::Release(self.queue(queue)));
                debug_assert!(released.is_ok(), "a queue was released by another than its owner");
            }
        }
    }
}

/// Sends items in any order.
pub struct Outbox<'a, M: Machine> {
    queues: &'a DeviceQueues<M>,
    under_way: VecDeque<(Asked<M>, QueueId, u64)>,
}

impl<M: Machine> Outbox<'_, M> {
    /// Puts an item into a queue, or into one queue of a group. The thread goes on at once, unless
    /// too many requests are under way.
    pub fn send(&mut self, to: QueueId, item: u64) {
        if self.under_way.len() == UNDER_WAY {
            self.settle();
        }
        let ticket = self.queues.device.request(QueueRequest::Enqueue { to: operand(to), item });
        self.under_way.push_back((ticket, to, item));
    }

    /// Waits for the oldest item's answer. An item that the device dropped is sent again.
    fn settle(&mut self) {
        let Some((ticket, to, item)) = self.under_way.pop_front() else { return };
        match ticket.wait() {
            Ok(_) => {}
            Err(QueueRefusal::Dropped) => self.send(to, item),
            Err(why) => panic!("{}", request_of(why)),
        }
    }

    /// Waits until the device has all items.
    pub fn flush(&mut self) {
        while !self.under_way.is_empty() {
            self.settle();
        }
    }
}
