//! Request buffers, and the scheduler that picks one buffer in each cycle (section 3.2).
//!
//! For each priority there is a buffer for enqueues and a buffer for dequeues. With
//! [`Sharing::Context`] each buffer consists of a virtual buffer for each context, and these take
//! turns. With [`Sharing::All`] a buffer is shared by all contexts, and a request that cannot be
//! served delays requests of other contexts (figure 4 of the paper).
//!
//! A thread that loses its CPU leaves its posted requests behind. When the next thread of the context
//! sends a request of the same buffer, they stand aside, in a line of their thread's own: so no
//! thread waits behind a request of another one. The thread's later requests join that line, from
//! whatever context they come, so that its order stays.
//!
//! Requests for credits, and those that arm a thread, have a buffer of their own, because they never
//! wait for an item: behind a dequeue that waits, they would wait for no reason of their own.
//!
//! The scheduler tries the head of the buffer that it picks. If the queue of that request is full,
//! or empty, the request stays and blocks its buffer. With [`Retry::Slot`], a failed try costs the
//! cycle; with [`Retry::Free`], the scheduler knows beforehand that a try would fail and skips the
//! buffer.

use super::settings::QmdSettings;
use crate::peripheral::port::Request;
use baton_machine::flows::{FlowRequest, Token};
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
        QueueRequest::Flow(FlowRequest::Send { to, .. }) => (Direction::Enqueue, to),
        QueueRequest::Flow(FlowRequest::Receive { from }) => (Direction::Dequeue, from),
        QueueRequest::Flow(FlowRequest::Complete { queue, .. }) => (Direction::Enqueue, Operand::of(queue)),
        _ => unreachable!("{asked:?} in a buffer"),
    }
}

/// The token that a request carries.
pub(super) fn token_of(asked: &QueueRequest) -> Option<Token> {
    if let QueueRequest::Flow(asked) = asked { asked.token() } else { None }
}

/// The requests of one direction and priority, or those that never wait.
struct Buffer {
    lane: Lane,
    /// Number of picks of the buffer in a turn.
    weight: u32,
    /// The lines of the buffer, by context; with [`Sharing::All`] there is one line for all
    /// contexts.
    lines: Vec<VecDeque<Waiting>>,
    /// The lines of threads whose requests stand aside; a thread has at most one. They are numbered
    /// behind the contexts' lines.
    aside: Vec<VecDeque<Waiting>>,
    /// Number of the line that has its turn.
    turn: usize,
    /// Number of requests in all lines.
    count: usize,
}

/// The thread that made a request.
fn thread(waiting: &Waiting) -> u32 {
    waiting.request.subject.thread
}

impl Buffer {
    /// Returns the number of the line of this buffer that is served next: the first from `turn` on,
    /// going round, that has requests; `None` if the buffer is empty.
    #[inline]
    fn pick(&self) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        if self.aside.is_empty() {
            let (before, from) = self.lines.split_at(self.turn);
            let full = |line: &VecDeque<Waiting>| !line.is_empty();
            return from.iter().position(full).map(|at| self.turn + at).or_else(|| before.iter().position(full));
        }
        let lines = self.lines.len() + self.aside.len();
        (self.turn..self.turn + lines).map(|at| at % lines).find(|&line| !self.line(line).is_empty())
    }

    #[inline]
    fn line(&self, number: usize) -> &VecDeque<Waiting> {
        self.lines.get(number).unwrap_or_else(|| &self.aside[number - self.lines.len()])
    }

    #[inline]
    fn line_mut(&mut self, number: usize) -> &mut VecDeque<Waiting> {
        let contexts = self.lines.len();
        if number < contexts { &mut self.lines[number] } else { &mut self.aside[number - contexts] }
    }

    fn all(&self) -> impl Iterator<Item = &VecDeque<Waiting>> {
        self.lines.iter().chain(&self.aside)
    }

    /// Gives the line of a request of `of` that comes from a context. Requests of other threads in
    /// the context's line, and those of `of` in other contexts' lines, stand aside from now on, as
    /// far as there are `most` lines for that.
    fn make_way(&mut self, cpu: usize, of: u32, moved: bool, most: usize) -> usize {
        if self.lines[cpu].iter().any(|waiting| thread(waiting) != of) {
            self.stand_aside(cpu, |other| other != of, most);
        }
        if moved {
            (0..self.lines.len()).filter(|&other| other != cpu).for_each(|other| {
                self.stand_aside(other, |thread| thread == of, most);
            });
        }
        self.own_line(of).map_or(cpu, |own| self.lines.len() + own)
    }

    /// Moves the requests of threads for which `which` holds from a context's line into lines of
    /// their threads' own.
    fn stand_aside(&mut self, cpu: usize, which: impl Fn(u32) -> bool, most: usize) {
        let line = std::mem::take(&mut self.lines[cpu]);
        let (goes, stays): (Vec<Waiting>, Vec<Waiting>) = line.into_iter().partition(|waiting| which(thread(waiting)));
        self.lines[cpu] = stays.into();
        for waiting in goes {
            let free = || self.aside.iter().position(VecDeque::is_empty);
            let line = self.own_line(thread(&waiting)).or_else(free);
            match line {
                Some(line) => self.aside[line].push_back(waiting),
                None if self.aside.len() < most => self.aside.push(VecDeque::from([waiting])),
                None => self.lines[cpu].push_back(waiting),
            }
        }
    }

    /// The number of a thread's own line among those aside, if its requests stand there.
    fn own_line(&self, of: u32) -> Option<usize> {
        self.aside.iter().position(|line| line.front().is_some_and(|waiting| thread(waiting) == of))
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
    /// Number of threads whose requests can stand aside, in each buffer.
    aside: usize,
    /// The context from which each thread's last request came.
    homes: Vec<u32>,
    /// Number of the buffer that has its turn, and its remaining picks in this turn.
    turn: usize,
    left: u32,
}

impl Buffers {
    /// The buffers of these directions.
    pub(super) fn new(directions: &[Direction], settings: &QmdSettings) -> Buffers {
        let QmdSettings { priorities, buffers: sharing, schedule, .. } = *settings;
        let weight = |lane| match lane {
            Lane::Items(_, priority) if schedule == Schedule::Weighted => u32::from(priority) + 1,
            _ => 1,
        };
        let buffer = |lane| {
            let (lines, aside) = (Vec::new(), Vec::new());
            Buffer { lane, weight: weight(lane), lines, aside, turn: 0, count: 0 }
        };
        let each = |&direction| (0..priorities as u8).map(move |priority| Lane::Items(direction, priority));
        let credits = directions.contains(&Direction::Dequeue).then_some(Lane::Prompt);
        let buffers: Vec<Buffer> = directions.iter().flat_map(each).chain(credits).map(buffer).collect();
        let left = buffers[0].weight;
        let aside = if sharing == Sharing::Context { settings.aside.0 as usize } else { 0 };
        Buffers { buffers, sharing, aside, homes: Vec::new(), turn: 0, left }
    }

    /// Returns the number of requests that wait.
    pub(super) fn len(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.count).sum()
    }

    /// Returns the number of a buffer, and of the line for a context's requests in it.
    #[inline]
    fn line(&mut self, lane: Lane, cpu: u32) -> (usize, usize) {
        let buffer = self.buffers.iter().position(|buffer| buffer.lane == lane);
        let buffer = buffer.expect("an engine is asked for what it serves");
        let line = if self.sharing == Sharing::Context { cpu as usize } else { 0 };
        let lines = &mut self.buffers[buffer].lines;
        if lines.len() <= line {
            lines.resize_with(line + 1, VecDeque::new);
        }
        (buffer, line)
    }

    /// Whether all requests of a buffer stand in their contexts' lines, and this line has none of
    /// another thread.
    #[inline]
    fn is_plain(&self, buffer: usize, line: usize, of: u32) -> bool {
        let buffer = &self.buffers[buffer];
        buffer.aside.is_empty() && buffer.lines[line].front().is_none_or(|front| thread(front) == of)
    }

    /// Returns the number of requests in the line that a thread's request would join.
    #[inline]
    pub(super) fn ahead(&mut self, lane: Lane, cpu: u32, of: u32) -> usize {
        let (buffer, line) = self.line(lane, cpu);
        if self.aside == 0 || self.is_plain(buffer, line, of) {
            return self.buffers[buffer].lines[line].len();
        }
        let buffer = &self.buffers[buffer];
        if let Some(own) = buffer.own_line(of) {
            return buffer.aside[own].len();
        }
        let room = buffer.aside.len() < self.aside || buffer.aside.iter().any(VecDeque::is_empty);
        buffer.lines[line].iter().filter(|waiting| !room || thread(waiting) == of).count()
    }

    /// Adds a request at the end of its line.
    #[inline]
    pub(super) fn push(&mut self, waiting: Waiting) {
        let (cpu, of) = (waiting.request.cpu, thread(&waiting));
        let (buffer, mut line) = self.line(waiting.lane, cpu);
        if self.aside != 0 {
            let moved = self.moved(of, cpu);
            if moved || !self.is_plain(buffer, line, of) {
                line = self.buffers[buffer].make_way(line, of, moved, self.aside);
            }
        }
        let buffer = &mut self.buffers[buffer];
        buffer.line_mut(line).push_back(waiting);
        buffer.count += 1;
    }

    /// Notes the context from which a thread's request comes. Returns whether it is another one
    /// than that of the thread's last request.
    #[inline]
    fn moved(&mut self, of: u32, cpu: u32) -> bool {
        const NONE: u32 = u32::MAX;
        let of = of as usize;
        if self.homes.len() <= of {
            self.homes.resize(of + 1, NONE);
        }
        let before = std::mem::replace(&mut self.homes[of], cpu);
        before != cpu && before != NONE
    }

    /// Returns the buffer that has its turn, among the buffers with requests.
    pub(super) fn pick(&self) -> Option<Picked> {
        let from = if self.left == 0 { self.turn + 1 } else { self.turn };
        let of = |buffer: usize| self.buffers[buffer].pick().map(|line| Picked { buffer, line });
        (from..self.buffers.len()).find_map(of).or_else(|| (0..from).find_map(of))
    }

    /// Counts a pick: the next buffer, or the next line, has its turn.
    pub(super) fn turn(&mut self, Picked { buffer, line }: Picked) {
        if buffer != self.turn || self.left == 0 {
            (self.turn, self.left) = (buffer, self.buffers[buffer].weight);
        }
        self.left -= 1;
        let of = &mut self.buffers[buffer];
        of.turn = (line + 1) % (of.lines.len() + of.aside.len());
    }

    /// Returns the head of a line.
    pub(super) fn head(&mut self, Picked { buffer, line }: Picked) -> Option<&mut Waiting> {
        self.buffers[buffer].line_mut(line).front_mut()
    }

    /// Removes the head of a line, which was served. The next request is the head from `now` on.
    #[inline]
    pub(super) fn pop(&mut self, Picked { buffer, line }: Picked, now: u64) -> Option<Waiting> {
        let buffer = &mut self.buffers[buffer];
        let line = buffer.line_mut(line);
        let served = line.pop_front()?;
        if let Some(next) = line.front_mut() {
            next.since = next.since.max(now);
        }
        buffer.count -= 1;
        Some(served)
    }

    /// Skips `picks` failed picks and advances the round-robin.
    pub(super) fn fail(&mut self, picks: u64) {
        // The first pick moves the turn to a buffer with requests; after that, turns repeat every
        // `round` picks.
        if picks == 0 {
            return;
        }
        let Some(first) = self.pick() else { return };
        self.turn(first);
        let weights = self.buffers.iter().filter(|buffer| buffer.count > 0).map(|buffer| u64::from(buffer.weight));
        let round: u64 = weights.sum();
        for buffer in &mut self.buffers {
            let lines = buffer.all().filter(|line| !line.is_empty()).count() as u64;
            let picks = (picks - 1) / round * u64::from(buffer.weight);
            for _ in 0..picks.checked_rem(lines).unwrap_or(0) {
                if let Some(line) = buffer.pick() {
                    buffer.turn = (line + 1) % (buffer.lines.len() + buffer.aside.len());
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
        let used = |lines: &[VecDeque<Waiting>]| lines.iter().filter(|line| !line.is_empty()).count();
        self.buffers.iter().map(|buffer| used(&buffer.lines) + used(&buffer.aside)).sum()
    }

    /// Returns the heads of all lines that have requests.
    pub(super) fn heads(&self) -> impl Iterator<Item = &Waiting> {
        self.buffers.iter().flat_map(Buffer::all).filter_map(VecDeque::front)
    }

    /// Returns the first request of each line for which `which` holds, and whether the head of the
    /// line was tried in vain.
    pub(super) fn firsts(&self, which: impl Fn(&Waiting) -> bool + Copy) -> impl Iterator<Item = (&Waiting, bool)> {
        let lines = self.buffers.iter().flat_map(Buffer::all);
        lines.filter_map(move |line| Some((line.iter().find(|waiting| which(waiting))?, line.front()?.tried != 0)))
    }

    /// Returns the requests that wait in a context's lines, in lines that contexts share, or aside.
    pub(super) fn waiting(&self, cpu: u32) -> impl Iterator<Item = &Waiting> {
        let line = if self.sharing == Sharing::Context { cpu as usize } else { 0 };
        self.buffers.iter().flat_map(move |buffer| buffer.lines.get(line).into_iter().chain(&buffer.aside)).flatten()
    }

    /// Returns all requests.
    pub(super) fn all(&self) -> impl Iterator<Item = &Waiting> {
        self.buffers.iter().flat_map(Buffer::all).flatten()
    }

    /// Removes all requests for which `which` holds, the oldest of a line first.
    pub(super) fn remove(
        &mut self,
        now: u64,
        mut which: impl FnMut(&Waiting) -> bool,
        mut removed: impl FnMut(Waiting),
    ) {
        for buffer in &mut self.buffers {
            for line in buffer.lines.iter_mut().chain(&mut buffer.aside) {
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
mod tests;
