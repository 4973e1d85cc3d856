//! Jobs in a queue with flows: job k is packet k of the traffic, and has its flow.
//!
//! The workers of an atomic queue write the number of each flow's last job in a table without a
//! lock, as no two of them have jobs of one flow: the numbers must rise.

use super::hands::{Hand, LAST};
use super::{DistributorSettings, Outcome};
use crate::packets::{FLOWS, Traffic};
use crate::places::Places;
use baton_machine::Ordering::{Relaxed, SeqCst};
use baton_machine::{Atomic, Machine, OwnedSlice, Wait};
use baton_sync::flow::{FlowOrder, FlowQueue, Shape};
use baton_workloads::work::Work;
use baton_workloads::{Refused, Shared, expect, share};
use std::sync::Arc;

/// A counter, alone in its lines.
#[repr(C, align(128))]
struct Counter<M: Machine>(M::Atomic<u64>);

struct Flows<M: Machine, F: FlowQueue<M>> {
    queue: Shared<M, F>,
    traffic: Traffic,
    /// The number of each flow's last job, if the queue is atomic.
    last: Option<Places<M, u64>>,
    /// Jobs that each worker has done.
    done: OwnedSlice<M, Counter<M>>,
    /// Number of jobs, once all were sent; 0 before.
    sent: Shared<M, Counter<M>>,
    /// Whether the workers were told to leave.
    told: Shared<M, Counter<M>>,
    /// Number of jobs that came behind a later job of their flow.
    late: Shared<M, Counter<M>>,
    wait: Wait,
}

impl DistributorSettings {
    /// The threads, as those of [`DistributorSettings::work`], at a queue with flows of the type `F`
    /// of this shape.
    ///
    /// # Errors
    /// Fails if a setting has a value that the program cannot have.
    pub fn on_flows<M: Machine, F: FlowQueue<M>>(
        &self,
        traffic: &Traffic,
        shape: Shape,
        wait: Wait,
    ) -> Result<Work<Outcome>, Refused> {
        self.check_workers()?;
        match shape.order {
            FlowOrder::Ordered => {
                let why = "workers pass no jobs on, so that an ordered queue has nothing to order";
                return Err(Refused::because(format!("{why}; expected directed, parallel or atomic")));
            }
            FlowOrder::Directed if self.workers != 1 => {
                return Err(Refused::because(format!("{} workers; a directed queue has one consumer", self.workers)));
            }
            FlowOrder::Directed | FlowOrder::Parallel | FlowOrder::Atomic => {}
        }
        let queue = F::new(shape, &[]).map(share::<M, F>).map_err(Refused::because)?;
        let counter = |_| Counter(M::Atomic::new(0));
        let table = || Places::new(FLOWS, |_| 0);
        Ok(self.bodies::<M>(Arc::new(Flows::<M, F> {
            queue,
            traffic: traffic.clone(),
            last: (shape.order == FlowOrder::Atomic).then(table),
            done: OwnedSlice::new(self.workers as usize, counter),
            sent: share::<M, _>(counter(0)),
            told: share::<M, _>(counter(0)),
            late: share::<M, _>(counter(0)),
            wait,
        })))
    }
}

impl<M: Machine, F: FlowQueue<M>> Flows<M, F> {
    /// If all jobs are done, tells the other workers to leave. Returns whether this thread has told
    /// them. The counts are sequentially consistent: of the threads that call this after a change of
    /// their count, the last one sees all changes.
    fn leave_if_done(&self, worker: Option<usize>) -> bool {
        let sent = self.sent.0.load(SeqCst);
        let all = sent != 0
            && self.done.iter().map(|done| done.0.load(SeqCst)).sum::<u64>() == sent
            && self.told.0.swap(1, SeqCst) == 0;
        if all {
            let others = (0..self.done.len()).filter(|&other| Some(other) != worker);
            others.for_each(|other| self.queue.send(LAST, other as u16, self.wait));
        }
        all
    }

    /// Compares a job with the last job of its flow, and writes its number in place of that.
    fn note(&self, flow: u16, job: u64) {
        let Some(last) = &self.last else { return };
        let flow = usize::from(flow);
        // SAFETY: an atomic queue gives a flow to one thread at a time.
        unsafe {
            if last.get(flow) >= job {
                // Relaxed: read after the run.
                self.late.0.fetch_add(1, Relaxed);
            }
            last.set(flow, job);
        }
    }
}

impl<M: Machine, F: FlowQueue<M>> Hand for Flows<M, F> {
    fn produce(&self, settings: &DistributorSettings) {
        for job in 1..=settings.jobs {
            self.queue.send(job, self.traffic.flow(job - 1), self.wait);
        }
        if settings.jobs == 0 {
            (0..settings.workers).for_each(|worker| self.queue.send(LAST, worker as u16, self.wait));
            return;
        }
        // SeqCst: see `leave_if_done`.
        self.sent.0.store(settings.jobs, SeqCst);
        self.leave_if_done(None);
    }

    fn work(&self, worker: u32, work: &mut dyn FnMut(u64)) {
        if let Err(why) = self.queue.bind() {
            panic!("{why}");
        }
        let (worker, mut count) = (worker as usize, 0);
        loop {
            let item = self.queue.receive(worker as u32, self.wait);
            let job = item.word;
            if job != LAST {
                self.note(item.flow, job);
                work(job);
            }
            // SAFETY: the item came from the queue.
            unsafe { self.queue.complete(item, self.wait) };
            if job == LAST {
                return;
            }
            count += 1;
            // SeqCst: see `leave_if_done`.
            self.done[worker].0.store(count, SeqCst);
            if self.leave_if_done(Some(worker)) {
                return;
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        // Relaxed: the threads have ended.
        expect("jobs out of their flow's order", self.late.0.load(Relaxed), 0)
    }
}
