//! Requests that programs make by system call: queues, credits, groups, reducers. What only the
//! operating system asks for is in `moving` and `threads`.

use super::Qmd;
use super::buffers::Waiting;
use super::credits::Pools;
use super::rows::Row;
use super::storage::{QueueState, Slot};
use crate::peripheral::port::{Port, Request};
use baton_machine::flows::FlowRequest;
use baton_machine::queues::{Direction, QueueId, QueueRefusal, QueueRequest};

type Answer = Result<u64, QueueRefusal>;

impl Qmd {
    /// Performs the request of a system call.
    pub(super) fn configure(&mut self, request: &Request, asked: QueueRequest, port: &mut Port<'_>) -> Answer {
        let domain = request.subject.domain;
        match asked {
            QueueRequest::Allocate { entries, queues, enqueue_credits, dequeue_credits } => {
                let first = self.storage.allocate(entries, queues, domain).ok_or(QueueRefusal::NoRoom)?;
                let (most, now) = (self.settings.local_credits, port.now());
                for queue in 0..queues {
                    let Some(Slot(slot)) = self.storage.find(first.plus(queue)) else { continue };
                    let pools = |wanted: bool, credits| wanted.then(|| Pools::new(credits, entries, most, now));
                    self.pools[slot] = [pools(enqueue_credits, entries), pools(dequeue_credits, 0)];
                }
                Ok(u64::from(first.0))
            }
            QueueRequest::Release(id) => self.release(id, domain, port),
            QueueRequest::Join { queue, direction, weight } => {
                let (slot, thread) = (self.own(queue, domain)?, request.subject.thread);
                if weight == 0 || self.storage.state(slot) != QueueState::Open {
                    return Err(QueueRefusal::Refused);
                }
                match &mut self.pools[slot.0][direction as usize] {
                    Some(pools) => match pools.join(thread, weight, port.now()) {
                        true => Ok(0),
                        false => Err(QueueRefusal::NoRoom),
                    },
                    None if direction == Direction::Enqueue && self.reducers.join(queue, thread) => Ok(0),
                    None => Err(QueueRefusal::Refused),
                }
            }
            QueueRequest::Balance { first, count } => {
                let queues = self.uncredited(first, count, domain)?;
                let group = self.groups.add(queues, domain).ok_or(QueueRefusal::NoRoom)?;
                Ok(u64::from(group.0))
            }
            QueueRequest::Reduce { by, from, to, count } => {
                let [from, to] = [self.uncredited(from, count, domain)?, self.uncredited(to, count, domain)?];
                let taken = |queue: &QueueId| self.reducers.reads(*queue) || self.reducers.writes(*queue);
                if from.iter().any(|queue| to.contains(queue)) || from.iter().chain(&to).any(taken) {
                    return Err(QueueRefusal::Refused);
                }
                self.reducers.add(by, from, to);
                port.tick_at(port.now() + 1);
                Ok(0)
            }
            QueueRequest::Flow(FlowRequest::Make { entries, order, window, dead }) => {
                self.make_flows((entries, window), order, dead, domain)
            }
            QueueRequest::Flow(FlowRequest::Bind { queue, weight, most }) => self.bind(request, queue, weight, most),
            QueueRequest::Enqueue { .. } | QueueRequest::Dequeue { .. } | QueueRequest::Flow(_) => {
                Err(QueueRefusal::Refused)
            }
        }
    }

    /// Whether a queue has flows.
    #[inline]
    pub(super) fn has_flows(&self, slot: Slot) -> bool {
        self.flows.any && self.flows.get(slot).is_some()
    }

    /// Returns the slot of a queue of this domain.
    pub(super) fn own(&self, queue: QueueId, domain: u32) -> Result<Slot, QueueRefusal> {
        let slot = self.storage.find(queue);
        let own = slot.filter(|&slot| self.storage.queue(slot).is_some_and(|queue| queue.domain == domain));
        own.ok_or(QueueRefusal::NoQueue)
    }

    /// Returns `count` neighbouring queues of this domain that need no credits.
    fn uncredited(&self, first: QueueId, count: u32, domain: u32) -> Result<Vec<QueueId>, QueueRefusal> {
        if count == 0 || u64::from(count) > self.settings.queues || first.0.checked_add(count).is_none() {
            return Err(QueueRefusal::Refused);
        }
        let queues: Vec<QueueId> = (0..count).map(|queue| first.plus(queue)).collect();
        for &queue in &queues {
            let slot = self.own(queue, domain)?;
            if self.pools[slot.0].iter().any(Option::is_some) || self.has_flows(slot) {
                return Err(QueueRefusal::Refused);
            }
        }
        Ok(queues)
    }

    /// Releases a queue or a group. Requests that wait for it are refused. Returns the number of
    /// items that were in the queue, or 0 for a group.
    fn release(&mut self, id: QueueId, domain: u32, port: &mut Port<'_>) -> Answer {
        let items = if self.groups.domain(id) == Some(domain) {
            self.groups.release(id);
            0
        } else {
            let slot = self.own(id, domain)?;
            self.reducers.release(id, &mut self.storage);
            self.moves.forget(slot);
            self.pools[slot.0] = [None, None];
            u64::from(self.storage.release(slot)) + self.flows.remove(slot)
        };
        self.counts.released += items;
        self.refuse_for(id, port, |_| true);
        Ok(items)
    }

    /// Refuses the requests for which `which` holds, with the rest of their rows, and removes them
    /// from their buffers. Returns the number of requests.
    pub(super) fn drop_requests(
        &mut self,
        port: &mut Port<'_>,
        why: QueueRefusal,
        which: impl Fn(&Waiting) -> bool,
    ) -> u64 {
        let (now, mut out) = (port.now(), Vec::new());
        self.take_out(now, which, |waiting| out.push(waiting));
        let rows: Vec<Row> = out.iter().filter_map(Row::of).collect();
        if !rows.is_empty() {
            let in_row = |waiting: &Waiting| Row::of(waiting).is_some_and(|row| rows.contains(&row));
            self.take_out(now, in_row, |waiting| out.push(waiting));
            rows.iter().for_each(|row| self.arms.ends(*row));
        }
        out.iter().for_each(|waiting| port.reply(&waiting.request, now + 1, Err::<u64, _>(why)));
        out.len() as u64
    }

    /// Removes the requests for which `which` holds from their buffers, and passes each to `out`.
    pub(super) fn take_out(&mut self, now: u64, which: impl Fn(&Waiting) -> bool, mut out: impl FnMut(Waiting)) {
        self.came.extract_if(.., |waiting| which(waiting)).for_each(&mut out);
        for engine in &mut self.engines {
            engine.wake(now);
            engine.buffers.remove(now, &which, &mut out);
        }
    }
}

/// A direction is the index of its pools.
const _: () = assert!(Direction::Enqueue as usize == 0 && Direction::Dequeue as usize == 1);
