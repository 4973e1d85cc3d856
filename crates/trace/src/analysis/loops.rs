//! Loops in which a thread waits until a variable changes: it yields its CPU again and again, or naps.
//! No event shows the variable, so what the thread waits for is not known.
//!
//! - The recorder tells series of calls that **yield** the CPU at one place ([`What::Yielded`]).
//! - **Naps** are at least [`LEAST`] sleeps at one place, of which none is longer than [`LONG`]. At least half
//!   are no longer than [`NAP`], or they begin so short and become longer and longer (a back-off). Between
//!   two of them the thread runs for less than [`BETWEEN`], and less than 1/[`PART`] of the first one's
//!   length. It may take and release locks, signal, and yield its CPU there, as it does to look at the
//!   variable. Naps that go on for nearly all of a thread's life do not count: the thread does nothing but
//!   sleep.
//!
//! A program of one thread has no such loops.

use super::beside::{Beside, LITTLE_OF_PATH};
use super::off_cpu::OffCpu;
use super::segment::{Doing, PathSegment};
use crate::clock::{Clock, Ticks};
use crate::event::{Event, SiteId, What};
use crate::process::ProcessIndex;
use crate::trace::Trace;
use baton_units::Nanos;
use std::collections::BTreeMap;

/// The fewest naps of a series.
const LEAST: u32 = 3;

/// A nap of this length is short: the kernel makes even the shortest sleep 50 µs longer.
const NAP: Nanos = Nanos(250_000);

/// A longer sleep is no nap. Loops may make their naps longer and longer, and a nap may end late on a
/// busy machine.
const LONG: Nanos = Nanos(20_000_000);

/// The time on a CPU between two naps from which on the thread may have worked in between.
const BETWEEN: Nanos = Nanos(50_000);
const PART: u64 = 3;

/// Naps back off if at least [`GROWN`] of them are half as long again as the one before, and at most one of
/// [`STEADY`] is not half as long: a busy machine may end a nap late.
const GROWN: u32 = 2;
const STEADY: u32 = 5;

/// An interval in which a thread was in such a loop.
#[derive(Clone, Copy)]
struct Stretch {
    begin: Ticks,
    end: Ticks,
    site: SiteId,
    call: &'static str,
}

/// A series of naps that may go on.
struct Naps {
    stretch: Stretch,
    /// Length of the last nap.
    length: Ticks,
    all: u32,
    short: u32,
    /// Whether the first nap was short.
    began_short: bool,
    /// Number of naps that were at least half as long again as the one before.
    grown: u32,
    /// Number of naps that were not half as long as the one before.
    shrunk: u32,
    /// When the thread was off its CPU since the last nap.
    off: Vec<(Ticks, Ticks)>,
}

impl Naps {
    fn begin(nap: Stretch, length: Ticks, limits: &Limits) -> Naps {
        let began_short = length <= limits.nap;
        let (all, short, grown, shrunk) = (0, 0, 0, 0);
        Naps { stretch: nap, length, all, short, began_short, grown, shrunk, off: Vec::new() }
    }

    fn add(&mut self, end: Ticks, length: Ticks, limits: &Limits) {
        self.off.clear();
        self.all += 1;
        self.short += u32::from(length <= limits.nap);
        self.grown += u32::from(2 * length.0 >= 3 * self.length.0);
        self.shrunk += u32::from(2 * length.0 < self.length.0);
        (self.stretch.end, self.length) = (end, length);
    }

    /// Whether the thread waits in these naps. Naps of random lengths often become much shorter.
    fn wait(&self) -> bool {
        let backs_off = self.began_short && self.grown >= GROWN && self.shrunk <= self.all / STEADY;
        self.all >= LEAST && (self.short * 2 >= self.all || backs_off)
    }

    /// Whether a nap belongs to the series.
    fn goes_on(&self, nap: &Stretch, limits: &Limits) -> bool {
        let last = self.stretch;
        let off = self.off.iter().filter(|(begin, _)| *begin < nap.begin);
        let off: Ticks = off.map(|(begin, end)| end.since(*begin)).sum();
        let ran = nap.begin.since(last.end).since(off);
        (last.site, last.call) == (nap.site, nap.call) && ran < limits.between && ran.0 < self.length.0 / PART
    }
}

#[derive(Default)]
struct Life {
    /// When the thread's first and its last event came.
    begin: Option<Ticks>,
    end: Ticks,
    /// Length of the call that the event before was about.
    blocked: Option<u64>,
    /// Since when the thread is off its CPU.
    off: Option<Ticks>,
    naps: Option<Naps>,
    napped: Vec<Stretch>,
    found: Vec<Stretch>,
}

impl Life {
    /// The thread did something other than to nap.
    fn acted(&mut self) {
        let naps = self.naps.take().filter(Naps::wait);
        self.napped.extend(naps.map(|naps| naps.stretch));
    }

    fn yielded(&mut self, stretch: Stretch, between: Ticks) {
        if let Some(naps) = self.naps.as_mut().filter(|naps| stretch.begin.since(naps.stretch.end) < between) {
            naps.stretch.end = stretch.end;
        }
        match self.found.last_mut() {
            Some(last) if last.site == stretch.site && stretch.begin.since(last.end) < between => {
                last.end = stretch.end
            }
            _ => self.found.push(stretch),
        }
    }

    fn napped(&mut self, nap: Stretch, limits: &Limits) {
        let length = nap.end.since(nap.begin);
        if length > limits.long || !self.naps.as_ref().is_some_and(|naps| naps.goes_on(&nap, limits)) {
            self.acted();
        }
        if length <= limits.long {
            let naps = self.naps.get_or_insert_with(|| Naps::begin(nap, length, limits));
            naps.add(nap.end, length, limits);
        }
    }

    /// Returns the thread's loops in the order of time, without overlap.
    fn finish(mut self) -> Vec<Stretch> {
        self.acted();
        let life = self.end.since(self.begin.unwrap_or(self.end)).0;
        let napped = self.napped.into_iter().filter(|nap| nap.end.since(nap.begin).0 < life / 10 * 9);
        self.found.extend(napped);
        self.found.sort_by_key(|stretch| stretch.begin);
        let mut from = Ticks(0);
        self.found.retain_mut(|stretch| {
            stretch.begin = stretch.begin.max(from);
            from = from.max(stretch.end);
            stretch.begin < stretch.end
        });
        self.found
    }
}

struct Limits {
    nap: Ticks,
    long: Ticks,
    between: Ticks,
}

impl Limits {
    fn of(clock: &Clock) -> Limits {
        let [nap, long, between] = [NAP, LONG, BETWEEN].map(|limit| Ticks(clock.ticks(limit)));
        Limits { nap, long, between }
    }
}

/// The search for such loops, fed by a walk over the events.
pub(super) struct Loops {
    limits: Limits,
    lives: Vec<Life>,
}

impl Loops {
    pub(super) fn of(trace: &Trace) -> Loops {
        Loops { limits: Limits::of(&trace.clock), lives: trace.threads.iter().map(|_| Life::default()).collect() }
    }

    pub(super) fn step(&mut self, event: &Event) {
        let Some(life) = self.lives.get_mut(event.thread.index()) else { return };
        let now = event.time;
        life.begin = life.begin.or(Some(now));
        life.end = now;
        let ago = |ticks: u64| Ticks(now.0.saturating_sub(ticks));
        match event.what {
            What::Yielded { site, ticks, .. } => {
                let stretch = Stretch { begin: ago(u64::from(ticks)), end: now, site, call: "sched_yield" };
                life.yielded(stretch, self.limits.between);
            }
            What::Blocked { ticks, .. } => life.blocked = Some(ticks),
            What::OffCpu { .. } => life.off = Some(now),
            What::OnCpu { .. } => {
                if let (Some(naps), Some(off)) = (&mut life.naps, life.off.take()) {
                    naps.off.push((off, now));
                }
            }
            What::Called { call, site } if call.is_sleep() => {
                let begin = ago(call.length(life.blocked.take()).0);
                life.napped(Stretch { begin, end: now, site, call: call.name() }, &self.limits);
            }
            What::Acquire { .. }
            | What::Request { .. }
            | What::Acquired { .. }
            | What::Timeout { .. }
            | What::TryFail { .. }
            | What::Release { .. }
            | What::CondSignal { .. }
            | What::CondBroadcast { .. }
            | What::SemTake { .. }
            | What::SemPost { .. } => {}
            what if what.is_act() => life.acted(),
            _ => {}
        }
    }

    /// Marks the path's time in such loops as blocked by something that the trace does not show. Returns
    /// the places of these loops.
    pub(super) fn mark(self, path: &mut Vec<PathSegment>, trace: &Trace) -> Vec<Beside> {
        let found: Vec<Vec<Stretch>> = self.lives.into_iter().map(Life::finish).collect();
        if trace.threads.len() < 2 || found.iter().all(Vec::is_empty) {
            return Vec::new();
        }
        let mut times: BTreeMap<(ProcessIndex, SiteId, &'static str), Ticks> = BTreeMap::new();
        let mut all = Ticks(0);
        for segment in path.iter() {
            all += segment.end.since(segment.begin);
            for (stretch, time) in inside(segment, &found) {
                *times.entry((trace.process_of(segment.thread), stretch.site, stretch.call)).or_default() += time;
            }
        }
        times.retain(|_, time| time.0 > all.0 / LITTLE_OF_PATH);
        if times.is_empty() {
            return Vec::new();
        }
        let mut marked = Vec::with_capacity(path.len());
        for segment in path.drain(..) {
            cut(segment, &found, &mut marked, |stretch| {
                times.contains_key(&(trace.process_of(segment.thread), stretch.site, stretch.call))
            });
        }
        *path = marked;
        let beside = |((process, site, call), time)| Beside { process, site, call, again: true, time };
        times.into_iter().map(beside).collect()
    }
}

/// Whether the thread goes along in this part of the path, and is not known to wait.
fn is_along(doing: Doing) -> bool {
    matches!(doing, Doing::Running | Doing::OffCpu(OffCpu::Ready | OffCpu::Blocked | OffCpu::Call | OffCpu::Unknown))
}

/// The loops in a part of the path, and the time of the part in each of them.
fn inside<'a>(segment: &PathSegment, found: &'a [Vec<Stretch>]) -> impl Iterator<Item = (&'a Stretch, Ticks)> {
    let (begin, end) = (segment.begin, segment.end);
    let all = match found.get(segment.thread.index()) {
        Some(all) if is_along(segment.doing) => all.as_slice(),
        _ => &[],
    };
    let from = all.partition_point(|stretch| stretch.end <= begin);
    let some = all[from..].iter().take_while(move |stretch| stretch.begin < end);
    some.map(move |stretch| (stretch, stretch.end.min(end).since(stretch.begin.max(begin))))
}

/// Cuts a part of the path where loops begin and end, and marks the pieces in loops that `counts` accepts.
fn cut(segment: PathSegment, found: &[Vec<Stretch>], marked: &mut Vec<PathSegment>, counts: impl Fn(&Stretch) -> bool) {
    let mut at = segment.begin;
    for (stretch, time) in inside(&segment, found).filter(|(stretch, _)| counts(stretch)) {
        let begin = stretch.begin.max(segment.begin);
        if at < begin {
            marked.push(PathSegment { begin: at, end: begin, ..segment });
        }
        at = Ticks(begin.0 + time.0);
        marked.push(PathSegment { begin, end: at, doing: Doing::OffCpu(OffCpu::Blocked), ..segment });
    }
    if at < segment.end || segment.begin == segment.end {
        marked.push(PathSegment { begin: at, ..segment });
    }
}
