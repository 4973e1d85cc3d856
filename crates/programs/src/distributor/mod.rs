//! A job distributor (CAF: Wang and others, PACT 2016, sections 3.5 and 4.5): a producer hands jobs
//! to workers. In that paper's software form each worker has a slot for one job, and the producer
//! goes round the slots; in CAF's form each worker has a queue in the device, whose load balancer
//! chooses the queue.

mod flows;
mod hands;
mod named;

pub use named::Distributor;

use baton_machine::queues::{QueueId, QueueRequest};
use baton_machine::units::Cycles;
use baton_machine::{Atomic, Machine, Wait};
use baton_sync::queue::{RawQueue, Side};
use baton_workloads::inputs::Dispatch;
use baton_workloads::requests::{DeviceQueues, unmade};
use baton_workloads::timing::{Figure, Spans};
use baton_workloads::work::{Judge, Measured, Work, mix};
use baton_workloads::{Body, Refused, expect, share};
use hands::{Balanced, Hand, Queues, Slot, Slots};
use std::sync::{Arc, Mutex, PoisonError};

/// The settings of the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistributorSettings {
    /// Number of threads that work; four in CAF's paper.
    pub workers: u32,
    /// Number of jobs.
    pub jobs: u64,
    /// Mean number of cycles that a job computes; CAF's paper executes nops instead.
    pub think: Cycles,
    /// Largest deviation of a job from `think`, as a share of `think`. CAF's paper does not state
    /// it.
    pub spread: f64,
    /// Places of each queue, a power of two. A slot has one place.
    pub capacity: usize,
    /// How jobs are handed out.
    pub dispatch: Dispatch,
}

impl Default for DistributorSettings {
    fn default() -> Self {
        let dispatch = Dispatch::Slots;
        DistributorSettings { workers: 4, jobs: 1000, think: Cycles(0), spread: 0.0, capacity: 64, dispatch }
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Number of jobs that each worker did.
    pub by_worker: Vec<u64>,
    /// A digest of the jobs that were done.
    pub digest: u64,
    /// Nanoseconds from the first beginning to the end of the slowest thread.
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

/// The jobs that each worker did, and the sum of their digests.
type Total = (Vec<u64>, u64);

impl DistributorSettings {
    /// The threads: the producer, then the workers. With [`Dispatch::Shared`] and
    /// [`Dispatch::Dealt`] jobs go through queues of the type `Q`. The result is an error if a job
    /// was not done, or was done twice.
    ///
    /// # Errors
    /// Fails if a setting has a value that the program cannot have.
    pub fn work<M: Machine, Q: RawQueue<M, Item = u64>>(&self, wait: Wait) -> Result<Work<Outcome>, Refused> {
        self.check_workers()?;
        if self.dispatch == Dispatch::Shared && Q::INFO.consumers == Side::Single && self.workers > 1 {
            let (queue, workers) = (Q::INFO.name, self.workers);
            return Err(Refused::because(format!(
                "queue `{queue}` is for one consumer, and {workers} workers share it"
            )));
        }
        if self.dispatch == Dispatch::Steal {
            return Err(Refused::because(
                "a producer's jobs are stolen from no worker; expected slots, shared, dealt or balanced",
            ));
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
            // `Steal` was refused above.
            Dispatch::Dealt | Dispatch::Steal => Arc::new(Queues::<M, Q>(made(self.workers)?, wait)),
            Dispatch::Balanced => {
                let queues = DeviceQueues::<M>::new(self.workers, self.capacity)?;
                let group = queues.call(QueueRequest::Balance { first: queues.queue(0), count: self.workers })?;
                Arc::new(Balanced { group: QueueId(group as u32), queues })
            }
        };
        Ok(self.bodies::<M>(hand))
    }

    fn check_workers(&self) -> Result<(), Refused> {
        match self.workers {
            1..=4095 => Ok(()),
            workers => Err(Refused::because(format!("{workers} workers; expected 1 to 4095"))),
        }
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

    /// Cycles of a job, which are the same whichever worker does it.
    fn length(&self, word: u64) -> Cycles {
        let unit = (mix(1, word) >> 11) as f64 / (1u64 << 53) as f64;
        Cycles((self.think.0 as f64 * (1.0 + self.spread * (2.0 * unit - 1.0))).round() as u64)
    }

    fn judge<M: Machine>(self, hand: Arc<dyn Hand>, spans: Spans<M>, total: Arc<Mutex<Total>>) -> Judge<Outcome> {
        Box::new(move || {
            let order = hand.check();
            // A queue in a device is given back by a system call, which is no part of the run.
            drop(hand);
            let (by_worker, digest) = total.lock().unwrap_or_else(PoisonError::into_inner).clone();
            expect("jobs that were done", by_worker.iter().sum(), self.jobs)?;
            let plain = (1..=self.jobs).map(|word| mix(0, word)).fold(0, u64::wrapping_add);
            expect("the digest of the jobs", digest, plain)?;
            order?;
            Ok(Outcome { by_worker, digest, nanoseconds: spans.whole().0 })
        })
    }
}
