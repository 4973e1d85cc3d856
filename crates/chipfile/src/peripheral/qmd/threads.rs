//! What a thread has at the device: requests that wait, and credits. The operating system asks for
//! them to be dropped or given back.

use super::Qmd;
use super::buffers::{Waiting, aim};
use super::moving::ANY_QUEUE;
use crate::peripheral::port::Port;
use baton_machine::queues::{QueueId, QueueRefusal};

impl Qmd {
    /// Drops the waiting requests of a thread, and interrupts the contexts that sent them. Returns
    /// the number of requests.
    pub(super) fn drain(&mut self, thread: u64, port: &mut Port<'_>) -> u64 {
        let is_its = |waiting: &Waiting| u64::from(waiting.request.subject.thread) == thread;
        let lines = self.engines.iter().flat_map(|engine| engine.buffers.all()).chain(&self.came);
        let mut cpus: Vec<u32> = lines.filter(|waiting| is_its(waiting)).map(|waiting| waiting.request.cpu).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let drained = self.drop_requests(port, QueueRefusal::Dropped, is_its);
        self.counts.dropped += drained;
        for cpu in cpus {
            if let Some(cpu) = port.cpu(u64::from(cpu)) {
                port.interrupt(cpu);
            }
        }
        drained
    }

    /// Takes a thread's credits back, for one queue or for all, and refuses its requests that wait
    /// for the one. Returns the number of credits.
    pub(super) fn retire(&mut self, thread: u32, queue: u64, port: &mut Port<'_>) -> u64 {
        let (now, one) = (port.now(), u32::try_from(queue).ok().map(QueueId));
        let mut back = 0;
        match one {
            Some(queue) => {
                self.refuse_for(queue, port, |waiting| waiting.request.subject.thread == thread);
                self.fire_for(thread, queue, port);
            }
            None => self.arms.forget(thread),
        }
        self.bury(thread, queue, port);
        if (one.is_some() || queue == ANY_QUEUE) && self.reducers.leave(thread, one) {
            port.tick_at(now + 1);
        }
        for slot in 0..self.pools.len() {
            if queue == ANY_QUEUE || one.and_then(|queue| self.storage.find(queue)).is_some_and(|at| at.0 == slot) {
                let pools = self.pools[slot].iter_mut().flatten();
                back += pools.map(|pools| u64::from(pools.leave(thread, now))).sum::<u64>();
            }
        }
        self.counts.reclaimed += back;
        back
    }

    /// Takes back credits that threads have had in hand for too long.
    pub(super) fn age_credits(&mut self, now: u64) {
        let timeout = self.settings.timeout;
        let pools = self.pools.iter_mut().flatten().flatten();
        self.counts.reclaimed += pools.map(|pools| u64::from(pools.age(timeout, now))).sum::<u64>();
    }

    /// Returns the times at which requests and credits are too old, with the context of a request;
    /// none if there is no such time.
    pub(super) fn too_old_at(&self) -> impl Iterator<Item = (u64, Option<u32>)> {
        let waiting = self.engines.iter().flat_map(|engine| engine.buffers.heads()).chain(&self.came);
        let requests = waiting.map(|waiting| (waiting.since, Some(waiting.request.cpu)));
        let credits = self.pools.iter().flatten().flatten().filter_map(|pools| Some((pools.oldest()?, None)));
        let timeout = self.settings.timeout;
        requests.chain(credits).filter(move |_| timeout > 0).map(move |(since, cpu)| (since + timeout, cpu))
    }

    /// Refuses the requests that wait for a queue and that `which` chooses.
    pub(super) fn refuse_for(&mut self, queue: QueueId, port: &mut Port<'_>, which: impl Fn(&Waiting) -> bool) {
        let for_it = |waiting: &Waiting| aim(&waiting.asked).1.queue == queue && which(waiting);
        self.counts.refused += self.drop_requests(port, QueueRefusal::NoQueue, for_it);
    }
}
