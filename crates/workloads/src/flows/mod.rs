//! Packets of flows: producers draw the flow of each packet, workers take packets from a queue with
//! flows, and, if the queue is ordered, pass them on to a collector in the order in which they
//! came.
//!
//! The run is checked: each packet comes once. A worker of an atomic queue keeps, for each flow and
//! producer, the number of the last packet in memory that no lock guards, as the queue lets no two
//! threads have a flow: the numbers must rise. At the collector of an ordered queue they must rise
//! too.

mod beside;
mod draw;

pub use draw::FlowShares;

use crate::timing::{Figure, Spans};
use crate::{Body, Knobs, Probe, Refused, Shared, Team, Think, Workload, WorkloadInfo, expect, share};
use baton_machine::Ordering::SeqCst;
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Clock, Machine, OwnedSlice, Slot, Wait};
use baton_sync::flow::device::DeviceFlows;
use baton_sync::flow::soft::Soft;
use baton_sync::flow::{FLOW_QUEUES, FlowOrder, FlowQueue, InHand, Shape, device, soft};
use beside::{BESIDE, PLAIN, PLAIN_DEVICE, Plain, PlainDevice, REORDER, Reorder, SHARDED, Sharded};
use draw::Draw;
use std::sync::{Arc, Mutex, PoisonError};

/// The settings of the workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSettings {
    /// Number of threads that send.
    pub producers: u32,
    /// Number of threads that take packets.
    pub workers: u32,
    /// What the queue promises; its places; and its window.
    pub shape: Shape,
    /// Number of flows.
    pub flows: u32,
    /// Flow k, from 0, has a share of the packets as 1 / (k + 1) to this power.
    pub zipf: f64,
    /// Share of the packets that flow 0 has beyond that.
    pub elephant: f64,
    /// Mean number of cycles that a worker computes for a packet.
    pub think: Cycles,
    /// Largest deviation of a computation from `think`, as a share of `think`.
    pub spread: f64,
    /// Mean number of cycles that a producer computes before each packet.
    pub gap: u64,
    /// Number of packets that a producer sends.
    pub packets: u64,
    /// Seed of the packets' flows.
    pub seed: u64,
}

/// The word that tells a worker to leave.
const LEAVE: u64 = u64::MAX;
const TIME: u32 = 40;
const NUMBER: u32 = 18;

/// A packet as an item of a queue: its producer in 6 bits, its number among the producer's packets
/// in 18, the time at which it was sent in 40, in nanoseconds.
#[derive(Clone, Copy)]
struct Packet {
    producer: u32,
    number: u64,
    sent: u64,
}

impl Packet {
    fn word(self) -> u64 {
        u64::from(self.producer) << (TIME + NUMBER) | self.number << TIME | self.sent & ((1 << TIME) - 1)
    }

    fn of(word: u64) -> Packet {
        let number = word >> TIME & ((1 << NUMBER) - 1);
        Packet { producer: (word >> (TIME + NUMBER)) as u32, number, sent: word & ((1 << TIME) - 1) }
    }
}

/// A flow's state, alone in its lines: by producer, the number of the last packet, plus one.
#[repr(C, align(128))]
struct FlowState<M: Machine>(M::Slot<[u32; MOST_PRODUCERS]>);

const MOST_PRODUCERS: usize = 16;

// SAFETY: the queue gives a flow to one thread at a time, which alone uses its state.
unsafe impl<M: Machine> Sync for FlowState<M> {}
// SAFETY: as above; the state is plain words.
unsafe impl<M: Machine> Send for FlowState<M> {}

/// A thread's counter, alone in its lines.
#[repr(C, align(128))]
struct Counter<M: Machine>(M::Atomic<u64>);

/// What the threads share in the machine's memory.
struct Memory<M: Machine> {
    flows: OwnedSlice<M, FlowState<M>>,
    /// Packets that each worker has done.
    done: OwnedSlice<M, Counter<M>>,
    /// Number of producers that have sent all their packets.
    through: Counter<M>,
    /// Whether the workers were told to leave.
    told: Counter<M>,
}

/// What a thread saw: packets, those out of order, and each packet's flow and time in nanoseconds.
#[derive(Default)]
struct Seen {
    packets: u64,
    disordered: u64,
    times: Vec<(u16, u64)>,
}

impl Seen {
    fn note<M: Machine>(&mut self, packet: Packet, flow: u16) {
        let now = M::now(Clock::Monotonic).0 & ((1 << TIME) - 1);
        self.packets += 1;
        self.times.push((flow, now.wrapping_sub(packet.sent) & ((1 << TIME) - 1)));
    }
}

/// One run's queues and memory.
struct FlowRun<M: Machine, Q: FlowQueue<M>> {
    settings: FlowSettings,
    shares: Arc<FlowShares>,
    queue: Shared<M, Q>,
    /// The collector's queue, if the queue is ordered.
    to: Option<Shared<M, Q>>,
    memory: Shared<M, Memory<M>>,
    wait: Wait,
}

impl<M: Machine, Q: FlowQueue<M>> Clone for FlowRun<M, Q> {
    fn clone(&self) -> Self {
        let (queue, to, memory) = (self.queue.clone(), self.to.clone(), self.memory.clone());
        FlowRun { settings: self.settings, shares: self.shares.clone(), queue, to, memory, wait: self.wait }
    }
}

impl<M: Machine, Q: FlowQueue<M>> FlowRun<M, Q> {
    fn new(settings: FlowSettings, wait: Wait) -> Result<Self, Refused> {
        let shares = Arc::new(FlowShares::new(settings.flows, settings.zipf, settings.elephant)?);
        let new = |shape, to: &[_]| Q::new(shape, to).map(share::<M, Q>).map_err(Refused::because);
        let collects = settings.shape.order == FlowOrder::Ordered;
        let to = Shape { order: FlowOrder::Directed, ..settings.shape };
        let to = if collects { Some(new(to, &[])?) } else { None };
        let queue = new(settings.shape, to.as_slice())?;
        let counter = |_| Counter(M::Atomic::new(0));
        let state = |_| FlowState(M::Slot::new([0; MOST_PRODUCERS]));
        let memory = Memory {
            flows: OwnedSlice::new(settings.flows as usize, state),
            done: OwnedSlice::new(settings.workers as usize, counter),
            through: counter(0),
            told: counter(0),
        };
        Ok(FlowRun { settings, shares, queue, to, memory: share::<M, _>(memory), wait })
    }

    fn total(&self) -> u64 {
        self.settings.packets * u64::from(self.settings.producers)
    }

    fn produce(&self, producer: u32) {
        let mut draw = Draw::new(&self.shares, self.settings.seed, producer);
        let mut gap = Think::new(Cycles(self.settings.gap), self.settings.spread, u64::from(producer));
        for number in 0..self.settings.packets {
            M::work(gap.draw());
            let sent = M::now(Clock::Monotonic).0;
            self.queue.send(Packet { producer, number, sent }.word(), draw.flow(), self.wait);
        }
        // SeqCst: see `leave_if_done`.
        self.memory.through.0.fetch_add(1, SeqCst);
        if self.to.is_none() {
            self.leave_if_done(None);
        }
    }

    /// The calling thread receives from a queue.
    fn bind(&self, queue: &Q) {
        if let Err(why) = queue.bind() {
            panic!("{why}");
        }
    }

    fn work(&self, worker: u32) -> Seen {
        self.bind(&self.queue);
        let FlowSettings { think, spread, producers, shape, .. } = self.settings;
        let (mut think, mut seen) = (Think::new(think, spread, u64::from(producers + worker)), Seen::default());
        loop {
            let item = self.queue.receive(worker, self.wait);
            if item.word == LEAVE {
                // SAFETY: (here and below) the item came from the queue.
                unsafe { self.queue.complete(item, self.wait) };
                return seen;
            }
            let packet = Packet::of(item.word);
            if shape.order == FlowOrder::Atomic {
                self.note_number(packet, &item, &mut seen);
            }
            M::work(think.draw());
            if self.to.is_some() {
                let word = item.word;
                // SAFETY: as above.
                unsafe { self.queue.pass_on(item, 0, word, self.wait) };
                continue;
            }
            seen.note::<M>(packet, item.flow);
            // SAFETY: as above.
            unsafe { self.queue.complete(item, self.wait) };
            let done = &self.memory.done[worker as usize].0;
            // SeqCst: see `leave_if_done`.
            done.store(seen.packets, SeqCst);
            if self.leave_if_done(Some(worker)) {
                return seen;
            }
        }
    }

    /// Compares the packet's number with that of the last packet of its flow and producer, and
    /// writes it in place of that.
    fn note_number(&self, packet: Packet, item: &InHand, seen: &mut Seen) {
        let state = &self.memory.flows[usize::from(item.flow)].0;
        let producer = packet.producer as usize;
        // SAFETY: an atomic queue gives a flow to one thread at a time.
        unsafe {
            let before = state.read(|state| (*state)[producer]);
            seen.disordered += u64::from(u64::from(before) > packet.number);
            state.write(|state| (*state)[producer] = packet.number as u32 + 1);
        }
    }

    /// If all packets are done, tells the other workers to leave. Returns whether this thread has
    /// told them. The counts are sequentially consistent: of the threads that call this after a
    /// change of their count (a worker's packets, the producers that are through), the last one
    /// sees all changes.
    fn leave_if_done(&self, worker: Option<u32>) -> bool {
        if self.memory.through.0.load(SeqCst) < u64::from(self.settings.producers) {
            return false;
        }
        let done: u64 = self.memory.done.iter().map(|done| done.0.load(SeqCst)).sum();
        let all = done == self.total() && self.memory.told.0.swap(1, SeqCst) == 0;
        if all {
            let others = (0..self.settings.workers).filter(|&other| Some(other) != worker);
            others.for_each(|other| self.queue.send(LEAVE, other as u16, self.wait));
        }
        all
    }

    /// Takes what an ordered queue sends on, and tells the workers to leave.
    fn collect(&self, to: &Q) -> Seen {
        self.bind(to);
        let mut seen = Seen::default();
        let mut last = vec![[0; MOST_PRODUCERS]; self.settings.flows as usize];
        for _ in 0..self.total() {
            let item = to.receive(0, self.wait);
            let packet = Packet::of(item.word);
            let before = &mut last[usize::from(item.flow)][packet.producer as usize];
            seen.disordered += u64::from(*before > packet.number);
            *before = packet.number + 1;
            seen.note::<M>(packet, item.flow);
            // SAFETY: the item came from the queue.
            unsafe { to.complete(item, self.wait) };
        }
        (0..self.settings.workers).for_each(|worker| self.queue.send(LEAVE, worker as u16, self.wait));
        seen
    }
}

/// The value below which this share of the sorted times lies.
fn percentile(times: &[u64], share: f64) -> f64 {
    let at = (share * times.len() as f64).ceil() as usize;
    times.get(at.clamp(1, times.len().max(1)) - 1).map_or(0.0, |&time| time as f64)
}

/// Jain's index of the flows' mean times: 1 if they are all the same, 1/n if one flow alone waits.
fn jain(times: &[(u16, u64)]) -> f64 {
    let mut flows = std::collections::BTreeMap::new();
    for &(flow, time) in times {
        let (count, sum) = flows.entry(flow).or_insert((0u64, 0u64));
        (*count, *sum) = (*count + 1, *sum + time);
    }
    let means: Vec<f64> = flows.values().map(|&(count, sum)| sum as f64 / count as f64).collect();
    let (sum, squares): (f64, f64) = (means.iter().sum(), means.iter().map(|mean| mean * mean).sum());
    if squares == 0.0 { 1.0 } else { sum * sum / (means.len() as f64 * squares) }
}

impl FlowSettings {
    /// The threads, producers first, then workers, then the collector, at a queue of type `Q`.
    ///
    /// # Errors
    /// The queue cannot be made.
    pub fn team<M: Machine, Q: FlowQueue<M>>(self, wait: Wait) -> Result<Team, Refused> {
        let run = FlowRun::<M, Q>::new(self, wait)?;
        let (spans, all) = (
            Spans::<M>::new(self.producers + self.workers + u32::from(run.to.is_some())),
            Arc::new(Mutex::new(Seen::default())),
        );
        let mut bodies: Vec<Body> = Vec::new();
        let mut add = |thread: u32, body: Box<dyn FnOnce() -> Seen + Send>| {
            let (spans, all) = (spans.clone(), all.clone());
            bodies.push(Box::new(move || {
                let mut mine = Seen::default();
                spans.time(thread, || mine = body());
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.packets += mine.packets;
                all.disordered += mine.disordered;
                all.times.extend(mine.times);
            }));
        };
        for producer in 0..self.producers {
            let run = run.clone();
            add(
                producer,
                Box::new(move || {
                    run.produce(producer);
                    Seen::default()
                }),
            );
        }
        for worker in 0..self.workers {
            let run = run.clone();
            add(self.producers + worker, Box::new(move || run.work(worker)));
        }
        if let Some(to) = run.to.clone() {
            let run = run.clone();
            add(self.producers + self.workers, Box::new(move || run.collect(&to)));
        }
        let (total, seen) = (run.total(), all.clone());
        // A queue in a device is freed by a system call, which is no part of the run, so the check
        // keeps the queues until the run is over.
        let verify = move || {
            drop(run);
            let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            expect("packets that came", seen.packets, total)?;
            expect("packets out of their flow's order", seen.disordered, 0)
        };
        let figures = move || {
            let seen = all.lock().unwrap_or_else(PoisonError::into_inner);
            let mut times: Vec<u64> = seen.times.iter().map(|(_, time)| *time).collect();
            times.sort_unstable();
            let figure = |name, value| Figure { name, value };
            vec![
                figure("nanoseconds_an_item", spans.whole().0 as f64 / total.max(1) as f64),
                figure("median_nanoseconds", percentile(&times, 0.5)),
                figure("p99_nanoseconds", percentile(&times, 0.99)),
                figure("p999_nanoseconds", percentile(&times, 0.999)),
                figure("fairness_of_flows", jain(&seen.times)),
            ]
        };
        Ok(Team { bodies, verify: Box::new(verify), figures: Box::new(figures) })
    }
}

/// The name of the queue with flows that was chosen, and its shape.
///
/// # Errors
/// No queue with flows has this name.
pub fn shape(knobs: &Knobs<'_>) -> Result<(&'static str, Shape), Refused> {
    let unknown = || Refused::unknown("queue with flows", knobs.queue, FLOW_QUEUES.into_iter());
    let queue = FLOW_QUEUES.into_iter().find(|queue| *queue == knobs.queue).ok_or_else(unknown)?;
    let order = knobs.inputs.kind.unwrap_or(FlowOrder::Parallel);
    Ok((queue, Shape { order, capacity: knobs.capacity, window: knobs.inputs.window }))
}

/// Whether a workload that also runs on other queues is to run on a queue with flows: the queue is
/// one that has nothing else, or a kind is asked for.
pub fn chosen(knobs: &Knobs<'_>) -> bool {
    knobs.queue == soft::NAME || knobs.inputs.kind.is_some()
}

/// The queue that was chosen, as by [`shape`], or a queue of [`beside`].
///
/// # Errors
/// No queue has this name, or the queue has another kind.
fn any_shape(knobs: &Knobs<'_>) -> Result<(&'static str, Shape), Refused> {
    let Some((queue, order)) = BESIDE.into_iter().find(|(queue, _)| *queue == knobs.queue) else {
        return shape(knobs).map_err(|_| {
            let names = FLOW_QUEUES.into_iter().chain(BESIDE.map(|(queue, _)| queue));
            Refused::unknown("queue with flows", knobs.queue, names)
        });
    };
    if knobs.inputs.kind.unwrap_or(FlowOrder::Parallel) != order {
        let kind = format!("{order:?}").to_lowercase();
        return Err(Refused::because(format!("--queue {queue} has one kind only; expected --kind {kind}")));
    }
    Ok((queue, Shape { order, capacity: knobs.capacity, window: knobs.inputs.window }))
}

/// Makes the team of [`FlowSettings`] at a queue by its name.
#[derive(Clone, Copy)]
pub struct Flows {
    queue: &'static str,
    settings: FlowSettings,
}

impl Workload for Flows {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "flows",
        what: "Producers send packets of flows, workers take them: atomic, ordered, parallel",
        figure: "measured.cycles_an_item",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Flows, Refused> {
        let (queue, shape) = any_shape(knobs)?;
        let (inputs, threads) = (&knobs.inputs, knobs.threads.unwrap_or(4));
        if threads < 3 {
            return Err(Refused::because("flows needs a producer, a worker and a collector: at least 3 threads"));
        }
        let producers = ((threads - 1) / 4).clamp(1, MOST_PRODUCERS as u32);
        let collectors = u32::from(shape.order == FlowOrder::Ordered);
        let packets = knobs.iterations_or(1000);
        if packets >= 1 << NUMBER {
            let most = (1 << NUMBER) - 1;
            return Err(Refused::because(format!("{packets} packets a producer; expected up to {most}")));
        }
        let settings = FlowSettings {
            producers,
            workers: threads - producers - collectors,
            shape,
            flows: inputs.flows,
            zipf: inputs.zipf,
            elephant: inputs.elephant,
            think: Cycles(knobs.think),
            spread: knobs.spread,
            gap: inputs.gap,
            packets,
            seed: knobs.seed,
        };
        Ok(Flows { queue, settings })
    }

    fn threads(&self) -> u32 {
        let FlowSettings { producers, workers, shape, .. } = self.settings;
        producers + workers + u32::from(shape.order == FlowOrder::Ordered)
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        let settings = self.settings;
        match self.queue {
            device::NAME => settings.team::<M, DeviceFlows<M>>(wait),
            PLAIN => settings.team::<M, Plain<M>>(wait),
            PLAIN_DEVICE => settings.team::<M, PlainDevice<M>>(wait),
            SHARDED => {
                // The window is the number of rings: one for each worker.
                let shape = Shape { window: settings.workers as u16, ..settings.shape };
                FlowSettings { shape, ..settings }.team::<M, Sharded<M>>(wait)
            }
            REORDER => settings.team::<M, Reorder<M>>(wait),
            _ => {
                debug_assert_eq!(self.queue, soft::NAME);
                settings.team::<M, Soft<M>>(wait)
            }
        }
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.queue)
    }
}
