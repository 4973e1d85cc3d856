//! The ways in which jobs are handed out: slots, queues of the library, a queue device. `flows` has
//! one more.

use super::DistributorSettings;
use crate::packets::FLOWS;
use baton_machine::Ordering::{Acquire, Release};
use baton_machine::queues::QueueId;
use baton_machine::{Atomic, Machine, Wait};
use baton_sync::queue::RawQueue;
use baton_workloads::Shared;
use baton_workloads::requests::DeviceQueues;

/// The word that says that no more jobs come. A job's word is its number plus 1, because 0 is an
/// idle slot.
pub(super) const LAST: u64 = u64::MAX;

/// Bytes of guest memory of the table that an atomic queue's workers have.
pub(super) const TABLE_BYTES: usize = FLOWS * size_of::<u64>();

/// A worker's slot, on a pair of lines of its own.
#[repr(C, align(128))]
pub(super) struct Slot<M: Machine>(pub(super) M::Atomic<u64>);

/// A way in which jobs are handed out.
pub(super) trait Hand: Send + Sync + 'static {
    /// Hands out the jobs, and then tells each worker that no more jobs come.
    fn produce(&self, settings: &DistributorSettings);
    /// Has a worker do jobs until no more jobs come.
    fn work(&self, worker: u32, work: &mut dyn FnMut(u64));
    /// Checks what the hand knows about the order of jobs, after the run.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

pub(super) struct Slots<M: Machine>(pub(super) Vec<Shared<M, Slot<M>>>, pub(super) Wait);

impl<M: Machine> Slots<M> {
    fn put(&self, worker: usize, word: u64) {
        let slot: *const M::Atomic<u64> = &self.0[worker].0;
        // Release: the worker sees what the producer wrote for the job.
        self.0[worker].0.store(word, Release);
        M::wake::<u64>(slot, 1, self.1);
    }

    fn is_idle(&self, worker: usize) -> bool {
        // Acquire: the worker has finished its last job before the producer goes on.
        self.0[worker].0.load(Acquire) == 0
    }
}

impl<M: Machine> Hand for Slots<M> {
    fn produce(&self, settings: &DistributorSettings) {
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

/// Queues of the library: one queue for all workers, or one for each worker.
pub(super) struct Queues<M: Machine, Q: RawQueue<M, Item = u64>>(pub(super) Vec<Shared<M, Q>>, pub(super) Wait);

impl<M: Machine, Q: RawQueue<M, Item = u64>> Queues<M, Q> {
    fn put(&self, turn: u64, word: u64) {
        let queue = &self.0[(turn % self.0.len() as u64) as usize];
        // SAFETY: the producer alone enqueues.
        unsafe { queue.enqueue(word, self.1) };
    }
}

impl<M: Machine, Q: RawQueue<M, Item = u64>> Hand for Queues<M, Q> {
    fn produce(&self, settings: &DistributorSettings) {
        for job in 1..=settings.jobs {
            self.put(job - 1, job);
        }
        (0..u64::from(settings.workers)).for_each(|worker| self.put(worker, LAST));
    }

    fn work(&self, worker: u32, work: &mut dyn FnMut(u64)) {
        let queue = &self.0[worker as usize % self.0.len()];
        loop {
            // SAFETY: several workers share a queue only if its kind allows many consumers, which
            // `DistributorSettings::work` checks.
            match unsafe { queue.dequeue(self.1) } {
                LAST => return,
                job => work(job),
            }
        }
    }
}

/// Queues of a device, among which the device balances jobs.
pub(super) struct Balanced<M: Machine> {
    pub(super) group: QueueId,
    pub(super) queues: DeviceQueues<M>,
}

impl<M: Machine> Hand for Balanced<M> {
    fn produce(&self, settings: &DistributorSettings) {
        let mut outbox = self.queues.outbox();
        for job in 1..=settings.jobs {
            outbox.send(self.group, job);
        }
        // Sends the jobs that the device has dropped once more, before a worker is told that no
        // more jobs come.
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
        self.queues.release_group(self.group);
    }
}
