//! Tasks that spawn tasks: the calls of a quicksort, without its data. A task of `n` numbers
//! computes, and spawns one task for the numbers below a pivot and one for those above it. The
//! pivot is a hash of the task, so that the tree is the same in every run and has `n` tasks in all.
//!
//! Workers take tasks from deques of their own and steal from those of other workers, from one
//! queue, or from queues among which a device balances tasks.

mod named;
mod pools;

pub use named::Tasks;

use baton_machine::queues::{QueueId, QueueRequest};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Wait};
use baton_sync::deque::Deque;
use baton_sync::queue::{RawQueue, Side};
use baton_workloads::inputs::Dispatch;
use baton_workloads::requests::{DeviceQueues, unmade};
use baton_workloads::timing::{Figure, Spans};
use baton_workloads::work::{Judge, Measured, Work, mix};
use baton_workloads::{Body, Refused, expect, share};
use pools::{Balanced, Pool, Stealing, Taking, Tally};
use std::sync::{Arc, Mutex, PoisonError};

/// The settings of the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskProgramSettings {
    /// Number of threads.
    pub workers: u32,
    /// Number of tasks in all; the first task spawns the others.
    pub tasks: u32,
    /// Mean number of cycles of a task.
    pub think: Cycles,
    /// Largest deviation of a task from `think`, as a share of `think`.
    pub spread: f64,
    /// Places of each deque or queue, a power of two. A worker that spawns a task and finds no room
    /// does the task at once.
    pub capacity: usize,
    /// Where workers find tasks: [`Dispatch::Steal`], [`Dispatch::Shared`] or
    /// [`Dispatch::Balanced`].
    pub dispatch: Dispatch,
    /// Seed of the tree.
    pub seed: u64,
}

impl Default for TaskProgramSettings {
    fn default() -> Self {
        let dispatch = Dispatch::Steal;
        TaskProgramSettings { workers: 4, tasks: 4000, think: Cycles(0), spread: 0.0, capacity: 64, dispatch, seed: 1 }
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Number of tasks that each worker did.
    pub by_worker: Vec<u64>,
    /// A digest of the tasks that were done.
    pub digest: u64,
    /// Nanoseconds from the first beginning to the end of the slowest thread.
    pub nanoseconds: u64,
}

impl Measured for Outcome {
    fn figures(&self) -> Vec<Figure> {
        let tasks: u64 = self.by_worker.iter().sum();
        let most = self.by_worker.iter().max().copied().unwrap_or(0) as f64;
        let even = tasks.max(1) as f64 / self.by_worker.len().max(1) as f64;
        let each = self.nanoseconds as f64 / tasks.max(1) as f64;
        [("nanoseconds_a_task", each), ("busiest_worker", most / even)]
            .map(|(name, value)| Figure { name, value })
            .into()
    }
}

/// A task as a word: the number of its numbers in the upper half, a hash in the lower half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Task(u64);

impl Task {
    /// A word that is no task.
    const NONE: u64 = u64::MAX;
    /// The largest number of numbers that a task may have.
    const MOST: u32 = 1 << 31;

    fn new(numbers: u32, hash: u64) -> Task {
        Task(u64::from(numbers) << 32 | hash & u64::from(u32::MAX))
    }

    /// The tasks that the task spawns: none, one or two.
    fn spawned(self) -> impl Iterator<Item = Task> {
        let rest = (self.0 >> 32) as u32 - 1;
        let below = (mix(3, self.0) % (u64::from(rest) + 1)) as u32;
        [below, rest - below]
            .into_iter()
            .zip([mix(4, self.0), mix(5, self.0)])
            .filter(|(numbers, _)| *numbers != 0)
            .map(|(numbers, hash)| Task::new(numbers, hash))
    }
}

/// The tasks that each worker did, and the sum of their digests.
type Total = (Vec<u64>, u64);

impl TaskProgramSettings {
    /// The threads. With [`Dispatch::Shared`] tasks go through a queue of the type `Q`. The result
    /// is an error if a task was not done, or was done twice.
    ///
    /// # Errors
    /// Fails if a setting has a value that the program cannot have.
    pub fn work<M: Machine, Q: RawQueue<M, Item = u64>>(&self, wait: Wait) -> Result<Work<Outcome>, Refused> {
        if !(1..=4096).contains(&self.workers) || !(1..=Task::MOST).contains(&self.tasks) {
            let (workers, tasks) = (self.workers, self.tasks);
            let expected = "expected 1 to 4096, and 1 to 2^31";
            return Err(Refused::because(format!("{workers} workers and {tasks} tasks; {expected}")));
        }
        let tally = Tally::<M>::new(self.tasks);
        let pool: Arc<dyn Pool> = match self.dispatch {
            Dispatch::Steal => {
                let deque = |_| Deque::with_capacity(self.capacity).map(share::<M, _>);
                let deques = (0..self.workers).map(deque).collect::<Result<Vec<_>, _>>().map_err(Refused::because)?;
                Arc::new(Stealing { deques, tally })
            }
            Dispatch::Shared => {
                let single = Q::INFO.consumers == Side::Single || Q::INFO.producers == Side::Single;
                if single && self.workers > 1 {
                    let (queue, workers) = (Q::INFO.name, self.workers);
                    let sides = "is for one thread on a side";
                    return Err(Refused::because(format!("queue `{queue}` {sides}, and {workers} workers share it")));
                }
                let queue = Q::with_capacity(self.capacity).map_err(|error| unmade(Q::INFO.name, error))?;
                Arc::new(Taking { queue: share::<M, Q>(queue), wait, workers: self.workers, tally })
            }
            Dispatch::Balanced => {
                let queues = DeviceQueues::<M>::new(self.workers, self.capacity)?;
                let group = queues.call(QueueRequest::Balance { first: queues.queue(0), count: self.workers })?;
                Arc::new(Balanced { group: QueueId(group as u32), queues, workers: self.workers, tally })
            }
            Dispatch::Slots | Dispatch::Dealt => {
                let name = self.dispatch.name();
                return Err(Refused::because(format!(
                    "workers of tasks are given none by `{name}`; expected steal, shared or balanced"
                )));
            }
        };
        Ok(self.bodies::<M>(pool))
    }

    fn bodies<M: Machine>(&self, pool: Arc<dyn Pool>) -> Work<Outcome> {
        let (settings, spans) = (*self, Spans::<M>::new(self.workers));
        let total: Arc<Mutex<Total>> = Arc::new(Mutex::new((vec![0; self.workers as usize], 0)));
        let body = |worker: u32| {
            let (pool, spans, total) = (pool.clone(), spans.clone(), total.clone());
            Box::new(move || {
                let (mut done, mut digest) = (0, 0u64);
                let mut one = |task: Task| {
                    M::work(settings.length(task));
                    done += 1;
                    digest = digest.wrapping_add(mix(0, task.0));
                };
                let first = (worker == 0).then(|| settings.root());
                spans.time(worker, || pool.work(worker, first, &mut one));
                let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                total.0[worker as usize] = done;
                total.1 = total.1.wrapping_add(digest);
            }) as Body
        };
        let bodies = (0..self.workers).map(body).collect();
        Work { bodies, result: settings.judge(pool, spans, total) }
    }

    fn root(&self) -> Task {
        Task::new(self.tasks, mix(2, self.seed))
    }

    /// Cycles of a task, which are the same whichever worker does it.
    fn length(&self, task: Task) -> Cycles {
        let unit = (mix(1, task.0) >> 11) as f64 / (1u64 << 53) as f64;
        Cycles((self.think.0 as f64 * (1.0 + self.spread * (2.0 * unit - 1.0))).round() as u64)
    }

    fn judge<M: Machine>(self, pool: Arc<dyn Pool>, spans: Spans<M>, total: Arc<Mutex<Total>>) -> Judge<Outcome> {
        Box::new(move || {
            // A queue in a device is given back by a system call, which is no part of the run.
            drop(pool);
            let (by_worker, digest) = total.lock().unwrap_or_else(PoisonError::into_inner).clone();
            expect("tasks that were done", by_worker.iter().sum(), u64::from(self.tasks))?;
            let (mut plain, mut open) = (0u64, vec![self.root()]);
            while let Some(task) = open.pop() {
                plain = plain.wrapping_add(mix(0, task.0));
                open.extend(task.spawned());
            }
            expect("the digest of the tasks", digest, plain)?;
            Ok(Outcome { by_worker, digest, nanoseconds: spans.whole().0 })
        })
    }
}
