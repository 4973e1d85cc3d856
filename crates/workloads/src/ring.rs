//! Producers and consumers at a bounded queue.

use crate::{Charge, Knobs, Probe, Refused, Team, Think, Workload, WorkloadInfo, expect, share};
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Ordering::Relaxed, Wait};
use baton_sync::queue::{self, QueueError, QueueInfo, QueueVisitor, RawQueue, Side};

/// A thread's sum, on a pair of lines of its own.
#[repr(C, align(128))]
struct Sum<M: Machine>(M::Atomic<u64>);

/// The workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transport {
    /// Threads that enqueue.
    pub producers: u32,
    /// Threads that dequeue.
    pub consumers: u32,
    /// Places in the queue, a power of two.
    pub capacity: usize,
    /// Cycles computed before each item, by producers and consumers alike.
    pub think: Cycles,
    /// How far each computation lies from it: within this share.
    pub spread: f64,
    /// Items a producer sends.
    pub iterations: u64,
    /// Items that each thread moves at a time.
    pub bulk: usize,
}

/// Why a transport cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadTransport {
    /// The queue allows one thread on a side.
    Side(&'static str, u32),
    /// The queue cannot be made.
    Queue(&'static str, QueueError),
    /// The items cannot be shared out evenly among the consumers.
    Uneven(u64, u32),
}

impl std::fmt::Display for BadTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BadTransport::Side(side, asked) => write!(f, "the queue allows one {side}, not {asked}"),
            BadTransport::Queue(name, error) => write!(f, "queue `{name}`: {error}"),
            BadTransport::Uneven(items, consumers) => {
                write!(f, "{items} items cannot be shared out evenly among {consumers} consumers")
            }
        }
    }
}

impl std::error::Error for BadTransport {}

impl Transport {
    /// The threads, producers first, at a `Q`. The check: what came out is what went in.
    pub fn team<M: Machine, Q: RawQueue<M, Item = u64>>(self, wait: Wait) -> Result<Team, BadTransport> {
        for (side, threads, name) in
            [(Q::INFO.producers, self.producers, "producer"), (Q::INFO.consumers, self.consumers, "consumer")]
        {
            if side == Side::Single && threads != 1 {
                return Err(BadTransport::Side(name, threads));
            }
        }
        let items = self.iterations.saturating_mul(u64::from(self.producers));
        if !items.is_multiple_of(u64::from(self.consumers.max(1))) {
            return Err(BadTransport::Uneven(items, self.consumers));
        }
        let queue = Q::with_capacity(self.capacity).map_err(|error| BadTransport::Queue(Q::INFO.name, error))?;
        let queue = share::<M, Q>(queue);
        let sums: Vec<_> = (0..self.consumers).map(|_| share::<M, _>(Sum::<M>(M::Atomic::new(0)))).collect();
        let producer = |thread: u32| {
            let queue = queue.clone();
            let think = Think::new(self.think, self.spread, u64::from(thread));
            Box::new(move || {
                // SAFETY: a queue with one producer has one thread here.
                unsafe { self.send::<M, Q>(&queue, think, wait) };
            }) as crate::Body
        };
        let share = items / u64::from(self.consumers.max(1));
        let consumer = |(thread, sum): (u32, &crate::Shared<M, Sum<M>>)| {
            let (queue, sum) = (queue.clone(), sum.clone());
            let think = Think::new(self.think, self.spread, u64::from(self.producers + thread));
            Box::new(move || {
                // SAFETY: a queue with one consumer has one thread here.
                let total = unsafe { self.receive::<M, Q>(&queue, share, think, wait) };
                // Relaxed: the end of the thread orders it.
                sum.0.store(total, Relaxed);
            }) as crate::Body
        };
        let producers = (0..self.producers).map(producer);
        let bodies = producers.chain((0..).zip(&sums).map(consumer)).collect();
        // What lies in a device is given back by a system call: that is no part of the run.
        let kept = Q::INFO.device.then(|| queue.clone());
        let verify = Box::new(move || {
            drop(kept);
            let sent = u128::from(self.producers)
                * (u128::from(self.iterations) * u128::from(self.iterations.saturating_sub(1)) / 2);
            let received = sums.iter().fold(0u64, |sum, one| sum.wrapping_add(one.0.load(Relaxed)));
            expect("sum of the items received", received, sent as u64)
        });
        Ok(Team::new(bodies, verify))
    }

    /// A producer's part: the numbers from 0 on.
    ///
    /// # Safety
    /// As [`RawQueue::enqueue`].
    unsafe fn send<M: Machine, Q: RawQueue<M, Item = u64>>(self, queue: &Q, mut think: Think, wait: Wait) {
        let mut items = Vec::with_capacity(self.bulk);
        for item in 0..self.iterations {
            M::work(think.next());
            if self.bulk == 1 {
                // SAFETY: by contract.
                unsafe { queue.enqueue(item, wait) };
                continue;
            }
            items.push(item);
            if items.len() == self.bulk || item + 1 == self.iterations {
                // SAFETY: by contract.
                unsafe { queue.enqueue_all(&items, wait) };
                items.clear();
            }
        }
    }

    /// A consumer's part: the sum of so many items.
    ///
    /// # Safety
    /// As [`RawQueue::dequeue`].
    unsafe fn receive<M: Machine, Q: RawQueue<M, Item = u64>>(
        self,
        queue: &Q,
        items: u64,
        mut think: Think,
        wait: Wait,
    ) -> u64 {
        let (mut total, mut left, mut some) = (0u64, items, vec![0; self.bulk]);
        while left != 0 {
            some.truncate(left.min(self.bulk as u64) as usize);
            if self.bulk == 1 {
                // SAFETY: by contract.
                some[0] = unsafe { queue.dequeue(wait) };
            } else {
                // SAFETY: by contract.
                unsafe { queue.dequeue_all(&mut some, wait) };
            }
            for item in &some {
                total = total.wrapping_add(*item);
                M::work(think.next());
            }
            left -= some.len() as u64;
        }
        total
    }
}

/// A [`Transport`] at a queue of the registry.
#[derive(Clone, Copy)]
pub struct Queueing {
    queue: &'static QueueInfo,
    transport: Transport,
}

struct Make(Transport, Wait);
impl<M: Machine> QueueVisitor<M> for Make {
    type Out = Result<Team, BadTransport>;
    fn visit<Q: RawQueue<M, Item = u64>>(self) -> Self::Out {
        self.0.team::<M, Q>(self.1)
    }
}

impl Workload for Queueing {
    const INFO: WorkloadInfo =
        WorkloadInfo { name: "ring", what: "Producers and consumers at a queue", figure: "cycles", has_locks: false };

    fn choose(knobs: &Knobs<'_>) -> Result<Queueing, Refused> {
        let (queue, threads) = (knobs.queue()?, knobs.threads_or_two());
        if threads < 2 {
            return Err(Refused::because("a ring needs a producer and a consumer: at least 2 threads"));
        }
        let (producers, consumers) = match (queue.producers, queue.consumers) {
            (Side::Multi, Side::Multi) => (threads / 2, threads - threads / 2),
            (Side::Single, Side::Multi) => (1, threads - 1),
            (Side::Multi, Side::Single) => (threads - 1, 1),
            (Side::Single, Side::Single) if threads == 2 => (1, 1),
            (Side::Single, Side::Single) => {
                let sides = "is for one producer and one consumer";
                return Err(Refused::because(format!("queue `{}` {sides}: 2 threads, not {threads}", queue.name)));
            }
        };
        // Rounded up so that the items can be shared out evenly.
        let (round, iterations) = (u64::from(consumers), knobs.iterations_or(1000));
        let iterations =
            if iterations == u64::MAX { u64::MAX / round * round } else { iterations.next_multiple_of(round) };
        let (think, spread, capacity, bulk) = (Cycles(knobs.think), knobs.spread, knobs.capacity, knobs.bulk.max(1));
        let transport = Transport { producers, consumers, capacity, think, spread, iterations, bulk };
        Ok(Queueing { queue, transport })
    }

    fn threads(&self) -> u32 {
        self.transport.producers + self.transport.consumers
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        let made = queue::visit::<M, _>(self.queue.name, Make(self.transport, wait)).map_err(Refused::because)?;
        made.map_err(|error| match error {
            BadTransport::Queue(_, QueueError::NoDevice) => {
                Refused::because(format!("{error}; a chip has one with device.kind = \"qmd\", as caf16"))
            }
            _ => Refused::because(error),
        })
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.queue.name)
    }

    fn charge(&self) -> Charge {
        match self.queue.counted_bulk {
            Some(bulk) if self.transport.bulk > 1 => Charge::Bulk(bulk),
            _ => Charge::Counted(self.queue.counted),
        }
    }
}
