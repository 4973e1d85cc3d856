//! The pools into which workers put tasks that they spawn, and in which they find tasks to do.

use super::Task;
use baton_machine::Ordering::{AcqRel, Acquire};
use baton_machine::queues::QueueId;
use baton_machine::{Atomic, Machine, Wait};
use baton_sync::deque::{Deque, Steal};
use baton_sync::queue::RawQueue;
use baton_workloads::requests::DeviceQueues;
use baton_workloads::{Shared, share, xorshift};

/// A pool of tasks.
pub(super) trait Pool: Send + Sync + 'static {
    /// Has a worker do tasks until all are done, `first` before all others.
    fn work(&self, worker: u32, first: Option<Task>, one: &mut dyn FnMut(Task));
}

/// The number of tasks that are done. A worker adds its own number when it runs out of tasks, so
/// that workers do not contend for the line at each task.
pub(super) struct Tally<M: Machine> {
    done: Shared<M, Done<M>>,
    all: u64,
}

/// A word alone in its pair of lines.
#[repr(C, align(128))]
struct Done<M: Machine>(M::Atomic<u64>);

impl<M: Machine> Tally<M> {
    pub(super) fn new(tasks: u32) -> Self {
        Tally { done: share::<M, _>(Done(M::Atomic::new(0))), all: u64::from(tasks) }
    }

    /// Adds the number of tasks that a worker has done since its last call. Returns whether these
    /// were the last tasks: true for one call only.
    fn add(&self, mine: &mut u64) -> bool {
        let more = std::mem::take(mine);
        // Release: publishes the work of these tasks. Acquire: makes the other workers' work
        // visible.
        more != 0 && self.done.0.fetch_add(more, AcqRel) + more == self.all
    }

    fn is_full(&self) -> bool {
        // Acquire: makes all workers' work visible.
        self.done.0.load(Acquire) == self.all
    }
}

/// Does a task, and those of its descendants for which `put` finds no room. Returns the number of
/// tasks done.
fn run(task: Task, one: &mut dyn FnMut(Task), mut put: impl FnMut(Task) -> bool) -> u64 {
    let (mut done, mut open) = (0, vec![task]);
    while let Some(task) = open.pop() {
        one(task);
        done += 1;
        open.extend(task.spawned().filter(|spawned| !put(*spawned)));
    }
    done
}

/// A deque for each worker; a worker steals from the other deques when its own is empty.
pub(super) struct Stealing<M: Machine> {
    pub(super) deques: Vec<Shared<M, Deque<M, u64>>>,
    pub(super) tally: Tally<M>,
}

impl<M: Machine> Stealing<M> {
    /// Steals a task of another worker; `None`: all tasks are done. The search for a victim begins
    /// at a random worker.
    fn steal(&self, worker: usize, random: &mut u64) -> Option<Task> {
        let n = self.deques.len();
        loop {
            let first = xorshift(random) as usize;
            for victim in (0..n).map(|step| (first % n + step) % n).filter(|victim| *victim != worker) {
                if let Steal::Taken(task) = self.deques[victim].steal() {
                    return Some(Task(task));
                }
            }
            if self.tally.is_full() {
                return None;
            }
            M::relax();
        }
    }
}

impl<M: Machine> Pool for Stealing<M> {
    fn work(&self, worker: u32, first: Option<Task>, one: &mut dyn FnMut(Task)) {
        let own = &self.deques[worker as usize];
        // SAFETY: this worker alone pushes and pops at its deque.
        let put = |task: Task| unsafe { own.push(task.0) }.is_ok();
        let (mut done, mut random, mut next) = (0, u64::from(worker) + 1, first);
        loop {
            while let Some(task) = next {
                done += run(task, one, put);
                // SAFETY: as above.
                next = unsafe { own.pop() }.map(Task);
            }
            if self.tally.add(&mut done) {
                return;
            }
            next = self.steal(worker as usize, &mut random);
            if next.is_none() {
                return;
            }
        }
    }
}

/// One queue of the library for all workers.
pub(super) struct Taking<M: Machine, Q: RawQueue<M, Item = u64>> {
    pub(super) queue: Shared<M, Q>,
    pub(super) wait: Wait,
    pub(super) workers: u32,
    pub(super) tally: Tally<M>,
}

impl<M: Machine, Q: RawQueue<M, Item = u64>> Pool for Taking<M, Q> {
    fn work(&self, _: u32, first: Option<Task>, one: &mut dyn FnMut(Task)) {
        let (queue, wait) = (&self.queue, self.wait);
        // SAFETY: (here and below) where there are several workers, the queue is of a kind for many
        // threads, which `TaskProgramSettings::work` checks.
        let put = |task: Task| unsafe { queue.try_enqueue(task.0, wait) }.is_ok();
        let (mut done, mut next) = (0, first);
        loop {
            if let Some(task) = next {
                done += run(task, one, put);
            }
            // SAFETY: as above.
            let mut word = unsafe { queue.try_dequeue(wait) };
            if word.is_none() {
                if self.tally.add(&mut done) {
                    // SAFETY: as above. Each of the other workers waits for one word, which ends
                    // it.
                    (1..self.workers).for_each(|_| unsafe { queue.enqueue(Task::NONE, wait) });
                    return;
                }
                // SAFETY: as above.
                word = Some(unsafe { queue.dequeue(wait) });
            }
            match word {
                Some(Task::NONE) => return,
                word => next = word.map(Task),
            }
        }
    }
}

/// A queue of a device for each worker, among which the device balances spawned tasks.
pub(super) struct Balanced<M: Machine> {
    pub(super) group: QueueId,
    pub(super) queues: DeviceQueues<M>,
    pub(super) workers: u32,
    pub(super) tally: Tally<M>,
}

impl<M: Machine> Pool for Balanced<M> {
    fn work(&self, worker: u32, first: Option<Task>, one: &mut dyn FnMut(Task)) {
        let (queues, own) = (&self.queues, self.queues.queue(worker));
        let put = |task: Task| queues.try_put(self.group, task.0);
        let (mut done, mut next) = (0, first);
        loop {
            if let Some(task) = next {
                done += run(task, one, put);
            }
            let mut word = queues.try_take(own);
            if word.is_none() {
                if self.tally.add(&mut done) {
                    let mut outbox = queues.outbox();
                    let others = (0..self.workers).filter(|other| *other != worker);
                    others.for_each(|other| outbox.send(queues.queue(other), Task::NONE));
                    outbox.flush();
                    return;
                }
                word = Some(queues.take(own));
            }
            match word {
                Some(Task::NONE) => return,
                word => next = word.map(Task),
            }
        }
    }
}

impl<M: Machine> Drop for Balanced<M> {
    fn drop(&mut self) {
        self.queues.release_group(self.group);
    }
}
