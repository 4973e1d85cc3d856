//! Loops that try a lock until they get it: waits in disguise.
//!
//! A program may call `trylock` again and again, with a pause, a yield or a sleep between the calls.
//! The recorder writes each call that fails ([`What::TryFail`]) and the one that succeeds. Analyses
//! shall see a wait there, so [`crate::Trace::interpreted_events`] shows the first of these events as
//! [`What::Request`], the last as [`What::Acquired`], and leaves out those in between. A series of
//! tries counts as such a loop if
//!
//! - all are at one place and for one lock, and the last succeeds;
//! - the thread does nothing in between that the trace shows, except for sleeping;
//! - it runs for less than [`BRIEF`] between two tries: otherwise it may do other work meanwhile.

use super::{Events, Trace};
use crate::clock::Ticks;
use crate::event::{Event, How, Lock, Mode, OffReason, SiteId, ThreadIndex, What};
use crate::kinds::Kinds;
use baton_units::Nanos;
use std::collections::BTreeMap;
use std::iter::Peekable;

/// A thread that runs for longer between two tries may do other work.
const BRIEF: Nanos = Nanos(5_000);

/// What becomes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Becomes {
    Request,
    Acquired(How),
    Nothing,
}

/// The events that become others, each by its place among all events of the trace.
pub(crate) type Changes = Vec<(u64, Becomes)>;

/// A series of tries by one thread.
struct Series {
    lock: Lock,
    mode: Mode,
    site: SiteId,
    /// The places of its events among all events, the first try first.
    events: Vec<u64>,
    tries: u32,
    slept: bool,
    /// How long the thread has run since the last try, up to `from`; it runs since `from`.
    ran: Ticks,
    from: Option<Ticks>,
}

impl Series {
    /// How long the thread has run since its last try.
    fn ran(&self, now: Ticks) -> Ticks {
        self.ran + self.from.map_or(Ticks(0), |from| now.since(from))
    }

    fn tried(&mut self, at: u64, now: Ticks) {
        self.events.push(at);
        self.tries += 1;
        (self.ran, self.from) = (Ticks(0), Some(now));
    }

    /// How the wait ended if its last try succeeds.
    fn how(&self) -> How {
        let tries = (self.tries + 1).min(How::MAX_TRIES);
        if self.slept { How::sleeping(tries) } else { How::spinning(tries) }
    }
}

/// Finds the loops of a trace.
pub(crate) fn changes(trace: &Trace) -> Changes {
    if trace.events_of(Kinds::TRIES).next().is_none() {
        return Changes::new();
    }
    let mut search =
        Search { trace, brief: Ticks(trace.clock.ticks(BRIEF)), series: BTreeMap::new(), found: Vec::new() };
    for (at, event) in (0..).zip(trace.events()) {
        search.step(at, &event);
    }
    search.found.sort_unstable_by_key(|(at, _)| *at);
    search.found
}

struct Search<'a> {
    trace: &'a Trace,
    brief: Ticks,
    series: BTreeMap<ThreadIndex, Series>,
    found: Changes,
}

impl Search<'_> {
    fn step(&mut self, at: u64, event: &Event) {
        let (thread, now) = (event.thread, event.time);
        if let What::TryFail { lock, mode, site } = event.what {
            match self.series.get_mut(&thread).filter(|series| self.trace.goes_on(series, event, self.brief)) {
                Some(series) => series.tried(at, now),
                None => {
                    let (events, ran, from) = (vec![at], Ticks(0), Some(now));
                    let series = Series { lock, mode, site, events, tries: 1, slept: false, ran, from };
                    self.series.insert(thread, series);
                }
            }
            return;
        }
        if self.series.is_empty() {
            return;
        }
        let Some(series) = self.series.get_mut(&thread) else { return };
        match event.what {
            What::OffCpu { reason, .. } => {
                series.ran = series.ran(now);
                series.from = None;
                series.slept |= reason == OffReason::Blocked;
            }
            What::OnCpu { .. } => series.from = series.from.or(Some(now)),
            What::Blocked { .. } => series.events.push(at),
            What::Acquire { .. } if self.trace.goes_on(series, event, self.brief) => self.ends(at, thread),
            what if what.is_act() => drop(self.series.remove(&thread)),
            _ => {}
        }
    }

    /// The thread's series ends with the acquisition `at`.
    fn ends(&mut self, at: u64, thread: ThreadIndex) {
        let Some(series) = self.series.remove(&thread) else { return };
        let mut events = series.events.iter().copied();
        self.found.extend(events.next().map(|first| (first, Becomes::Request)));
        self.found.extend(events.map(|between| (between, Becomes::Nothing)));
        self.found.push((at, Becomes::Acquired(series.how())));
    }
}

impl Trace {
    /// Whether a try, or the acquisition that ends the loop, belongs to the series.
    fn goes_on(&self, series: &Series, event: &Event, brief: Ticks) -> bool {
        let (What::TryFail { lock, mode, site } | What::Acquire { lock, mode, site }) = event.what else {
            return false;
        };
        let process = self.process_of(event.thread);
        let place = |site| self.site(process, site).first();
        (series.lock, series.mode) == (lock, mode)
            && (series.site == site || place(series.site).is_some() && place(series.site) == place(site))
            && series.ran(event.time) < brief
    }
}

/// The events of a trace, in the order of time, with loops that try a lock shown as waits.
pub struct Interpreted<'a> {
    events: Events<'a>,
    at: u64,
    changes: Peekable<std::slice::Iter<'a, (u64, Becomes)>>,
}

impl<'a> Interpreted<'a> {
    pub(crate) fn new(events: Events<'a>, changes: &'a Changes) -> Interpreted<'a> {
        Interpreted { events, at: 0, changes: changes.iter().peekable() }
    }
}

impl Iterator for Interpreted<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        loop {
            let event = self.events.next()?;
            let at = self.at;
            self.at += 1;
            let Some((_, becomes)) = self.changes.next_if(|(of, _)| *of == at) else { return Some(event) };
            let what = match (becomes, event.what) {
                (Becomes::Nothing, _) => continue,
                (Becomes::Request, What::TryFail { lock, mode, site }) => What::Request { lock, mode, site },
                (Becomes::Acquired(how), What::Acquire { lock, mode, .. }) => What::Acquired { lock, mode, how: *how },
                (_, what) => what,
            };
            return Some(Event { what, ..event });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::TraceBuilder;
    use crate::clock::Clock;

    const LOCK: Lock = Lock::mutex(0x1000);
    const SITE: SiteId = SiteId(1);
    const MODE: Mode = Mode::Exclusive;
    const TRY: What = What::TryFail { lock: LOCK, mode: MODE, site: SITE };
    const TAKE: What = What::Acquire { lock: LOCK, mode: MODE, site: SITE };
    const REQUEST: What = What::Request { lock: LOCK, mode: MODE, site: SITE };
    const OFF: What = What::OffCpu { tid: 0, reason: OffReason::Blocked };
    const ON: What = What::OnCpu { tid: 0, cpu: 0 };

    fn seen(events: &[(u64, What)]) -> Vec<(u64, What)> {
        let mut trace = TraceBuilder::new(Clock::nanoseconds());
        for (time, what) in events {
            trace.push(Ticks(*time), ThreadIndex(0), *what);
        }
        trace.build().interpreted_events().map(|event| (event.time.0, event.what)).collect()
    }

    fn acquired(how: How) -> What {
        What::Acquired { lock: LOCK, mode: MODE, how }
    }

    #[test]
    fn tries_in_a_loop_are_a_wait() {
        let tries = [(10, TRY), (500, TRY), (900, TRY), (1_300, TAKE)];
        assert_eq!(seen(&tries), [(10, REQUEST), (1_300, acquired(How::spinning(4)))]);
        let slept = What::Blocked { site: SITE, ticks: 60_000 };
        let sleeps = [(10, TRY), (500, OFF), (60_500, ON), (60_600, slept), (61_000, TRY), (61_300, TAKE)];
        let expected = [(10, REQUEST), (500, OFF), (60_500, ON), (61_300, acquired(How::sleeping(3)))];
        assert_eq!(seen(&sleeps), expected);
    }

    /// The thread may have worked between the tries, it acts in between, takes the lock elsewhere, or
    /// does not get it.
    #[test]
    fn other_tries_are_left_as_they_are() {
        let elsewhere = What::Acquire { lock: LOCK, mode: MODE, site: SiteId(2) };
        let mark = What::Marker { name: 0, value: 0 };
        for events in [
            vec![(10, TRY), (9_000, TRY), (20_000, TAKE)],
            vec![(10, TRY), (20, mark), (30, TAKE)],
            vec![(10, TRY), (20, elsewhere)],
            vec![(10, TRY), (20, TRY), (30, mark)],
        ] {
            assert_eq!(seen(&events), events);
        }
        // Work before the last tries leaves out what came before it.
        let late = [(10, TRY), (9_000, TRY), (9_500, TAKE)];
        assert_eq!(seen(&late), [(10, TRY), (9_000, REQUEST), (9_500, acquired(How::spinning(2)))]);
    }
}
