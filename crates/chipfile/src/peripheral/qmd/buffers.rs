//! Request buffers, and the scheduler that picks one buffer in each cycle (section 3.2).
//!
//! For each priority there is a buffer for enqueues and a buffer for dequeues. With
//! [`Sharing::Context`] each buffer consists of a virtual buffer for each context, and these take
//! turns. With [`Sharing::All`] a buffer is shared by all contexts, and a request that cannot be
//! served delays requests of other contexts (figure 4 of the paper).
//!
//! Requests for credits, and those that arm a thread, have a buffer of their own, because they never
//! wait for an item: behind a dequeue that waits, they would wait for no reason of their own.
//!
//! The scheduler tries the head of the buffer that it picks. If the queue of that request is full,
//! or empty, the request stays and blocks its buffer. With [`Retry::Slot`], a failed try costs the
//! cycle; with [`Retry::Free`], the scheduler knows beforehand that a try would fail and skips the
//! buffer.

use crate::peripheral::port::Request;
use baton_machine::queues::{Direction, Operand, QueueRequest};
use std::collections::VecDeque;

/// The contexts that share a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// All contexts.
    All,
    /// Each context has a buffer of its own.
    Context,
}

/// The rule by which the scheduler picks a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Buffers with requests take turns, one pick each.
    RoundRobin,
    /// Buffers take turns; a buffer of priority p has p + 1 picks in its turn.
    Weighted,
}

/// The cost of a try that cannot be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The engine's cycle.
    Slot,
    /// Nothing.
    Free,
}

/// The buffer that a request waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// The buffer for requests of a direction and a priority.
    Items(Direction, u8),
    /// The buffer for requests that never wait: for credits, and of threads that ask to be
    /// interrupted. The engine for dequeues serves it.
    Prompt,
}

impl Lane {
    /// The direction whose engine serves the buffer.
    pub(super) fn direction(self) -> Direction {
        match self {
            Lane::Items(direction, _) => direction,
            Lane::Prompt => Direction::Dequeue,
        }
    }
}

/// A request that waits.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) request: Request,
    pub(super) asked: QueueRequest,
    pub(super) lane: Lane,
    /// The time from which the timer counts: the request's arrival, or a later service of the
    /// request before it in its buffer.
    pub(super) since: u64,
    /// Whether the thread that made the request has been told why the request waits.
    pub(super) told: bool,
    /// Number of the engine's last change after which the request was tried as a head; 0: it was
    /// never tried.
    pub(super) tried: u64,
}

/// Returns the direction of a request for a queue, and its operand.
///
/// # Panics
/// The request is not for a queue; buffers hold no such requests.
pub(super) fn aim(asked: &QueueRequest) -> (Direction, Operand) {
    match *asked {
        QueueRequest::Enqueue { to, .. } => (Direction::Enqueue, to),
        QueueRequest::Dequeue { from } => (Direction::Dequeue, from),
        _ => unreachable!("{asked:?} in a buffer"),
    }
}

/// The requests of one direction and priority, or those that never wait.
struct Buffer {
    lane: Lane,
    /// Number of picks of the buffer in a turn.
    weight: u32,
    /// The lines of the buffer, by context; with [`Sharing::All`] there is one line for all
    /// contexts.
    lines: Vec<VecDeque<Waiting>>,
    /// Number of the line that has its turn.
    turn: usize,
    /// Number of requests in all lines.
    count: usize,
}

impl Buffer {
    /// Returns the line that has its turn: the first line from `turn` on that has requests.
    fn pick(&self) -> Option<usize> {
        let lines = self.lines.len();
        let from = self.turn..self.turn + lines;
        if self.count == 0 { None } else { from.map(|at| at % lines).find(|&line| !self.lines[line].is_empty()) }
    }
}

/// A line that was picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Picked {
    buffer: usize,
    line: usize,
}

/// The buffers from which one engine takes its requests.
pub(super) struct Buffers {
    buffers: Vec<Buffer>,
    sharing: Sharing,
    /// Number of the buffer that has its turn, and its remaining picks in this turn.
    turn: usize,
    left: u32,
}

impl Buffers {
    /// The buffers of these directions, with `priorities` priorities.
    pub(super) fn new(directions: &[Direction], priorities: u32, sharing: Sharing, schedule: Schedule) -> Buffers {
        let weight = |lane| match lane {
            Lane::Items(_, priority) if schedule == Schedule::Weighted => u32::from(priority) + 1,
            _ => 1,
        };
        let buffer = |lane| Buffer { lane, weight: weight(lane), lines: Vec::new(), turn: 0, count: 0 };
        let each = |&direction| (0..priorities as u8).map(move |priority| Lane::Items(direction, priority));
        let credits = directions.contains(&Direction::Dequeue).then_some(Lane::Prompt);
        let buffers: Vec<Buffer> = directions.iter().flat_map(each).chain(credits).map(buffer).collect();
        let left = buffers[0].weight;
        Buffers { buffers, sharing, turn: 0, left }
    }

    /// Returns the number of requests that wait.
    pub(super) fn len(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.count).sum()
    }

    /// Returns the line for a context's requests in a buffer.
    #[inline]
    fn line(&mut self, lane: Lane, cpu: u32) -> Picked {
        let buffer = self.buffers.iter().position(|buffer| buffer.lane == lane);
        let buffer = buffer.expect("an engine is asked for what it serves");
        let line = if self.sharing == Sharing::Context { cpu as usize } else { 0 };
        let lines = &mut self.buffers[buffer].lines;
        if lines.len() <= line {
            lines.resize_with(line + 1, VecDeque::new);
        }
        Picked { buffer, line }
    }

    /// Returns the number of requests in the line that this request would join.
    #[inline]
    pub(super) fn ahead(&mut self, lane: Lane, cpu: u32) -> usize {
        let Picked { buffer, line } = self.line(lane, cpu);
        self.buffers[buffer].lines[line].len()
    }

    /// Adds a request at the end of its line.
    #[inline]
    pub(super) fn push(&mut self, waiting: Waiting) {
        let Picked { buffer, line } = self.line(waiting.lane, waiting.request.cpu);
        let buffer = &mut self.buffers[buffer];
        buffer.lines[line].push_back(waiting);
        buffer.count += 1;
    }

    /// Returns the buffer that has its turn, among the buffers with requests.
    pub(super) fn pick(&self) -> Option<Picked> {
        let buffers = self.buffers.len();
        let from = if self.left == 0 { self.turn + 1 } else { self.turn };
        (from..=from + buffers).map(|at| at % buffers).find_map(|buffer| {
            let line = self.buffers[buffer].pick()?;
            Some(Picked { buffer, line })
        })
    }

    /// Counts a pick: the next buffer, or the next line, has its turn.
    pub(super) fn turn(&mut self, Picked { buffer, line }: Picked) {
        if buffer != self.turn || self.left == 0 {
            (self.turn, self.left) = (buffer, self.buffers[buffer].weight);
        }
        self.left -= 1;
        let lines = self.buffers[buffer].lines.len();
        self.buffers[buffer].turn = (line + 1) % lines;
    }

    /// Returns the head of a line.
    pub(super) fn head(&mut self, Picked { buffer, line }: Picked) -> Option<&mut Waiting> {
        self.buffers[buffer].lines[line].front_mut()
    }

    /// Removes the head of a line, which was served. The next request is the head from `now` on.
    #[inline]
    pub(super) fn pop(&mut self, Picked { buffer, line }: Picked, now: u64) -> Option<Waiting> {
        let buffer = &mut self.buffers[buffer];
        let served = buffer.lines[line].pop_front()?;
        buffer.count -= 1;
        if let Some(next) = buffer.lines[line].front_mut() {
            next.since = next.since.max(now);
        }
        Some(served)
    }

    /// Skips `picks` failed picks and advances the round-robin.
    pub(super) fn fail(&mut self, picks: u64) {
        // The first pick moves the turn to a buffer with requests; after that, turns repeat every
        // `round` picks.
        let Some(first) = self.pick().filter(|_| picks > 0) else { return };
        self.turn(first);
        let weights = self.buffers.iter().filter(|buffer| buffer.count > 0).map(|buffer| u64::from(buffer.weight));
        let round: u64 = weights.sum();
        for buffer in &mut self.buffers {
            let lines = buffer.lines.iter().filter(|line| !line.is_empty()).count() as u64;
            let picks = (picks - 1) / round * u64::from(buffer.weight);
            for _ in 0..picks.checked_rem(lines).unwrap_or(0) {
                if let Some(line) = buffer.pick() {
                    buffer.turn = (line + 1) % buffer.lines.len();
                }
            }
        }
        for _ in 0..(picks - 1) % round {
            if let Some(next) = self.pick() {
                self.turn(next);
            }
        }
    }

    /// Returns the number of lines that have requests.
    pub(super) fn lines(&self) -> usize {
        self.buffers.iter().flat_map(|buffer| &buffer.lines).filter(|line| !line.is_empty()).count()
    }

    /// Returns the heads of all lines that have requests.
    pub(super) fn heads(&self) -> impl Iterator<Item = &Waiting> {
        self.buffers.iter().flat_map(|buffer| &buffer.lines).filter_map(VecDeque::front)
    }

    /// Returns the first request of each line for which `which` holds, and whether the head of the
    /// line was tried in vain.
    pub(super) fn firsts(&self, which: impl Fn(&Waiting) -> bool + Copy) -> impl Iterator<Item = (&Waiting, bool)> {
        let lines = self.buffers.iter().flat_map(|buffer| &buffer.lines);
        lines.filter_map(move |line| Some((line.iter().find(|waiting| which(waiting))?, line.front()?.tried != 0)))
    }

    /// Returns the requests that wait in a context's lines, or in lines that contexts share.
    pub(super) fn waiting(&self, cpu: u32) -> impl Iterator<Item = &Waiting> {
        let line = if self.sharing == Sharing::Context { cpu as usize } else { 0 };
        self.buffers.iter().filter_map(move |buffer| buffer.lines.get(line)).flatten()
    }

    /// Returns all requests.
    pub(super) fn all(&self) -> impl Iterator<Item = &Waiting> {
        self.buffers.iter().flat_map(|buffer| &buffer.lines).flatten()
    }

    /// Removes all requests for which `which` holds, the oldest of a line first.
    pub(super) fn remove(
        &mut self,
        now: u64,
        mut which: impl FnMut(&Waiting) -> bool,
        mut removed: impl FnMut(Waiting),
    ) {
        for buffer in &mut self.buffers {
            for line in &mut buffer.lines {
                let before = line.len();
                let head = line.front().map(|waiting| waiting.request);
                line.retain(|waiting| {
                    let goes = which(waiting);
                    if goes {
                        removed(*waiting);
                    }
                    !goes
                });
                buffer.count -= before - line.len();
                if let Some(next) = line.front_mut().filter(|next| Some(next.request) != head) {
                    next.since = next.since.max(now);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peripheral::port::Subject;
    use baton_machine::queues::QueueId;

    fn waiting(lane: Lane, cpu: u32) -> Waiting {
        let asked = QueueRequest::Dequeue { from: Operand::of(QueueId(0)) };
        let subject = Subject::default();
        let request = Request { packet: cpu, op: 0, words: [0; 3], privileged: false, cpu, subject };
        Waiting { request, asked, lane, since: 0, told: false, tried: 0 }
    }

    /// Makes buffers that hold requests of these directions, priorities and contexts.
    fn buffers(sharing: Sharing, schedule: Schedule, requests: &[(Direction, u8, u32)]) -> Buffers {
        let mut buffers = Buffers::new(&[Direction::Enqueue, Direction::Dequeue], 3, sharing, schedule);
        for &(direction, priority, cpu) in requests {
            buffers.push(waiting(Lane::Items(direction, priority), cpu));
        }
        buffers
    }

    fn picks(buffers: &mut Buffers, count: usize) -> Vec<(usize, usize)> {
        let one = |_| {
            let picked = buffers.pick().expect("there are requests");
            buffers.turn(picked);
            (picked.buffer, picked.line)
        };
        (0..count).map(one).collect()
    }

    use Direction::{Dequeue, Enqueue};

    #[test]
    fn buffers_have_turns_and_contexts_in_them() {
        let requests = [(Enqueue, 0, 5), (Enqueue, 0, 2), (Dequeue, 1, 0)];
        let mut here = buffers(Sharing::Context, Schedule::RoundRobin, &requests);
        assert_eq!(picks(&mut here, 6), [(0, 2), (4, 0), (0, 5), (4, 0), (0, 2), (4, 0)]);
        let mut here = buffers(Sharing::All, Schedule::RoundRobin, &requests);
        assert_eq!(picks(&mut here, 3), [(0, 0), (4, 0), (0, 0)]);
    }

    #[test]
    fn a_higher_priority_has_more_turns_where_they_have_weights() {
        let requests = [(Enqueue, 0, 0), (Enqueue, 2, 0)];
        let mut here = buffers(Sharing::All, Schedule::Weighted, &requests);
        assert_eq!(picks(&mut here, 8).iter().filter(|&&(buffer, _)| buffer == 2).count(), 6);
        let mut here = buffers(Sharing::All, Schedule::RoundRobin, &requests);
        assert_eq!(picks(&mut here, 8).iter().filter(|&&(buffer, _)| buffer == 2).count(), 4);
    }

    #[test]
    fn many_failing_picks_at_once_are_those_one_by_one() {
        let requests =
            [(Enqueue, 0, 5), (Enqueue, 0, 2), (Enqueue, 2, 1), (Dequeue, 1, 0), (Dequeue, 1, 3), (Dequeue, 1, 4)];
        for schedule in [Schedule::RoundRobin, Schedule::Weighted] {
            for before in 0..7 {
                for count in 0..40 {
                    let make = || {
                        let mut here = buffers(Sharing::Context, schedule, &requests);
                        picks(&mut here, before);
                        here
                    };
                    let (mut one_by_one, mut at_once) = (make(), make());
                    picks(&mut one_by_one, count);
                    at_once.fail(count as u64);
                    assert_eq!(picks(&mut at_once, 12), picks(&mut one_by_one, 12), "{schedule:?} {before} {count}");
                }
            }
        }
    }
}
