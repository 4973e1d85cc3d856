//! A queue as the study's programs use it: one in memory, or one in the queue device.

use baton_chip::Simulated;
use baton_machine::Ordering::Acquire;
use baton_machine::device::{Device, Ticket};
use baton_machine::queues::{Operand, QueueDevice, QueueId, QueueRefusal, QueueRequest};
use baton_machine::{Machine, Owned, Wait};
use baton_sync::queue::{self, QueueVisitor, RawQueue, Side};
use baton_workloads::models::{self, Model, ModelVisitor};
use std::collections::VecDeque;
use std::rc::Rc;

type Queues = <Simulated as Machine>::Queues;
/// A request under way.
pub(super) type Asked = <Queues as Device<QueueDevice>>::Ticket;

/// The dequeues that a thread has issued before it needs their items.
#[derive(Default)]
pub(super) struct Ahead {
    tickets: VecDeque<Asked>,
    /// The greatest number of dequeues ahead; with 0, a thread issues only those of the bulk that
    /// it needs.
    pub(super) most: u64,
    /// Items that the thread will still ask for.
    pub(super) left: u64,
}

impl Ahead {
    /// Makes the state of a thread that takes `items` items in all.
    pub(super) fn new(most: u64, items: u64) -> Ahead {
        Ahead { tickets: VecDeque::new(), most, left: items }
    }
}

/// A queue of words.
pub(super) trait Channel {
    /// Enqueues all items.
    fn put(&self, items: &[u64]);
    /// Dequeues as many items as `items` has places.
    fn get(&self, items: &mut [u64], ahead: &mut Ahead);
    /// Issues dequeues ahead of need, if the queue can have dequeues under way.
    fn refill(&self, _: &mut Ahead) {}
}

/// A queue in memory, and how its threads wait.
struct InMemory<Q> {
    queue: Owned<Simulated, Q>,
    wait: Wait,
}

impl<Q: RawQueue<Simulated, Item = u64>> Channel for InMemory<Q> {
    fn put(&self, items: &[u64]) {
        match items {
            // SAFETY: `Make::visit` refuses a queue with one producer if more threads enqueue, so
            // no other thread is in `enqueue` of such a queue; and simulated threads run one at a
            // time.
            [one] => unsafe { self.queue.enqueue(*one, self.wait) },
            // SAFETY: as above.
            several => unsafe { self.queue.enqueue_all(several, self.wait) },
        }
    }

    fn get(&self, items: &mut [u64], _: &mut Ahead) {
        match items {
            // SAFETY: as in `put`, with consumers in the place of producers.
            [one] => *one = unsafe { self.queue.dequeue(self.wait) },
            // SAFETY: as above.
            several => unsafe { self.queue.dequeue_all(several, self.wait) },
        }
    }
}

struct Make {
    capacity: usize,
    /// The number of threads that enqueue, and of threads that dequeue.
    threads: [u32; 2],
    wait: Wait,
}

impl QueueVisitor<Simulated> for Make {
    type Out = Result<Rc<dyn Channel>, String>;

    fn visit<Q: RawQueue<Simulated, Item = u64>>(self) -> Self::Out {
        let sides = [Q::INFO.producers, Q::INFO.consumers];
        if sides.iter().zip(self.threads).any(|(side, threads)| *side == Side::Single && threads > 1) {
            return Err(format!("queue `{}` is for one producer and one consumer", Q::INFO.name));
        }
        let queue = Q::with_capacity(self.capacity).map_err(|error| error.to_string())?;
        Ok(Rc::new(InMemory { queue: Owned::new(queue), wait: self.wait }))
    }
}

/// A queue of the registry, for these numbers of producers and consumers.
pub(super) fn in_memory(name: &str, capacity: usize, threads: [u32; 2], wait: Wait) -> Result<Rc<dyn Channel>, String> {
    queue::visit::<Simulated, _>(name, Make { capacity, threads, wait }).map_err(|error| error.to_string())?
}

/// A queue model outside of the registry: the ring in a critical section that costs nothing, or
/// HAQu.
struct InModel<C> {
    model: C,
    wait: Wait,
}

impl<C: Model<Simulated>> Channel for InModel<C> {
    fn put(&self, items: &[u64]) {
        // SAFETY: `Make::visit` refuses a model with one producer if more threads enqueue; the
        // other models do not ask which thread calls.
        unsafe { self.model.send(0, items, self.wait) };
    }

    fn get(&self, items: &mut [u64], _: &mut Ahead) {
        // SAFETY: as in `put`, with consumers in the place of producers.
        unsafe { self.model.receive(0, items, self.wait) };
    }
}

impl ModelVisitor<Simulated> for Make {
    type Out = Result<Rc<dyn Channel>, String>;

    fn visit<C: Model<Simulated>>(self) -> Self::Out {
        let sides = [C::INFO.producers, C::INFO.consumers];
        if sides.iter().zip(self.threads).any(|(side, threads)| *side == Side::Single && threads > 1) {
            return Err(format!("model `{}` is for one producer and one consumer", C::INFO.name));
        }
        let model = C::new([1, 1], self.capacity).map_err(|error| error.to_string())?;
        Ok(Rc::new(InModel { model, wait: self.wait }))
    }
}

/// Makes the model `name` as a queue: all producers call it as producer 0, all consumers as
/// consumer 0. An error if a side of the model is for one thread and more threads use it.
pub(super) fn in_model(name: &str, capacity: usize, threads: [u32; 2], wait: Wait) -> Result<Rc<dyn Channel>, String> {
    let made = models::visit::<Simulated, _>(name, Make { capacity, threads, wait });
    made.ok_or_else(|| format!("no model is called `{name}`"))?
}

/// The answer of the device to a correct request.
pub(super) fn word(answer: Result<u64, QueueRefusal>) -> u64 {
    answer.unwrap_or_else(|why| panic!("the device refuses a right request: {why:?}"))
}

/// A queue in the queue device.
#[derive(Clone, Copy)]
pub(super) struct InDevice {
    device: Queues,
    queue: QueueId,
    /// Whether a thread waits for the answers of its enqueues before it goes on.
    waits: bool,
}

impl InDevice {
    /// Allocates a queue in the device with the number `device`.
    pub(super) fn new(device: u32, entries: usize, waits: bool) -> Result<InDevice, String> {
        let device = Simulated::queues(device).ok_or("the chip has no such queue device")?;
        let entries = u32::try_from(entries).map_err(|error| error.to_string())?;
        let asked = QueueRequest::Allocate { entries, queues: 1, enqueue_credits: false, dequeue_credits: false };
        let id = device.call(asked).map_err(|why| format!("the device gives no queue of {entries}: {why:?}"))?;
        Ok(InDevice { device, queue: QueueId(id as u32), waits })
    }

    pub(super) fn enqueue(self, item: u64) -> Asked {
        self.device.request(QueueRequest::Enqueue { to: Operand::of(self.queue), item })
    }

    pub(super) fn dequeue(self) -> Asked {
        self.device.request(QueueRequest::Dequeue { from: Operand::of(self.queue) })
    }
}

impl Channel for InDevice {
    fn put(&self, items: &[u64]) {
        let asked = items.iter().map(|item| self.enqueue(*item));
        if self.waits {
            for ticket in asked.collect::<Vec<_>>() {
                word(ticket.wait());
            }
        } else {
            asked.for_each(drop);
        }
    }

    fn get(&self, items: &mut [u64], ahead: &mut Ahead) {
        while ahead.tickets.len() < items.len() {
            ahead.left = ahead.left.saturating_sub(1);
            ahead.tickets.push_back(self.dequeue());
        }
        let asked = ahead.tickets.drain(..items.len());
        for (item, ticket) in items.iter_mut().zip(asked) {
            *item = word(ticket.wait());
        }
        // The device does not order later accesses behind a dequeue, so the thread does.
        Simulated::fence(Acquire);
    }

    fn refill(&self, ahead: &mut Ahead) {
        while (ahead.tickets.len() as u64) < ahead.most && ahead.left > 0 {
            ahead.left -= 1;
            ahead.tickets.push_back(self.dequeue());
        }
    }
}
