//! What each thread spent its time on, so that a request can be given the part that belongs to it.

use super::found::Part;
use crate::analysis::objects::ObjectId;
use crate::clock::Ticks;
use crate::event::{Event, OffReason, ThreadIndex, What};
use std::collections::BTreeMap;

/// Number of the kinds of time that are summed over a thread's whole life.
const SUMS: usize = 4;
const CPU: usize = 0;
const READY: usize = 1;
const OUTSIDE: usize = 2;
const THREADS: usize = 3;

/// A moment in a thread's life, with the sums of its time so far: time is counted from there on.
#[derive(Clone, Debug, Default)]
pub(super) struct Moment {
    pub(super) time: Ticks,
    sums: [u64; SUMS],
    /// How many entries for waits for locks and in futexes the thread had had.
    waits: u64,
}

/// A thread's state, and the sums of its time by what it did.
#[derive(Default)]
struct Clock {
    last: Ticks,
    sums: [u64; SUMS],
    off: Option<OffReason>,
    waits_for: Option<Part>,
    /// Time in waits for locks and in futexes, in order, one entry for each interval between two
    /// events. The first `forgotten` entries are left out.
    waits: Vec<(Part, Ticks)>,
    forgotten: u64,
    /// When the thread was last given a CPU.
    on_cpu: Ticks,
    /// When the thread's last `poll`, `select` or `epoll_wait` returned.
    polled: Option<Ticks>,
    /// When the thread's latest turn began: with its start, the end of its last wait for other
    /// threads, or its last answer, whichever came last.
    turn: Moment,
    /// Number of requests that the thread has begun and that have not ended.
    open: u32,
}

/// The clocks of all threads.
pub(super) struct Clocks(Vec<Clock>);

/// Most entries of [`Clock::waits`] that a thread keeps while it has no open request.
const KEPT: usize = 1 << 12;

impl Clocks {
    pub(super) fn new(threads: usize) -> Clocks {
        Clocks((0..threads).map(|_| Clock::default()).collect())
    }

    /// Follows an event; `object` is the object that the event acts on.
    pub(super) fn step(&mut self, event: &Event, object: Option<ObjectId>) {
        let Some(clock) = self.0.get_mut(event.thread.index()) else { return };
        clock.advance(event.time);
        match event.what {
            What::ThreadStart { .. } => clock.turn = clock.moment(),
            What::OffCpu { reason, .. } => clock.off = Some(reason),
            What::OnCpu { .. } => (clock.off, clock.on_cpu) = (None, event.time),
            What::Request { .. } => clock.waits_for = object.map(Part::Lock),
            What::FutexWait { .. } | What::LibcWait { .. } => clock.waits_for = object.map(Part::OwnLock),
            What::Called { call, .. }
                if matches!(call.name(), "epoll_wait" | "epoll_pwait" | "poll" | "ppoll" | "select") =>
            {
                clock.polled = Some(event.time);
            }
            _ => match event.what.wait_edge() {
                Some(true) => clock.waits_for = Some(Part::Threads),
                Some(false) => clock.wait_ends(),
                None => {}
            },
        }
    }

    /// Returns the thread's present moment.
    pub(super) fn now(&mut self, thread: ThreadIndex) -> Moment {
        self.0[thread.index()].moment()
    }

    /// Returns the moment at which the thread's latest turn began.
    pub(super) fn turn(&self, thread: ThreadIndex) -> Moment {
        self.0[thread.index()].turn.clone()
    }

    /// Records that the thread has written an answer: its next turn begins.
    pub(super) fn answered(&mut self, thread: ThreadIndex) {
        let clock = &mut self.0[thread.index()];
        clock.turn = clock.moment();
    }

    /// Records that the thread has begun a request (`opens`), or that one of its requests has
    /// ended.
    pub(super) fn open(&mut self, thread: ThreadIndex, opens: bool) {
        let clock = &mut self.0[thread.index()];
        clock.open = if opens { clock.open + 1 } else { clock.open.saturating_sub(1) };
    }

    /// Returns when a call that returns at `now` after `ticks` had something to return: when the
    /// thread was given a CPU, if it had to wait inside of the call, else when the call began.
    pub(super) fn came(&self, thread: ThreadIndex, now: Ticks, ticks: u64) -> Ticks {
        let (clock, began) = (&self.0[thread.index()], Ticks(now.0.saturating_sub(ticks)));
        if clock.on_cpu >= began { clock.on_cpu } else { began }
    }

    /// Returns when the thread's last `poll`, `select` or `epoll_wait` returned.
    pub(super) fn polled(&self, thread: ThreadIndex) -> Option<Ticks> {
        self.0[thread.index()].polled
    }

    /// Returns what the thread has spent its time on since `from`.
    pub(super) fn since(&self, thread: ThreadIndex, from: &Moment) -> BTreeMap<Part, Ticks> {
        let clock = &self.0[thread.index()];
        let mut parts = BTreeMap::new();
        let kinds = [(CPU, Part::Cpu), (READY, Part::Ready), (OUTSIDE, Part::Outside), (THREADS, Part::Threads)];
        for (at, part) in kinds {
            add(&mut parts, part, Ticks(clock.sums[at].saturating_sub(from.sums[at])));
        }
        let first = from.waits.saturating_sub(clock.forgotten) as usize;
        for (part, length) in clock.waits.iter().skip(first) {
            add(&mut parts, *part, *length);
        }
        parts
    }
}

/// Adds a length of time to a part; leaves out a length of zero.
pub(super) fn add(parts: &mut BTreeMap<Part, Ticks>, part: Part, length: Ticks) {
    if length > Ticks(0) {
        *parts.entry(part).or_default() += length;
    }
}

impl Clock {
    fn moment(&mut self) -> Moment {
        if self.open == 0 && self.waits.len() > KEPT {
            self.forgotten += self.waits.len() as u64;
            self.waits.clear();
        }
        Moment { time: self.last, sums: self.sums, waits: self.forgotten + self.waits.len() as u64 }
    }

    /// Counts the time from the last event to `now` as what the thread did in it.
    fn advance(&mut self, now: Ticks) {
        let length = now.since(self.last);
        self.last = self.last.max(now);
        let at = match (self.waits_for, self.off) {
            (Some(part @ (Part::Lock(_) | Part::OwnLock(_))), _) => {
                // A wait with several events has several entries.
                self.waits.push((part, length));
                return;
            }
            (Some(_), _) => THREADS,
            (None, None) => CPU,
            (None, Some(OffReason::Preempted)) => READY,
            (None, Some(OffReason::Blocked | OffReason::Unknown)) => OUTSIDE,
        };
        self.sums[at] += length.0;
    }

    fn wait_ends(&mut self) {
        if matches!(self.waits_for.take(), Some(Part::Threads | Part::OwnLock(_))) {
            self.turn = self.moment();
        }
    }
}
