//! Moves a queue to another device, in steps that only the operating system asks for (section 5.2).
//! The paper says that queues can move but not how, so that the steps are our own.
//!
//! 1. A queue is made at the new device, and closed: requests for the queue wait, whatever their
//!    mode. Then the old queue is closed.
//! 2. Items, credit pools and members are read at the old device and written at the new device.
//!    Whose turn it is to get a credit comes along, and so do all tables of a queue with flows.
//! 3. The new queue opens. The old queue keeps its id and slot, has no entries any more, and sends
//!    all requests on: their cores make them again at the new device.

use super::Qmd;
use super::buffers::aim;
use super::flows::queue::carried::Carried;
use super::storage::{QueueState, Slot};
use crate::peripheral::port::{Answer, Port, Request};
use baton_machine::queues::{QueueId, QueueRefusal};

/// The first tag that the protocol does not use.
pub const FIRST_STEP: u32 = 64;

/// The word of [`Step::Retire`] that stands for any queue.
pub const ANY_QUEUE: u64 = u64::MAX;

/// A step that only the operating system asks for: of a move, with the id of the queue in the low
/// half of the first word, or for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Closes the queue: requests for it wait from now on. The answer is the number of items in the
    /// queue, and the number of rows of its tables if it has flows.
    Close,
    /// Reads the item at the position in the second word, counted from the front.
    Peek,
    /// Puts the item in the second word at the end of the queue.
    Load,
    /// Reads the number of credits in a direction's global pool, the number of its members, and
    /// whose turn it is with what is left of it.
    Pool,
    /// Sets the global pool of the direction in the high half of the first word to the number in
    /// the second word, and the turn to that in the third word.
    SetPool,
    /// Reads the member with the number in the third word, of a direction: thread and weight, local
    /// credits, and credits given out.
    Member,
    /// Adds a member for the direction in the high half of the first word, in the form in which
    /// [`Step::Member`] answers.
    SetMember,
    /// Reads the row in the second word of the tables of a queue with flows ([`Carried`]).
    Row,
    /// Adds a row to the tables of a queue with flows; the row's kind is the high half of the first
    /// word.
    SetRow,
    /// Opens the queue: requests for it are served.
    Open,
    /// Gives the queue up: requests for it go on to the queue in the second word, at the device in
    /// the third word.
    SendOn,
    /// Drops the waiting requests of the thread in the first word, and interrupts their contexts: a
    /// guard thread's means against a thread that waits for ever. The answer is their number.
    Drain,
    /// The thread in the first word ends, or may not use the queue in the second word any more
    /// (all ones: any queue): its credits come back, and its requests that wait for the one queue
    /// are refused. The answer is the number of credits.
    Retire,
}

const STEPS: [Step; 13] = [
    Step::Close,
    Step::Peek,
    Step::Load,
    Step::Pool,
    Step::SetPool,
    Step::Member,
    Step::SetMember,
    Step::Row,
    Step::SetRow,
    Step::Open,
    Step::SendOn,
    Step::Drain,
    Step::Retire,
];

impl Step {
    /// The tag of the step.
    pub fn tag(self) -> u32 {
        FIRST_STEP + self as u32
    }

    /// Returns the step with this tag.
    pub(super) fn of(tag: u32) -> Option<Step> {
        STEPS.get(tag.checked_sub(FIRST_STEP)? as usize).copied()
    }
}

fn two(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

impl Qmd {
    /// Does a step.
    pub(super) fn step(&mut self, what: Step, request: &Request, port: &mut Port<'_>) -> Answer {
        let done = self.try_step(what, request, port);
        self.counts.refused += u64::from(done.is_err());
        done.unwrap_or_else(|refusal| Answer::refused(refusal as u32))
    }

    fn try_step(&mut self, what: Step, request: &Request, port: &mut Port<'_>) -> Result<Answer, QueueRefusal> {
        let [first, second, third] = request.words;
        let (id, now) = (QueueId(first as u32), port.now());
        match what {
            Step::Drain => return Ok(Answer::done(self.drain(first, port))),
            Step::Retire => return Ok(Answer::done(self.retire(first as u32, second, port))),
            _ => {}
        }
        let slot = self.own(id, request.subject.domain)?;
        if (self.storage.state(slot) == QueueState::Closed) == (what == Step::Close) {
            return Err(QueueRefusal::Refused);
        }
        match what {
            Step::Close => return self.close(slot, now),
            Step::Peek => return self.storage.peek(slot, second).map(Answer::done).ok_or(QueueRefusal::Refused),
            Step::Load => {
                if !self.storage.put(slot, second) {
                    return Err(QueueRefusal::NoRoom);
                }
                self.storage.tail_moves(slot);
            }
            Step::Pool | Step::SetPool | Step::Member | Step::SetMember => {
                return self.pool_step(what, slot, [first, second, third], now);
            }
            Step::Row => {
                let ([first, second], kind) = self.flows.row(slot, second).ok_or(QueueRefusal::Refused)?.to_words();
                return Ok(Answer { more: [second, kind.into()], ..Answer::done(first) });
            }
            Step::SetRow => {
                let row = Carried::from_words([second, third], (first >> 32) as u32).ok_or(QueueRefusal::Refused)?;
                self.flows.restore(slot, row, now)?;
            }
            Step::Open => {
                self.storage.set_state(slot, QueueState::Open);
                self.wake_all(now);
                if self.has_flows(slot) {
                    // Items in hand age again.
                    self.look_by(now + 1);
                }
            }
            Step::SendOn => {
                let (device, queue) = (third as u32, QueueId(second as u32));
                self.storage.leave(slot, QueueState::Gone { device, queue });
                self.pools[slot.0] = [None, None];
                self.flows.depart(slot);
                let mut gone = Vec::new();
                self.take_out(now, |waiting| aim(&waiting.asked).1.queue == id, |waiting| gone.push(waiting.request));
                gone.iter().for_each(|request| self.send_on(request, device, queue, port));
            }
            Step::Drain | Step::Retire => return Err(QueueRefusal::Refused),
        }
        Ok(Answer::done(0))
    }

    /// Closes a queue, after making the pending moves of its head and tail. Returns the number of
    /// items, and of rows of its tables.
    fn close(&mut self, slot: Slot, now: u64) -> Result<Answer, QueueRefusal> {
        if self.storage.state(slot) != QueueState::Open {
            return Err(QueueRefusal::Refused);
        }
        for direction in self.moves.take(slot) {
            self.end_move(slot, direction, now);
        }
        self.pools[slot.0].iter_mut().flatten().for_each(|pools| pools.deal(now));
        self.storage.set_state(slot, QueueState::Closed);
        if let Some(queue) = self.flows.get(slot) {
            let (items, rows) = (queue.items() as u64, self.flows.rows(slot).len() as u64);
            return Ok(Answer { more: [rows, 0], ..Answer::done(items) });
        }
        Ok(Answer::done(self.storage.queue(slot).map_or(0, |queue| u64::from(queue.items()))))
    }

    fn pool_step(
        &mut self,
        what: Step,
        slot: Slot,
        [first, second, third]: [u64; 3],
        now: u64,
    ) -> Result<Answer, QueueRefusal> {
        let way = if matches!(what, Step::SetMember | Step::SetPool) { first >> 32 } else { second };
        let pools = self.pools[slot.0].get_mut(way as usize).and_then(Option::as_mut).ok_or(QueueRefusal::Refused)?;
        match what {
            Step::Pool => {
                let [global, members, turn, left] = pools.size();
                return Ok(Answer { more: [u64::from(members), two(turn, left)], ..Answer::done(u64::from(global)) });
            }
            Step::Member => {
                let [thread, weight, local, given] = pools.member(third as usize).ok_or(QueueRefusal::Refused)?;
                return Ok(Answer { more: [two(local, given), 0], ..Answer::done(two(thread, weight)) });
            }
            Step::SetPool => pools.restore(second as u32, halves(third), now),
            _ => {
                let ([thread, weight], [local, given]) = (halves(second), halves(third));
                pools.restore_member([thread, weight, local, given], now);
            }
        }
        Ok(Answer::done(0))
    }

    /// Returns a request to its core, which makes it again at the device that its queue has moved
    /// to.
    pub(super) fn send_on(&mut self, request: &Request, device: u32, queue: QueueId, port: &mut Port<'_>) {
        let [register, second, third] = request.words;
        self.counts.sent_on += 1;
        port.forward(request, device, [register & !u64::from(u32::MAX) | u64::from(queue.0), second, third]);
    }
}
