//! The ways in which the workers' vectors are added up.

use super::ATTRIBUTE_CYCLES;
use baton_machine::queues::{Combine, QueueRequest};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Wait};
use baton_sync::queue::RawQueue;
use baton_workloads::inputs::Reduction;
use baton_workloads::requests::{DeviceQueues, unmade};
use baton_workloads::{Refused, Shared, share};
use std::sync::Arc;

/// A worker's end of the exchange: replaces the worker's vector by the sum of all workers' vectors.
pub(super) trait Sum: Send {
    fn all(&mut self, vector: &mut [f64]);
}

/// The ends of the exchange for all workers.
pub(super) struct Ends {
    /// One end for each worker.
    pub(super) workers: Vec<Box<dyn Sum>>,
    /// The queues in the machine, which are given back after the run.
    pub(super) kept: Box<dyn Send>,
}

pub(super) fn ends<M: Machine, Q: RawQueue<M, Item = u64>>(
    reduction: Reduction,
    workers: u32,
    attributes: usize,
    wait: Wait,
) -> Result<Ends, Refused> {
    let places = attributes.next_power_of_two();
    match reduction {
        Reduction::Master => {
            let queues = || {
                let queue = |_| Q::with_capacity(places).map(share::<M, Q>);
                let all = (1..workers).map(queue).collect::<Result<Vec<_>, _>>();
                all.map_err(|error| unmade(Q::INFO.name, error)).map(Arc::new)
            };
            let (up, down) = (queues()?, queues()?);
            let kept = Box::new((up.clone(), down.clone()));
            let master = Master::<M, Q> { up: up.clone(), down: down.clone(), words: vec![0; attributes], wait };
            let other = |(up, down): (&Shared<M, Q>, &Shared<M, Q>)| -> Box<dyn Sum> {
                Box::new(Other::<M, Q> { up: up.clone(), down: down.clone(), words: vec![0; attributes], wait })
            };
            let others = up.iter().zip(&*down).map(other);
            Ok(Ends { workers: std::iter::once(Box::new(master) as Box<dyn Sum>).chain(others).collect(), kept })
        }
        Reduction::Device => {
            let queues = DeviceQueues::<M>::new(2 * workers, places)?;
            let (from, to) = (queues.queue(0), queues.queue(workers));
            queues.call(QueueRequest::Reduce { by: Combine::FloatSum, from, to, count: workers })?;
            let queues = Arc::new(queues);
            let end = |worker| -> Box<dyn Sum> {
                let words = vec![0; attributes];
                Box::new(Reduced::<M> { queues: queues.clone(), worker, workers, back: words.clone(), words })
            };
            Ok(Ends { workers: (0..workers).map(end).collect(), kept: Box::new(queues.clone()) })
        }
    }
}

/// The worker that adds, with a queue from each of the other workers and a queue to each.
struct Master<M: Machine, Q: RawQueue<M, Item = u64>> {
    up: Arc<Vec<Shared<M, Q>>>,
    down: Arc<Vec<Shared<M, Q>>>,
    words: Vec<u64>,
    wait: Wait,
}

impl<M: Machine, Q: RawQueue<M, Item = u64>> Sum for Master<M, Q> {
    fn all(&mut self, vector: &mut [f64]) {
        // The vectors are added to zeros, as in the device: -0.0 becomes 0.0.
        vector.iter_mut().for_each(|item| *item += 0.0);
        for queue in &*self.up {
            // SAFETY: only this thread takes from the queue.
            unsafe { queue.dequeue_all(&mut self.words, self.wait) };
            M::work(Cycles(ATTRIBUTE_CYCLES * vector.len() as u64));
            vector.iter_mut().zip(&self.words).for_each(|(sum, word)| *sum += f64::from_bits(*word));
        }
        self.words.iter_mut().zip(&*vector).for_each(|(word, sum)| *word = sum.to_bits());
        for queue in &*self.down {
            // SAFETY: only this thread puts into the queue.
            unsafe { queue.enqueue_all(&self.words, self.wait) };
        }
    }
}

/// A worker that does not add.
struct Other<M: Machine, Q: RawQueue<M, Item = u64>> {
    up: Shared<M, Q>,
    down: Shared<M, Q>,
    words: Vec<u64>,
    wait: Wait,
}

impl<M: Machine, Q: RawQueue<M, Item = u64>> Sum for Other<M, Q> {
    fn all(&mut self, vector: &mut [f64]) {
        self.words.iter_mut().zip(&*vector).for_each(|(word, item)| *word = item.to_bits());
        // SAFETY: only this thread puts into `up`, and only this thread takes from `down`.
        unsafe {
            self.up.enqueue_all(&self.words, self.wait);
            self.down.dequeue_all(&mut self.words, self.wait);
        }
        vector.iter_mut().zip(&self.words).for_each(|(item, word)| *item = f64::from_bits(*word));
    }
}

/// A worker whose vectors the device adds.
struct Reduced<M: Machine> {
    queues: Arc<DeviceQueues<M>>,
    worker: u32,
    workers: u32,
    words: Vec<u64>,
    back: Vec<u64>,
}

impl<M: Machine> Sum for Reduced<M> {
    fn all(&mut self, vector: &mut [f64]) {
        self.words.iter_mut().zip(&*vector).for_each(|(word, item)| *word = item.to_bits());
        let (from, to) = (self.queues.queue(self.worker), self.queues.queue(self.workers + self.worker));
        self.queues.exchange(from, to, &self.words, &mut self.back);
        vector.iter_mut().zip(&self.back).for_each(|(item, word)| *item = f64::from_bits(*word));
    }
}
