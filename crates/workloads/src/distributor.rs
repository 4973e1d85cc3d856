//! A job distributor (paper 4, sections 3.5 and 4.5): a producer hands jobs to workers. In the paper's software form each worker has
//! a slot for one job, and the producer goes round; in CAF's form each has a queue in the device, whose load balancer chooses.

use crate::inputs::Dispatch;
use crate::requests::{DeviceQueues, unmade};
use crate::timing::{Figure, Spans};
use crate::work::{Judge, Measured, Work, mix};
use crate::{Body, Charge, Knobs, Probe, Refused, Shared, Team, Workload, WorkloadInfo, expect, share};
use baton_machine::Ordering::{Acquire, Release};
use baton_machine::queues::{QueueId, QueueRequest};
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Wait};
use baton_sync::queue::{self, QueueInfo, QueueVisitor, RawQueue, Side};
use std::sync::{Arc, Mutex, PoisonError};

/// The settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Threads that work. Paper 4: four.
    pub workers: u32,
    /// Jobs in all.
    pub jobs: u64,
    /// Cycles that a job takes: the paper's nops.
    pub think: Cycles,
    /// How far a job lies from it: within this share. [U] in the paper.
    pub spread: f64,
    /// Places of each queue, a power of two. A slot has one.
    pub capacity: usize,
    /// How jobs are handed out.
    pub dispatch: Dispatch,
}

impl Default for Settings {
    fn default() -> Self {
        let dispatch = Dispatch::Slots;
        Settings { workers: 4, jobs: 1000, think: Cycles(0), spread: 0.0, capacity: 64, dispatch }
    }
}

/// What came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Jobs that each worker did.
    pub by_worker: Vec<u64>,
    /// A digest of the jobs that were done.
    pub digest: u64,
    /// From the first beginning to the end of the slowest thread.
    pub nanoseconds: u64,
}

impl Measured for Outcome {
    fn figures(&self) -> Vec<Figure> {
        let jobs: u64 = self.by_worker.iter().sum();
        let most = self.by_worker.iter().max().copied().unwrap_or(0) as f64;
        let even = jobs.max(1) as f64 / self.by_worker.len().max(1) as f64;
        let each = self.nanoseconds as f64 / jobs.max(1) as f64;
        [("nanoseconds_a_job", each), ("busiest_worker", most / even)]
            .map(|(name, value)| Figure { name, value })
            .into()
    }
}

/// The word that says that no more jobs come. A job's word is its number, plus 1: 0 is an idle slot.
const LAST: u64 = u64::MAX;

/// A worker's slot, on a pair of lines of its own.
#[repr(C, align(128))]
struct Slot<M: Machine>(M::Atomic<u64>);

/// What hands out jobs.
trait Hand: Send + Sync + 'static {
    /// Hands out the jobs, and then says to each worker that no more come.
    fn produce(&self, settings: &Settings);
    /// Has a worker do jobs until no more come.
    fn work(&self, worker: u32, work: &mut dyn FnMut(u64));
}

struct Slots<M: Machine>(Vec<Shared<M, Slot<M>>>, Wait);

impl<M: Machine> Slots<M> {
    fn put(&self, worker: usize, word: u64) {
        let slot: *const M::Atomic<u64> = &self.0[worker].0;
        // Release: the worker sees what the producer wrote for the job.
        self.0[worker].0.store(word, Release);
        M::wake::<u64>(slot, 1, self.1);
    }

    fn is_idle(&self, worker: usize) -> bool {
        // Acquire: what the worker has done for its last job is over.
        self.0[worker].0.load(Acquire) == 0
    }
}

impl<M: Machine> Hand for Slots<M> {
    fn produce(&self, settings: &Settings) {
        let (workers, mut turn) = (self.0.len(), 0);
        for job in 1..=settings.jobs {
            let idle = loop {
                match (0..workers).map(|step| (turn + step) % workers).find(|&worker| self.is_idle(worker)) {
                    Some(worker) => break worker,
                    None => M::relax(),
                }
            };
            self.put(idle, job);
            turn = (idle + 1) % workers;
        }
        for worker in 0..workers {
            while !self.is_idle(worker) {
                M::relax();
            }
            self.put(worker, LAST);
        }
    }

    fn work(&self, worker: u32, work: &mut dyn FnMut(u64)) {
        let slot = &self.0[worker as usize].0;
        loop {
            let _ = M::wait_while(slot, 0, self.1, None);
            // Acquire: pairs with the producer's Release.
            match slot.load(Acquire) {
                LAST => return,
                job => work(job),
            }
            slot.store(0, Release);
        }
    }
}

/// Queues of the library: one for all workers, or one each.
struct Queues<M: Machine, Q: RawQueue<M, Item = u64>>(Vec<Shared<M, Q>>, Wait);

impl<M: Machine, Q: RawQueue<M, Item = u64>> Queues<M, Q> {
    fn put(&self, turn: u64, word: u64) {
        let queue = &self.0[(turn % self.0.len() as u64) as usize];
        // SAFETY: the producer alone enqueues.
        unsafe { queue.enqueue(word, self.1) };
    }
}

impl<M: Machine, Q: RawQueue<M, Item = u64>> Hand for Queues<M, Q> {
    fn produce(&self, settings: &Settings) {
        for job in 1..=settings.jobs {
            self.put(job - 1, job);
        }
        (0..u64::from(settings.workers)).for_each(|worker| self.put(worker, LAST));
    }

    fn work(&self, worker: u32, work: &mut dyn FnMut(u64)) {
        let queue = &self.0[worker as usize % self.0.len()];
        loop {
            // SAFETY: several workers are at one queue only where it is for many; `Settings::work` sees to that.
            match unsafe { queue.dequeue(self.1) } {
                LAST => return,
                job => work(job),
            }
        }
    }
}

/// Queues of a device, among which it balances.
struct Balanced<M: Machine> {
    group: QueueId,
    queues: DeviceQueues<M>,
}

impl<M: Machine> Hand for Balanced<M> {
    fn produce(&self, settings: &Settings) {
        let mut outbox = self.queues.outbox();
        for job in 1..=settings.jobs {
            outbox.send(self.group, job);
        }
        // A job that the device has dropped comes again: before its worker hears that no more come.
        outbox.flush();
        (0..settings.workers).for_each(|worker| outbox.send(self.queues.queue(worker), LAST));
        outbox.flush();
    }

    fn work(&self, worker: u32, work: &mut dyn FnMut(u64)) {
        loop {
            match self.queues.take(self.queues.queue(worker)) {
                LAST => return,
                job => work(job),
            }
        }
    }
}

impl<M: Machine> Drop for Balanced<M> {
    fn drop(&mut self) {
        // One that outlives its machine went with it.
        if M::queues(0).is_some() {
            let released = self.queues.call(QueueRequest::Release(self.group));
            debug_assert!(released.is_ok(), "{released:?}");
        }
    }
}

/// Jobs that each worker did, and the sum of their digests.
type Total = (Vec<u64>, u64);

impl Settings {
    /// The threads: the producer, then the workers. With [`Dispatch::Shared`] and [`Dispatch::Dealt`] jobs go through queues of the
    /// type `Q`. The result fails if a job was not done, or was done twice.
    ///
    /// # Errors
    /// What cannot be.
    pub fn work<M: Machine, Q: RawQueue<M, Item = u64>>(&self, wait: Wait) -> Result<Work<Outcome>, Refused> {
        if !(1..=4095).contains(&self.workers) {
            return Err(Refused::because(format!("{} workers; expected 1 to 4095", self.workers)));
        }
        if self.dispatch == Dispatch::Shared && Q::INFO.consumers == Side::Single && self.workers > 1 {
            let (queue, workers) = (Q::INFO.name, self.workers);
            return Err(Refused::because(format!(
                "queue `{queue}` is for one consumer, and {workers} workers share it"
            )));
        }
        let made = |count| {
            let queue = |_| Q::with_capacity(self.capacity).map(share::<M, Q>);
            let all = (0..count).map(queue).collect::<Result<Vec<_>, _>>();
            all.map_err(|error| unmade(Q::INFO.name, error))
        };
        let hand: Arc<dyn Hand> = match self.dispatch {
            Dispatch::Slots => {
                let slots = (0..self.workers).map(|_| share::<M, _>(Slot::<M>(M::Atomic::new(0)))).collect();
                Arc::new(Slots::<M>(slots, wait))
            }
            Dispatch::Shared => Arc::new(Queues::<M, Q>(made(1)?, wait)),
            Dispatch::Dealt => Arc::new(Queues::<M, Q>(made(self.workers)?, wait)),
            Dispatch::Balanced => {
                let queues = DeviceQueues::<M>::new(self.workers, self.capacity)?;
                let group = queues.call(QueueRequest::Balance { first: queues.queue(0), count: self.workers })?;
                Arc::new(Balanced { group: QueueId(group as u32), queues })
            }
        };
        Ok(self.bodies::<M>(hand))
    }

    fn bodies<M: Machine>(&self, hand: Arc<dyn Hand>) -> Work<Outcome> {
        let (settings, spans) = (*self, Spans::<M>::new(self.workers + 1));
        let total: Arc<Mutex<Total>> = Arc::new(Mutex::new((vec![0; self.workers as usize], 0)));
        let mut bodies: Vec<Body> = Vec::new();
        let (mine, timed) = (hand.clone(), spans.clone());
        bodies.push(Box::new(move || timed.time(0, || mine.produce(&settings))));
        for worker in 0..self.workers {
            let (hand, spans, total) = (hand.clone(), spans.clone(), total.clone());
            bodies.push(Box::new(move || {
                let (mut done, mut digest) = (0, 0u64);
                let mut one = |word: u64| {
                    M::work(settings.length(word));
                    done += 1;
                    digest = digest.wrapping_add(mix(0, word));
                };
                spans.time(1 + worker, || hand.work(worker, &mut one));
                let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                total.0[worker as usize] = done;
                total.1 = total.1.wrapping_add(digest);
            }));
        }
        Work { bodies, result: settings.judge(hand, spans, total) }
    }

    /// How long a job takes: the same whoever does it.
    fn length(&self, word: u64) -> Cycles {
        let unit = (mix(1, word) >> 11) as f64 / (1u64 << 53) as f64;
        Cycles((self.think.0 as f64 * (1.0 + self.spread * (2.0 * unit - 1.0))).round() as u64)
    }

    fn judge<M: Machine>(self, hand: Arc<dyn Hand>, spans: Spans<M>, total: Arc<Mutex<Total>>) -> Judge<Outcome> {
        Box::new(move || {
            // What lies in a device is given back by a system call: that is no part of the run.
            drop(hand);
            let (by_worker, digest) = total.lock().unwrap_or_else(PoisonError::into_inner).clone();
            expect("jobs that were done", by_worker.iter().sum(), self.jobs)?;
            let plain = (1..=self.jobs).map(|word| mix(0, word)).fold(0, u64::wrapping_add);
            expect("the digest of the jobs", digest, plain)?;
            Ok(Outcome { by_worker, digest, nanoseconds: spans.whole().0 })
        })
    }
}

/// The distributor at a queue of the registry.
#[derive(Clone, Copy)]
pub struct Distributor {
    queue: &'static QueueInfo,
    settings: Settings,
}

struct Make(Settings, Wait);
impl<M: Machine> QueueVisitor<M> for Make {
    type Out = Result<Work<Outcome>, Refused>;
    fn visit<Q: RawQueue<M, Item = u64>>(self) -> Self::Out {
        self.0.work::<M, Q>(self.1)
    }
}

impl Workload for Distributor {
    const INFO: WorkloadInfo = WorkloadInfo {
        name: "distributor",
        what: "A producer hands jobs to workers: by a slot each, by queues, or by a queue device that balances",
        figure: "measured.cycles_a_job",
        has_locks: false,
    };

    fn choose(knobs: &Knobs<'_>) -> Result<Distributor, Refused> {
        let (queue, threads) = (knobs.queue()?, knobs.threads.unwrap_or(5));
        if threads < 2 {
            return Err(Refused::because("a distributor needs a producer and a worker: at least 2 threads"));
        }
        let usual = if queue.device { Dispatch::Balanced } else { Dispatch::Slots };
        let dispatch = knobs.inputs.dispatch.unwrap_or(usual);
        let (think, spread) = (Cycles(knobs.think), knobs.spread);
        let (jobs, capacity) = (knobs.iterations_or(1000).min(LAST - 1), knobs.capacity);
        Ok(Distributor { queue, settings: Settings { workers: threads - 1, jobs, think, spread, capacity, dispatch } })
    }

    fn threads(&self) -> u32 {
        self.settings.workers + 1
    }

    fn team<M: Machine, P: Probe>(&self, wait: Wait, _: P) -> Result<Team, Refused> {
        let work = queue::visit::<M, _>(self.queue.name, Make(self.settings, wait)).map_err(Refused::because)??;
        Ok(work.into_team().0)
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(match self.settings.dispatch {
            Dispatch::Slots | Dispatch::Balanced => self.settings.dispatch.name(),
            Dispatch::Shared | Dispatch::Dealt => self.queue.name,
        })
    }

    fn charge(&self) -> Charge {
        match self.settings.dispatch {
            Dispatch::Slots => Charge::Typical,
            _ => Charge::Counted(self.queue.counted),
        }
    }
}
