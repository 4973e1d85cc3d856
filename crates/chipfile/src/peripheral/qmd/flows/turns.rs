//! A request's turn at a queue with flows, and what else the device does there in a cycle.

use super::super::Qmd;
use super::super::buffers::Waiting;
use super::super::engine::Turn;
use super::super::moving::ANY_QUEUE;
use super::super::storage::{QueueState, Slot, Storage};
use super::queue::FlowQueue;
use super::reorder::Output;
use crate::peripheral::port::{Hold, Port, Request};
use baton_machine::flows::{FlowOrder, FlowRequest, Given, InHand, Of, Token};
use baton_machine::queues::{Direction, Mode, Operand, QueueId, QueueRefusal, QueueRequest};

type Answer = Result<u64, QueueRefusal>;

/// Largest window of a queue.
const MOST_WINDOW: u16 = 64;

impl Qmd {
    /// Makes a queue with flows. Returns its id.
    pub(in super::super) fn make_flows(
        &mut self,
        (entries, window): (u32, u16),
        order: FlowOrder,
        dead: InHand,
        domain: u32,
    ) -> Answer {
        if entries == 0 || !(1..=MOST_WINDOW).contains(&window) {
            return Err(QueueRefusal::Refused);
        }
        let sram = FlowQueue::sram(order, window, entries).ok_or(QueueRefusal::NoRoom)?;
        let id = self.storage.allocate(sram, 1, domain).ok_or(QueueRefusal::NoRoom)?;
        let slot = self.storage.find(id).ok_or(QueueRefusal::NoRoom)?;
        self.flows.add(slot, order, window, dead, entries);
        Ok(u64::from(id.0))
    }

    /// Binds the calling thread to a queue of its domain.
    pub(in super::super) fn bind(&mut self, request: &Request, queue: QueueId, weight: u16, most: u16) -> Answer {
        let slot = self.own(queue, request.subject.domain)?;
        let (free, is_right) = (self.flows.free_tokens(), weight > 0 && most > 0 && self.is_open(slot));
        let queue = self.flows.get_mut(slot).filter(|_| is_right).ok_or(QueueRefusal::Refused)?;
        queue.bind(request.subject.thread, weight, most, free).map(|()| 0)
    }

    /// Runs the turn of a request.
    pub(in super::super) fn try_flow(&mut self, waiting: &Waiting, asked: FlowRequest, now: u64) -> Turn {
        let Request { cpu, subject, .. } = waiting.request;
        match asked {
            FlowRequest::Send { to, item, flow, of } => self.try_send(subject.thread, to, (item, flow), of, now),
            FlowRequest::Receive { from } => self.try_receive([subject.thread, cpu], from, now),
            FlowRequest::Complete { queue, token } => self.try_complete(subject.thread, queue, token),
            FlowRequest::Make { .. } | FlowRequest::Bind { .. } => Turn::Served(Err(QueueRefusal::Refused)),
        }
    }

    /// Whether a queue serves requests, and is not being moved.
    fn is_open(&self, slot: Slot) -> bool {
        self.storage.state(slot) == QueueState::Open
    }

    /// The entry of a token that the thread may use, for a queue that `which` accepts.
    fn token(
        &mut self,
        token: Token,
        thread: u32,
        which: impl Fn(&Storage, Slot) -> bool,
    ) -> Result<usize, QueueRefusal> {
        let found = self.flows.tokens.find(token, thread, |slot| which(&self.storage, slot));
        self.flows.counts.bad_tokens += u64::from(found.is_none());
        found.ok_or(QueueRefusal::Token)
    }

    fn complete(&mut self, at: usize) {
        let held = self.flows.tokens.end(at);
        if let Some(queue) = self.flows.get_mut(held.slot) {
            queue.completes(&held);
        }
    }

    fn try_complete(&mut self, thread: u32, queue: QueueId, token: Token) -> Turn {
        let Some(slot) = self.storage.find(queue) else { return Turn::Served(Err(QueueRefusal::NoQueue)) };
        if !self.is_open(slot) {
            return Turn::Wait(Hold::Full);
        }
        Turn::Served(self.token(token, thread, |_, of| of == slot).map(|at| {
            self.complete(at);
            0
        }))
    }

    fn try_send(&mut self, thread: u32, to: Operand, item: (u64, u16), of: Of, now: u64) -> Turn {
        let Some(slot) = self.storage.find(to.queue) else { return Turn::Served(Err(QueueRefusal::NoQueue)) };
        if !self.is_open(slot) {
            return Turn::Wait(Hold::Full);
        }
        // A token is of use for queues of its own queue's process.
        let domain = |storage: &Storage, slot: Slot| storage.queue(slot).map(|queue| queue.domain);
        let its = domain(&self.storage, slot);
        let at = match of.token().map(|token| self.token(token, thread, |all, of| domain(all, of) == its)).transpose() {
            Ok(at) => at,
            Err(refusal) => return Turn::Served(Err(refusal)),
        };
        if at.is_some_and(|at| !self.is_open(self.flows.tokens.get(at).slot)) {
            return Turn::Wait(Hold::Full);
        }
        let sent = match at.map(|at| self.send_in_order(at, to.queue, item)) {
            Some(Some(sent)) => sent,
            Some(None) | None => match self.flows.get_mut(slot) {
                Some(queue) if queue.has_room() => {
                    queue.put(item.0, item.1);
                    self.counts.enqueued += 1;
                    self.moves(slot, Direction::Enqueue, now);
                    Ok(0)
                }
                Some(_) if to.mode == Mode::Try => Err(QueueRefusal::Full),
                Some(_) => return Turn::Wait(Hold::Full),
                None => Err(QueueRefusal::Refused),
            },
        };
        if let (Ok(_), Some(at), Of::Last(_)) = (sent, at, of) {
            self.complete(at);
        }
        Turn::Served(sent)
    }

    /// If the token's queue is ordered, puts the item into the reorder buffer, which has room for
    /// it; `None` if the item goes on at once.
    fn send_in_order(&mut self, at: usize, to: QueueId, (item, flow): (u64, u16)) -> Option<Answer> {
        let held = *self.flows.tokens.get(at);
        let is_flow = self.storage.find(to).is_some_and(|slot| self.flows.get(slot).is_some());
        let queue = self.flows.get_mut(held.slot).filter(|queue| queue.reorders())?;
        let sent = is_flow && queue.reorder.send(held.place, Output { to, item, flow });
        Some(if sent { Ok(0) } else { Err(QueueRefusal::Refused) })
    }

    fn try_receive(&mut self, [thread, cpu]: [u32; 2], from: Operand, now: u64) -> Turn {
        let Some(slot) = self.storage.find(from.queue) else { return Turn::Served(Err(QueueRefusal::NoQueue)) };
        if !self.is_open(slot) {
            return Turn::Wait(Hold::Empty);
        }
        let bound = self.flows.get(slot).and_then(|queue| queue.consumer(thread));
        let Some(left) = bound.map(|bound| bound.left) else { return Turn::Served(Err(QueueRefusal::Refused)) };
        let next = self.flows.get(slot).and_then(|queue| queue.next_for(slot, thread, &self.flows.tokens));
        let Some(at) = next.filter(|_| left > 0 || !self.others_come_first(slot, from.queue, thread)) else {
            let waits = from.mode != Mode::Try;
            return if waits { Turn::Wait(Hold::Empty) } else { Turn::Served(Err(QueueRefusal::Empty)) };
        };
        let Some(queue) = self.flows.get_mut(slot) else { return Turn::Served(Err(QueueRefusal::NoQueue)) };
        if left == 0 {
            queue.new_round();
        }
        let (item, flow, place) = queue.take(at, thread);
        let token = self.flows.tokens.begin(slot, [thread, cpu], (item, flow), place, now);
        self.counts.dequeued += 1;
        self.moves(slot, Direction::Dequeue, now);
        if self.settings.token_age.0 > 0 {
            self.look_by(now + self.settings.token_age.0);
        }
        Turn::Given(Given { word: item, flow, token })
    }

    /// Whether another thread waits for the queue that has not had its share of this round, and
    /// that would get an item now.
    fn others_come_first(&self, slot: Slot, queue: QueueId, thread: u32) -> bool {
        let Some(of) = self.flows.get(slot) else { return false };
        let heads = self.engines[self.engine_of(Direction::Dequeue)].buffers.heads();
        let mut others = heads.filter(|waiting| {
            let for_it =
                matches!(waiting.asked, QueueRequest::Flow(FlowRequest::Receive { from }) if from.queue == queue);
            for_it && waiting.request.subject.thread != thread
        });
        others.any(|waiting| {
            let other = waiting.request.subject.thread;
            let has_turn = of.consumer(other).is_some_and(|bound| bound.left > 0);
            has_turn && of.next_for(slot, other, &self.flows.tokens).is_some()
        })
    }

    /// Moves an item whose turn it is out of a reorder buffer. Returns whether one moved.
    pub(in super::super) fn run_releaser(&mut self, now: u64) -> bool {
        if !self.flows.any {
            return false;
        }
        let (storage, mut to) = (&self.storage, None);
        let is_open = |slot: Slot| storage.state(slot) == QueueState::Open;
        let moved = self.flows.release_one(is_open, |flows, output| {
            let slot = storage.find(output.to)?;
            let queue = flows.get_mut(slot)?;
            let room = queue.has_room() && is_open(slot);
            if room {
                queue.put(output.item, output.flow);
                to = Some(slot);
            }
            Some(room)
        });
        if let Some(slot) = to {
            self.counts.enqueued += 1;
            self.moves(slot, Direction::Enqueue, now);
        }
        moved
    }

    /// Whether the releaser has something to do in the next cycle.
    pub(in super::super) fn releases(&self) -> bool {
        self.flows.any
            && self.flows.can_release(
                |slot| self.is_open(slot),
                |flows, output| {
                    let to = self.storage.find(output.to).and_then(|slot| Some((slot, flows.get(slot)?)));
                    to.is_none_or(|(slot, queue)| queue.has_room() && self.is_open(slot))
                },
            )
    }

    /// Whether a thread's request for a queue with flows would be served; `None` for other queues, and
    /// for those that are being moved.
    pub(in super::super) fn is_flow_ready(&self, slot: Slot, direction: Direction, thread: u32) -> Option<bool> {
        let queue = self.flows.get(slot).filter(|_| self.flows.any && self.is_open(slot))?;
        Some(match direction {
            Direction::Enqueue => queue.has_room(),
            Direction::Dequeue => {
                queue.consumer(thread).is_none() || queue.next_for(slot, thread, &self.flows.tokens).is_some()
            }
        })
    }

    /// A thread ends, or may not use a queue any more, and its items in hand are not its own then.
    pub(in super::super) fn bury(&mut self, thread: u32, queue: u64, port: &mut Port<'_>) {
        let only = u32::try_from(queue).ok().and_then(|queue| self.storage.find(QueueId(queue)));
        if (queue == ANY_QUEUE || only.is_some()) && self.flows.any && self.flows.bury(thread, only) {
            self.wake_all(port.now());
            port.tick_at(port.now() + 1);
        }
    }

    /// When the item that has been in hand for longest is too old.
    pub(in super::super) fn token_too_old_at(&self) -> Option<u64> {
        let age = self.settings.token_age.0;
        if age == 0 || self.flows.tokens.is_empty() {
            return None;
        }
        Some(self.flows.tokens.oldest(|slot| self.is_open(slot))? + age)
    }

    /// Interrupts the threads that have items in hand for too long, once for each item.
    pub(in super::super) fn age_tokens(&mut self, port: &mut Port<'_>) {
        if self.token_too_old_at().is_none_or(|at| at > port.now()) {
            return;
        }
        let (until, storage) = (port.now() - self.settings.token_age.0, &self.storage);
        for (cpu, thread) in self.flows.tokens.too_old(until, |slot| storage.state(slot) == QueueState::Open) {
            self.flows.counts.overdue += 1;
            if let Some(cpu) = port.cpu(u64::from(cpu)) {
                port.interrupt_for(cpu, thread);
            }
        }
    }
}
