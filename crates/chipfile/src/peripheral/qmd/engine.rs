//! The turn of a request: the engine serves the request, or finds that the request must wait.

use super::Qmd;
use super::buffers::{Buffers, Picked, Retry, Waiting};
use super::credits::Pools;
use super::groups::Balanced;
use super::settings::{Pointers, QmdSettings};
use super::storage::{QueueState, Slot};
use crate::peripheral::port::{Hold, Port};
use baton_machine::flows::Given;
use baton_machine::queues::{Direction, Mode, Operand, QueueRefusal, QueueRequest};
use std::collections::VecDeque;

/// An engine and the buffers before it.
pub(super) struct Engine {
    pub(super) buffers: Buffers,
    /// Number of heads that were tried since the last change; all of them must wait. The number of
    /// picks is not enough: the head of a buffer with few lines is tried again before all heads of
    /// a buffer with many lines have been tried.
    failed: usize,
    /// Number of changes; each head records the change at which it was tried last.
    change: u64,
    /// The cycle of the first pick that was not made, while all heads wait for a change; `None`:
    /// the engine makes picks.
    asleep: Option<u64>,
}

impl Engine {
    /// The device's engines.
    pub(super) fn all(settings: &QmdSettings) -> Vec<Engine> {
        let both = [Direction::Enqueue, Direction::Dequeue];
        let new = |directions: &[Direction]| Engine {
            buffers: Buffers::new(directions, settings),
            failed: 0,
            change: 1,
            asleep: None,
        };
        if settings.engines == 1 { vec![new(&both)] } else { both.iter().map(|one| new(&[*one])).collect() }
    }

    /// Returns whether the engine has something to do in the next cycle.
    pub(super) fn is_awake(&self) -> bool {
        self.asleep.is_none() && self.buffers.len() > 0
    }

    /// Records a change, so that all heads are tried again.
    fn changed(&mut self) {
        (self.failed, self.change) = (0, self.change + 1);
    }

    /// Records that the picked head could not be served. Returns whether this is true of all heads
    /// since the last change.
    fn fails(&mut self, picked: Picked) -> bool {
        let change = self.change;
        let before = self.buffers.head(picked).map(|head| std::mem::replace(&mut head.tried, change));
        self.failed += usize::from(before.is_some_and(|before| before != change));
        self.failed >= self.buffers.lines()
    }

    /// Wakes the engine after a change: heads that could not be served may be served from the cycle
    /// `now` on. Makes up for the picks that were not made, because they could not have led to a
    /// service, and returns their number.
    pub(super) fn wake(&mut self, now: u64) -> u64 {
        self.changed();
        let picks = self.asleep.take().map_or(0, |since| now.saturating_sub(since));
        self.buffers.fail(picks);
        picks
    }
}

/// Heads and tails that move when their access to the SRAM is done, in the order of time.
#[derive(Default)]
pub(super) struct Moves(VecDeque<(u64, Slot, Direction)>);

impl Moves {
    /// Returns the time of the next move.
    pub(super) fn next(&self) -> Option<u64> {
        self.0.front().map(|(at, ..)| *at)
    }

    /// Removes the moves of a queue. Returns the directions, in the order of time.
    pub(super) fn take(&mut self, slot: Slot) -> Vec<Direction> {
        let directions = self.0.iter().filter(|(_, of, _)| *of == slot).map(|(.., direction)| *direction).collect();
        self.forget(slot);
        directions
    }

    /// Forgets the moves of a released queue's head and tail that are not due yet.
    pub(super) fn forget(&mut self, slot: Slot) {
        self.0.retain(|(_, of, _)| *of != slot);
    }
}

/// The outcome of a request's turn.
pub(super) enum Turn {
    /// The request was served, with this answer.
    Served(Result<u64, QueueRefusal>),
    /// The request was served, with an item that has a flow and a token.
    Given(Given),
    /// The request must wait.
    Wait(Hold),
}

impl Qmd {
    /// Runs an edge: files new requests in their buffers, makes due moves, runs the reducers and
    /// the timer, and gives each engine its turn.
    pub(super) fn advance(&mut self, port: &mut Port<'_>) {
        let now = port.now();
        self.file(now);
        let mut changed = self.end_moves(now);
        changed |= self.run_reducers(now);
        changed |= self.run_releaser(now);
        self.expire(port);
        if changed {
            self.wake_all(now);
        }
        for engine in 0..self.engines.len() {
            if self.engines[engine].is_awake() && self.one_turn(engine, port) {
                self.wake_all(now + 1);
                changed = true;
            }
        }
        if changed {
            self.fire(port);
        }
        if cfg!(debug_assertions) || self.settings.check {
            self.check();
        }
    }

    /// Wakes all engines; the change can be seen from the cycle `from` on.
    pub(super) fn wake_all(&mut self, from: u64) {
        for engine in 0..self.engines.len() {
            self.wake(engine, from);
        }
    }

    /// Wakes one engine. The picks that the engine makes up for count as tries if a try costs a
    /// turn.
    fn wake(&mut self, engine: usize, from: u64) {
        let picks = self.engines[engine].wake(from);
        if self.settings.retry == Retry::Slot {
            self.counts.retries += picks;
        }
    }

    /// Files the requests that came before this cycle in their buffers.
    fn file(&mut self, now: u64) {
        while self.came.first().is_some_and(|waiting| waiting.since < now) {
            let waiting = self.came.remove(0);
            let engine = self.engine_of(waiting.lane.direction());
            self.wake(engine, now);
            self.engines[engine].buffers.push(waiting);
        }
    }

    /// Moves the heads and tails that are due. Returns whether any moved.
    fn end_moves(&mut self, now: u64) -> bool {
        let mut moved = false;
        while let Some((_, slot, direction)) = self.moves.0.pop_front_if(|(at, ..)| *at <= now) {
            self.end_move(slot, direction, now);
            moved = true;
        }
        moved
    }

    pub(super) fn end_move(&mut self, slot: Slot, direction: Direction, now: u64) {
        if self.flows.any
            && let Some(queue) = self.flows.get_mut(slot)
        {
            return match direction {
                Direction::Enqueue => queue.comes(),
                Direction::Dequeue => queue.goes(),
            };
        }
        // An item that arrived gives a credit for a dequeue; a place that became free gives a
        // credit for an enqueue.
        let credits = match direction {
            Direction::Enqueue => {
                self.storage.tail_moves(slot);
                Direction::Dequeue
            }
            Direction::Dequeue => {
                self.storage.head_moves(slot);
                Direction::Enqueue
            }
        };
        if let Some(pools) = &mut self.pools[slot.0][credits as usize] {
            pools.replenish(now);
        }
    }

    fn run_reducers(&mut self, now: u64) -> bool {
        let before = self.reducers.next();
        let changed = self.reducers.run(&mut self.storage, now);
        self.counts.reduced += u64::from(changed && before.is_some_and(|ready| ready <= now));
        changed
    }

    /// Runs the timer: for buffers from which no request has been served for too long, for credits
    /// that were not spent for as long, and for timed requests.
    fn expire(&mut self, port: &mut Port<'_>) {
        let now = port.now();
        if self.look.is_none_or(|at| at > now) {
            return;
        }
        if self.settings.timeout > 0 {
            self.empty_late_buffers(port);
            self.age_credits(now);
        }
        self.age_tokens(port);
        self.lose_patience(port);
        let too_old = self.too_old_at().map(|(at, _)| at).chain(self.token_too_old_at());
        self.look = too_old.chain(self.patience_ends()).min();
    }

    /// Finds the contexts with a buffer from which nothing was served for too long, drops those of
    /// their requests that have waited for as long, and interrupts these contexts.
    fn empty_late_buffers(&mut self, port: &mut Port<'_>) {
        let (now, timeout) = (port.now(), self.settings.timeout);
        let mut late: Vec<u32> = self.too_old_at().filter(|(at, _)| *at <= now).filter_map(|(_, cpu)| cpu).collect();
        late.sort_unstable();
        late.dedup();
        if late.is_empty() {
            return;
        }
        let dropped = self.drop_requests(port, QueueRefusal::Dropped, |waiting| {
            waiting.since + timeout <= now && late.binary_search(&waiting.request.cpu).is_ok()
        });
        self.counts.dropped += dropped;
        for cpu in late {
            if let Some(cpu) = port.cpu(u64::from(cpu)) {
                port.interrupt(cpu);
            }
        }
    }

    /// Runs one cycle of an engine. Returns whether a queue has changed.
    fn one_turn(&mut self, engine: usize, port: &mut Port<'_>) -> bool {
        loop {
            let Some(picked) = self.engines[engine].buffers.pick() else { return false };
            let Some(&mut waiting) = self.engines[engine].buffers.head(picked) else { return false };
            let turn = self.try_one(&waiting, port.now());
            self.engines[engine].buffers.turn(picked);
            let answer = match turn {
                Turn::Served(answer) => answer.map(Given::from),
                Turn::Given(given) => Ok(given),
                Turn::Wait(why) => {
                    self.waits(engine, picked, why, port);
                    let engine = &mut self.engines[engine];
                    if engine.fails(picked) {
                        engine.asleep = Some(port.now() + 1);
                        return false;
                    }
                    if self.settings.retry == Retry::Slot {
                        return false;
                    }
                    continue;
                }
            };
            self.engines[engine].changed();
            self.engines[engine].buffers.pop(picked, port.now());
            port.reply(&waiting.request, port.now() + self.settings.latency.0, answer);
            return answer.is_ok();
        }
    }

    /// Records that a head must wait, and tells its thread the reason.
    fn waits(&mut self, engine: usize, picked: Picked, why: Hold, port: &mut Port<'_>) {
        self.counts.retries += 1;
        if let Some(head) = self.engines[engine].buffers.head(picked)
            && !head.told
        {
            head.told = true;
            port.hold(&head.request, why);
        }
    }

    /// Runs the turn of a request.
    fn try_one(&mut self, waiting: &Waiting, now: u64) -> Turn {
        let thread = waiting.request.subject.thread;
        match waiting.asked {
            QueueRequest::Enqueue { to, item } => self.try_enqueue(thread, to, item, now),
            QueueRequest::Dequeue { from: Operand { queue, mode: Mode::TakeCredits(of), .. } } => {
                let slot = self.storage.find(queue);
                if slot.is_some_and(|slot| self.storage.state(slot) != QueueState::Open) {
                    return Turn::Wait(Hold::Empty);
                }
                self.look_at(now);
                let pools = slot.and_then(|slot| self.pools[slot.0][of as usize].as_mut());
                Turn::Served(pools.map_or(Err(QueueRefusal::Refused), |pools| Ok(u64::from(pools.take(thread, now)))))
            }
            QueueRequest::Dequeue { from: Operand { queue, mode: Mode::Arm(of), .. } } => {
                Turn::Served(self.arm(&waiting.request, queue, of))
            }
            QueueRequest::Dequeue { from } => self.try_dequeue(thread, from, now),
            QueueRequest::Flow(asked) => self.try_flow(waiting, asked, now),
            _ => Turn::Served(Err(QueueRefusal::Refused)),
        }
    }

    fn try_enqueue(&mut self, thread: u32, to: Operand, item: u64, now: u64) -> Turn {
        let full = || match to.mode {
            Mode::Try => Turn::Served(Err(QueueRefusal::Full)),
            _ => Turn::Wait(Hold::Full),
        };
        let slot = match self.storage.find(to.queue) {
            Some(slot) => slot,
            None => match self.groups.pick(to.queue, &self.storage) {
                Balanced::To(slot) => slot,
                Balanced::Full => return full(),
                Balanced::Gone => return Turn::Served(Err(QueueRefusal::NoQueue)),
            },
        };
        if self.storage.state(slot) != QueueState::Open {
            return Turn::Wait(Hold::Full);
        }
        if self.has_flows(slot) {
            return Turn::Served(Err(QueueRefusal::Refused));
        }
        if !self.spends(slot, Direction::Enqueue, thread, now) {
            return Turn::Served(Err(QueueRefusal::NoCredit));
        }
        if !self.storage.put(slot, item) {
            return full();
        }
        self.counts.enqueued += 1;
        self.moves(slot, Direction::Enqueue, now);
        Turn::Served(Ok(0))
    }

    fn try_dequeue(&mut self, thread: u32, from: Operand, now: u64) -> Turn {
        let Some(slot) = self.storage.find(from.queue) else { return Turn::Served(Err(QueueRefusal::NoQueue)) };
        if self.storage.state(slot) != QueueState::Open {
            return Turn::Wait(Hold::Empty);
        }
        if self.has_flows(slot) {
            return Turn::Served(Err(QueueRefusal::Refused));
        }
        if !self.spends(slot, Direction::Dequeue, thread, now) {
            return Turn::Served(Err(QueueRefusal::NoCredit));
        }
        match self.storage.get(slot) {
            Some(item) => {
                self.counts.dequeued += 1;
                self.moves(slot, Direction::Dequeue, now);
                Turn::Served(Ok(item))
            }
            None if from.mode == Mode::Try => Turn::Served(Err(QueueRefusal::Empty)),
            None => Turn::Wait(Hold::Empty),
        }
    }

    /// Spends a credit of a thread, if the queue needs credits; there is then room, or an item.
    /// Returns false if the thread has none.
    fn spends(&mut self, slot: Slot, direction: Direction, thread: u32, now: u64) -> bool {
        let Some(pools) = &mut self.pools[slot.0][direction as usize] else { return true };
        let spent = pools.spend(thread, now);
        self.counts.no_credit += u64::from(!spent);
        spent
    }

    /// Moves a head or a tail: now, or when the access to the SRAM is done.
    pub(super) fn moves(&mut self, slot: Slot, direction: Direction, now: u64) {
        match self.settings.pointers {
            Pointers::Grant => self.end_move(slot, direction, now),
            Pointers::Access => self.moves.0.push_back((now + self.settings.latency.0, slot, direction)),
        }
    }

    /// Checks that credits and places together are as many as the entries, and that threads keep
    /// to their shares. Where enqueues need credits, unspent credits and used places count; where
    /// dequeues need credits, unspent credits and items count.
    fn check(&self) {
        for (slot, [enqueue, dequeue]) in self.pools.iter().enumerate() {
            let Some(queue) = self.storage.queue(Slot(slot)) else { continue };
            assert!(queue.used() <= queue.entries(), "items of queue {slot}");
            if self.storage.state(Slot(slot)) != QueueState::Open {
                // A moving queue is checked when it opens: until then its items and credits arrive
                // one by one.
                continue;
            }
            if let Some(pools) = enqueue {
                assert_eq!(pools.total() + queue.used(), queue.entries(), "credits of enqueues, queue {slot}");
            }
            if let Some(pools) = dequeue {
                assert_eq!(pools.total(), queue.items(), "credits of dequeues, queue {slot}");
            }
            let shared = |pools: &Option<Pools>| pools.as_ref().is_none_or(Pools::keeps_shares);
            assert!(shared(enqueue) && shared(dequeue), "shares of the credits, queue {slot}");
        }
        self.flows.check(|slot| self.storage.state(slot) == QueueState::Open);
    }
}
