//! Producers and consumers at a bounded queue.

use crate::models::{self, Channel, MODELS, Model, ModelInfo, ModelVisitor, Whole};
use crate::requests::unmade;
use crate::{Charge, Figure, Knobs, Probe, Refused, Team, Think, Workload, WorkloadInfo, expect, share};
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Ordering::Relaxed, OwnedSlice, Wait};
use baton_sync::queue::{self, QUEUES, QueueError, QueueInfo, QueueVisitor, RawQueue, Side};

/// A thread's sum, on a pair of lines of its own.
#[repr(C, align(128))]
struct Sum<M: Machine>(M::Atomic<u64>);

/// A line that a producer writes before it sends an item.
#[repr(C, align(128))]
struct Line<M: Machine>(M::Atomic<u64>);

/// The settings of the workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transport {
    /// Number of threads that enqueue.
    pub producers: u32,
    /// Number of threads that dequeue.
    pub consumers: u32,
    /// Places in the queue, a power of two.
    pub capacity: usize,
    /// Mean number of cycles that a producer computes before each item, and a consumer after it.
    pub think: Cycles,
    /// Largest deviation of a computation from `think`, as a share of `think`.
    pub spread: f64,
    /// Number of items that a producer sends.
    pub iterations: u64,
    /// Number of items that each thread moves at a time.
    pub bulk: usize,
    /// Number of lines of its own that a producer writes before each item.
    pub lines: u32,
}

/// Why a transport cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadTransport {
    /// The queue allows one thread on a side, and another number was asked for.
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
    /// The threads, producers first, at a queue of type `Q`. The check: the sum of the items that
    /// came out is the sum of those that went in.
    ///
    /// # Errors
    /// Fails if the queue does not allow the threads, cannot be made, or the items cannot be shared
    /// out evenly.
    pub fn team<M: Machine, Q: RawQueue<M, Item = u64>>(self, wait: Wait) -> Result<Team, BadTransport> {
        self.check_sides(Q::INFO.producers, Q::INFO.consumers)?;
        let queue = Q::with_capacity(self.capacity).map_err(|error| BadTransport::Queue(Q::INFO.name, error))?;
        let in_device = (Q::INFO.name == "auto").then(|| queue.took() == "qmd");
        let mut team = self.team_at::<M, _>(Whole::<M, Q>::new(queue), wait);
        if let Some(in_device) = in_device {
            team.figures = Box::new(move || vec![Figure { name: "in_device", value: f64::from(in_device) }]);
        }
        Ok(team)
    }

    /// The threads, producers first, at a model of type `C`. The check is that of
    /// [`Transport::team`].
    ///
    /// # Errors
    /// Fails if the model does not allow the threads, cannot be made, or the items cannot be shared
    /// out evenly.
    pub fn team_of_model<M: Machine, C: Model<M>>(self, wait: Wait) -> Result<Team, BadTransport> {
        self.check_sides(C::INFO.producers, C::INFO.consumers)?;
        let channel = C::new([self.producers, self.consumers], self.capacity);
        Ok(self.team_at::<M, C>(channel.map_err(|error| BadTransport::Queue(C::INFO.name, error))?, wait))
    }

    /// Checks that the queue allows the threads on each side, and that the number of all items is a
    /// multiple of the number of consumers.
    fn check_sides(self, producers: Side, consumers: Side) -> Result<(), BadTransport> {
        for (side, threads, name) in [(producers, self.producers, "producer"), (consumers, self.consumers, "consumer")]
        {
            if side == Side::Single && threads != 1 {
                return Err(BadTransport::Side(name, threads));
            }
        }
        let items = self.iterations.saturating_mul(u64::from(self.producers));
        if !items.is_multiple_of(u64::from(self.consumers.max(1))) {
            return Err(BadTransport::Uneven(items, self.consumers));
        }
        Ok(())
    }

    fn team_at<M: Machine, C: Channel<M>>(self, channel: C, wait: Wait) -> Team {
        let sides = [self.producers, self.consumers];
        let channel = share::<M, C>(channel);
        let sums: Vec<_> = (0..self.consumers).map(|_| share::<M, _>(Sum::<M>(M::Atomic::new(0)))).collect();
        let producer = |thread: u32| {
            let channel = channel.clone();
            let think = Think::new(self.think, self.spread, u64::from(thread));
            Box::new(move || {
                // SAFETY: one thread is this producer, and there are no more producers than the
                // channel allows.
                unsafe { self.send::<M, C>(&channel, thread, think, wait) };
            }) as crate::Body
        };
        let consumer = |(thread, sum): (u32, &crate::Shared<M, Sum<M>>)| {
            let (channel, sum) = (channel.clone(), sum.clone());
            let think = Think::new(self.think, self.spread, u64::from(self.producers + thread));
            let items = channel.share(thread, sides, self.iterations, self.bulk as u64);
            Box::new(move || {
                // SAFETY: one thread is this consumer, and there are no more consumers than the
                // channel allows.
                let total = unsafe { self.receive::<M, C>(&channel, thread, items, think, wait) };
                // Relaxed: the end of the thread orders the store.
                sum.0.store(total, Relaxed);
            }) as crate::Body
        };
        let producers = (0..self.producers).map(producer);
        let bodies = producers.chain((0..).zip(&sums).map(consumer)).collect();
        // A queue in a device is freed by a system call, which is no part of the run, so the check
        // keeps the queue until the run is over.
        let kept = channel.clone();
        let verify = Box::new(move || {
            drop(kept);
            let sent = u128::from(self.producers)
                * (u128::from(self.iterations) * u128::from(self.iterations.saturating_sub(1)) / 2);
            let received = sums.iter().fold(0u64, |sum, one| sum.wrapping_add(one.0.load(Relaxed)));
            expect("sum of the items received", received, sent as u64)
        });
        Team::new(bodies, verify)
    }

    /// Sends the numbers from 0 on: a producer's part.
    ///
    /// # Safety
    /// The condition of [`Channel::send`].
    unsafe fn send<M: Machine, C: Channel<M>>(self, channel: &C, producer: u32, mut think: Think, wait: Wait) {
        let mut items = Vec::with_capacity(self.bulk);
        let lines = OwnedSlice::<M, _>::new(self.lines as usize, |_| Line::<M>(M::Atomic::new(0)));
        for item in 0..self.iterations {
            M::work(think.draw());
            // Relaxed: no other thread reads the lines.
            lines.iter().for_each(|line| line.0.store(item, Relaxed));
            items.push(item);
            if items.len() == self.bulk || item + 1 == self.iterations {
                // SAFETY: by contract.
                unsafe { channel.send(producer, &items, wait) };
                items.clear();
            }
        }
    }

    /// Receives a consumer's share, and adds the items up.
    ///
    /// # Safety
    /// The condition of [`Channel::receive`].
    unsafe fn receive<M: Machine, C: Channel<M>>(
        self,
        channel: &C,
        consumer: u32,
        items: u64,
        mut think: Think,
        wait: Wait,
    ) -> u64 {
        let (mut total, mut left, mut some) = (0u64, items, vec![0; self.bulk]);
        while left != 0 {
            some.truncate(left.min(self.bulk as u64) as usize);
            // SAFETY: by contract.
            unsafe { channel.receive(consumer, &mut some, wait) };
            for item in &some {
                total = total.wrapping_add(*item);
                M::work(think.draw());
            }
            left -= some.len() as u64;
        }
        total
    }
}

/// Makes the team of a [`Transport`] at a queue of the registry, or at a model.
#[derive(Clone, Copy)]
pub struct Queueing {
    queue: Way,
    transport: Transport,
}

/// The queue or model through which the items go.
#[derive(Clone, Copy)]
enum Way {
    Queue(&'static QueueInfo),
    Model(&'static ModelInfo),
}

impl Way {
    fn named(name: &str) -> Result<Way, Refused> {
        let queue = QUEUES.iter().find(|queue| queue.name == name).map(Way::Queue);
        let model = || MODELS.iter().find(|model| model.name == name).map(Way::Model);
        let known = || QUEUES.iter().map(|queue| queue.name).chain(MODELS.iter().map(|model| model.name));
        queue.or_else(model).ok_or_else(|| Refused::unknown("queue", name, known()))
    }

    fn name(self) -> &'static str {
        match self {
            Way::Queue(queue) => queue.name,
            Way::Model(model) => model.name,
        }
    }

    fn sides(self) -> (Side, Side) {
        match self {
            Way::Queue(queue) => (queue.producers, queue.consumers),
            Way::Model(model) => (model.producers, model.consumers),
        }
    }
}

struct Make(Transport, Wait);
impl<M: Machine> QueueVisitor<M> for Make {
    type Out = Result<Team, BadTransport>;
    fn visit<Q: RawQueue<M, Item = u64>>(self) -> Self::Out {
        self.0.team::<M, Q>(self.1)
    }
}

impl<M: Machine> ModelVisitor<M> for Make {
    type Out = Result<Team, BadTransport>;
    fn visit<C: Model<M>>(self) -> Self::Out {
        self.0.team_of_model::<M, C>(self.1)
    }
}

impl Workload for Queueing {
    const INFO: WorkloadInfo =
        WorkloadInfo { name: "ring", what: "Producers and consumers at a queue", figure: "cycles", has_locks: false };

    fn choose(knobs: &Knobs<'_>) -> Result<Queueing, Refused> {
        let (queue, threads) = (Way::named(knobs.queue)?, knobs.threads_or_two());
        if threads < 2 {
            return Err(Refused::because("a ring needs a producer and a consumer: at least 2 threads"));
        }
        let (producers, consumers) = match queue.sides() {
            (Side::Multi, Side::Multi) => (threads / 2, threads - threads / 2),
            (Side::Single, Side::Multi) => (1, threads - 1),
            (Side::Multi, Side::Single) => (threads - 1, 1),
            (Side::Single, Side::Single) if threads == 2 => (1, 1),
            (Side::Single, Side::Single) => {
                let sides = "is for one producer and one consumer";
                return Err(Refused::because(format!("queue `{}` {sides}: 2 threads, not {threads}", queue.name())));
            }
        };
        // A producer's number of items is made a multiple of the number of consumers, so that the
        // items can be shared out evenly.
        let (round, iterations) = (u64::from(consumers), knobs.iterations_or(1000));
        let iterations =
            if iterations == u64::MAX { u64::MAX / round * round } else { iterations.next_multiple_of(round) };
        let (think, spread, capacity, bulk) = (Cycles(knobs.think), knobs.spread, knobs.capacity, knobs.bulk.max(1));
        let transport =
            Transport { producers, consumers, capacity, think, spread, iterations, bulk, lines: knobs.lines };
        Ok(Queueing { queue, transport })
    }

    fn threads(&self) -> u32 {
        self.transport.producers + self.transport.consumers
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        let make = Make(self.transport, wait);
        let made = match self.queue {
            Way::Queue(info) => queue::visit::<M, _>(info.name, make).map_err(Refused::because)?,
            Way::Model(info) => models::visit::<M, _>(info.name, make)
                .ok_or_else(|| Refused::unknown("model", info.name, MODELS.iter().map(|model| model.name)))?,
        };
        made.map_err(|error| match error {
            BadTransport::Queue(name, QueueError::NoDevice)
                if matches!(self.queue, Way::Model(info) if info.device) =>
            {
                let refused = unmade(name, QueueError::NoDevice);
                Refused::because(format!("{refused}, and takes posted requests without device.qimu"))
            }
            BadTransport::Queue(name, error) => unmade(name, error),
            _ => Refused::because(error),
        })
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.queue.name())
    }

    fn charge(&self) -> Charge {
        let (one, bulk) = match self.queue {
            Way::Queue(queue) => (queue.counted, queue.counted_bulk),
            Way::Model(model) => (model.counted, model.counted_bulk),
        };
        Charge::of_items(one, bulk, self.transport.bulk)
    }
}
