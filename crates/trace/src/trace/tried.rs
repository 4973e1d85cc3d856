//! Loops that try a lock until they get it: waits in disguise.
//!
//! A program may call `trylock` again and again, with a pause, a yield or a sleep between the calls.
//! The recorder writes each call that fails ([`What::TryFail`]) and the one that succeeds. Analyses
//! shall see a wait there, so [`crate::Trace::interpreted_events`] shows the first of these events as
//! [`What::Request`], the last as [`What::Acquired`], and leaves out those in between. A series of
//! tries counts as such a loop if
//!
//! - all are at one place and for one lock, and the last succeeds;
//! - there are at least [`LEAST`] of them, or the thread sleeps in between;
//! - the thread does nothing else in between that the trace shows;
//! - it runs for less than [`BRIEF`] between two tries, or [`BRIEF_ASLEEP`] around a sleep: otherwise
//!   it may do other work meanwhile.

use super::{Events, Trace};
use crate::clock::{Clock, Ticks};
use crate::event::{Event, How, Lock, Mode, OffReason, SiteId, SystemCall, ThreadIndex, What};
use crate::kinds::Kinds;
use baton_units::Nanos;
use std::collections::BTreeMap;
use std::iter::Peekable;

/// A thread that runs for longer between two tries may do other work.
const BRIEF: Nanos = Nanos(1_000);

/// The same for two tries with a sleep in between, beside which so short work counts little.
const BRIEF_ASLEEP: Nanos = Nanos(5_000);

/// The fewest tries, with the last, of a loop without sleeps.
const LEAST: u32 = 3;

/// A loop that tries a lock until it gets it.
pub(crate) struct Loop {
    thread: ThreadIndex,
    /// The places of the first try and of the acquisition among all events of the trace.
    first: u64,
    last: u64,
    how: How,
}

/// The loops of a trace, in the order of their first tries.
pub(crate) type Loops = Vec<Loop>;

/// A series of tries by one thread.
struct Series {
    lock: Lock,
    mode: Mode,
    site: SiteId,
    /// The place of the first try among all events.
    first: u64,
    tries: u32,
    slept: bool,
    /// Length of the call that the thread's event before was about.
    blocked: Option<u64>,
    /// Whether the thread has called a sleep since its last try.
    asleep: bool,
    /// How long the thread ran from its last try to `since`: outside of sleeps.
    before: Ticks,
    /// When the last try came, or the end of the last sleep.
    since: Ticks,
    /// How long the thread has run since `since`, up to `from`; it runs since `from`.
    ran: Ticks,
    from: Option<Ticks>,
}

impl Series {
    fn new((lock, mode, site): (Lock, Mode, SiteId), at: u64, now: Ticks) -> Series {
        Series {
            lock,
            mode,
            site,
            first: at,
            tries: 1,
            slept: false,
            blocked: None,
            asleep: false,
            before: Ticks(0),
            since: now,
            ran: Ticks(0),
            from: Some(now),
        }
    }

    /// How long the thread has run since `since`.
    fn ran(&self, now: Ticks) -> Ticks {
        self.ran + self.from.map_or(Ticks(0), |from| now.since(from))
    }

    fn tried(&mut self, now: Ticks) {
        self.tries += 1;
        (self.before, self.asleep) = (Ticks(0), false);
        self.runs_since(now);
    }

    fn runs_since(&mut self, now: Ticks) {
        (self.since, self.ran, self.from) = (now, Ticks(0), Some(now));
    }

    /// A sleep has ended. The time that the thread ran inside of the call is no work.
    fn woke(&mut self, call: &SystemCall, now: Ticks) {
        let length = call.length(self.blocked.take());
        self.before += self.ran(now).min(now.since(self.since).since(length));
        (self.slept, self.asleep) = (true, true);
        self.runs_since(now);
    }

    /// Whether the thread has run too briefly since its last try to have done work.
    fn is_brief(&self, now: Ticks, clock: &Clock) -> bool {
        let limit = if self.asleep { BRIEF_ASLEEP } else { BRIEF };
        self.before + self.ran(now) < Ticks(clock.ticks(limit))
    }

    /// How the wait ended if its last try succeeds.
    fn how(&self) -> How {
        let tries = (self.tries + 1).min(How::MAX_TRIES);
        if self.slept { How::sleeping(tries) } else { How::spinning(tries) }
    }
}

/// Finds the loops of a trace.
pub(crate) fn loops(trace: &Trace) -> Loops {
    if trace.events_of(Kinds::TRIES).next().is_none() {
        return Loops::new();
    }
    let mut search = Search { trace, series: BTreeMap::new(), found: Vec::new() };
    for (at, event) in (0..).zip(trace.events()) {
        search.step(at, &event);
    }
    search.found.sort_unstable_by_key(|found| found.first);
    search.found
}

struct Search<'a> {
    trace: &'a Trace,
    series: BTreeMap<ThreadIndex, Series>,
    found: Loops,
}

impl Search<'_> {
    fn step(&mut self, at: u64, event: &Event) {
        let (thread, now) = (event.thread, event.time);
        if let What::TryFail { lock, mode, site } = event.what {
            match self.series.get_mut(&thread).filter(|series| self.trace.goes_on(series, event)) {
                Some(series) => series.tried(now),
                None => drop(self.series.insert(thread, Series::new((lock, mode, site), at, now))),
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
            What::Blocked { ticks, .. } => series.blocked = Some(ticks),
            What::Called { call, .. } if call.is_sleep() => series.woke(&call, now),
            What::Acquire { .. } if self.trace.goes_on(series, event) => self.ends(at, thread),
            what if what.is_act() => drop(self.series.remove(&thread)),
            _ => {}
        }
    }

    /// The thread's series ends with the acquisition `at`.
    fn ends(&mut self, at: u64, thread: ThreadIndex) {
        let Some(series) = self.series.remove(&thread) else { return };
        if series.slept || series.tries + 1 >= LEAST {
            self.found.push(Loop { thread, first: series.first, last: at, how: series.how() });
        }
    }
}

impl Trace {
    /// Whether a try, or the acquisition that ends the loop, belongs to the series.
    fn goes_on(&self, series: &Series, event: &Event) -> bool {
        let (What::TryFail { lock, mode, site } | What::Acquire { lock, mode, site }) = event.what else {
            return false;
        };
        let process = self.process_of(event.thread);
        let place = |site| self.site(process, site).first();
        (series.lock, series.mode) == (lock, mode)
            && (series.site == site || place(series.site).is_some() && place(series.site) == place(site))
            && series.is_brief(event.time, &self.clock)
    }
}

/// The events of a trace, in the order of time, with loops that try a lock shown as waits.
pub(crate) struct Tried<'a> {
    events: Events<'a>,
    at: u64,
    coming: Peekable<std::slice::Iter<'a, Loop>>,
    /// The loops that have begun and not ended: at most one of each thread.
    open: Vec<&'a Loop>,
}

impl<'a> Tried<'a> {
    pub(crate) fn new(events: Events<'a>, loops: &'a Loops) -> Tried<'a> {
        Tried { events, at: 0, coming: loops.iter().peekable(), open: Vec::new() }
    }

    /// Shows an event of a thread that is in a loop; `None` if it is left out.
    fn inside(&mut self, nth: usize, at: u64, what: What) -> Option<What> {
        match what {
            What::Acquire { lock, mode, .. } if self.open[nth].last == at => {
                let how = self.open.swap_remove(nth).how;
                Some(What::Acquired { lock, mode, how })
            }
            What::TryFail { .. } | What::Blocked { .. } | What::Called { .. } => None,
            what => Some(what),
        }
    }
}

impl Iterator for Tried<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        loop {
            let event = self.events.next()?;
            let at = self.at;
            self.at += 1;
            let what = match (self.coming.next_if(|coming| coming.first == at), event.what) {
                (Some(begins), What::TryFail { lock, mode, site }) => {
                    self.open.push(begins);
                    Some(What::Request { lock, mode, site })
                }
                (_, what) => match self.open.iter().position(|open| open.thread == event.thread) {
                    Some(nth) => self.inside(nth, at, what),
                    None => Some(what),
                },
            };
            if let Some(what) = what {
                return Some(Event { what, ..event });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::TraceBuilder;
    use crate::event::Outcome;

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
    }

    /// Between two tries, the thread sleeps in a call from `begin` on; the kernel reports it as off its
    /// CPU (`switches`), or no switches were recorded. Inside of the call it runs for 4,000 and 3,000.
    fn asleep(begin: u64, switches: bool) -> Vec<(u64, What)> {
        let (number, end) = (crate::point::call("usleep").unwrap(), begin + 60_000);
        let call = SystemCall { number, outcome: Outcome::Done, file: None, ticks: 60_000 };
        let slept = [
            (begin + 4_000, OFF),
            (end - 3_000, ON),
            (end, What::Blocked { site: SITE, ticks: 60_000 }),
            (end, What::Called { call, site: SITE }),
        ];
        slept[if switches { 0 } else { 2 }..].to_vec()
    }

    #[test]
    fn a_sleep_between_the_tries_is_part_of_the_wait() {
        for switches in [true, false] {
            let events = [
                vec![(10, TRY)],
                asleep(300, switches),
                vec![(60_600, TRY)],
                asleep(61_000, switches),
                vec![(122_000, TAKE)],
            ]
            .concat();
            let switched = events.iter().filter(|(_, what)| [OFF, ON].contains(what)).copied();
            let expected: Vec<_> =
                [(10, REQUEST)].into_iter().chain(switched).chain([(122_000, acquired(How::sleeping(3)))]).collect();
            assert_eq!(seen(&events), expected);
            // A single try before the sleep suffices.
            let once = [vec![(10, TRY)], asleep(300, switches), vec![(61_000, TAKE)]].concat();
            assert_eq!(seen(&once).last(), Some(&(61_000, acquired(How::sleeping(2)))));
            // The thread works before it sleeps, or afterwards.
            for (begin, taken) in [(7_000, 68_000), (300, 68_000)] {
                let works = [vec![(10, TRY)], asleep(begin, switches), vec![(taken, TAKE)]].concat();
                assert_eq!(seen(&works), works);
            }
        }
    }

    /// Each of two threads is in a loop; other events of theirs, and those of a third thread, stay.
    #[test]
    fn loops_of_several_threads_are_told_apart() {
        let mut trace = TraceBuilder::new(Clock::nanoseconds());
        let cpu = What::Cpu { cpu: 1 };
        let events = [(0, TRY), (1, TRY), (2, TRY), (0, cpu), (0, TRY), (1, TRY), (1, TAKE), (0, TRY), (0, TAKE)];
        for (time, (thread, what)) in (0..).zip(events) {
            trace.push(Ticks(time), ThreadIndex(thread), what);
        }
        let seen: Vec<_> = trace.build().interpreted_events().map(|event| (event.thread.0, event.what)).collect();
        let (one, other) = (acquired(How::spinning(4)), acquired(How::spinning(3)));
        assert_eq!(seen, [(0, REQUEST), (1, REQUEST), (2, TRY), (0, cpu), (1, other), (0, one)]);
    }

    /// The thread may have worked between the tries, it acts in between, takes the lock elsewhere, gets
    /// it at the second try, or does not get it.
    #[test]
    fn other_tries_are_left_as_they_are() {
        let elsewhere = What::Acquire { lock: LOCK, mode: MODE, site: SiteId(2) };
        let mark = What::Marker { name: 0, value: 0 };
        let read = SystemCall { number: 0, outcome: Outcome::Done, file: None, ticks: 10 };
        for events in [
            vec![(10, TRY), (3_000, TRY), (6_000, TRY), (9_000, TAKE)],
            vec![(10, TRY), (20, TAKE)],
            vec![(10, TRY), (20, TRY), (35, What::Called { call: read, site: SITE }), (40, TAKE)],
            vec![(10, TRY), (20, mark), (30, TAKE)],
            vec![(10, TRY), (20, elsewhere)],
            vec![(10, TRY), (20, TRY), (30, mark)],
        ] {
            assert_eq!(seen(&events), events);
        }
        // Work before the last tries leaves out what came before it.
        let late = [(10, TRY), (9_000, TRY), (9_200, TRY), (9_500, TAKE)];
        assert_eq!(seen(&late), [(10, TRY), (9_000, REQUEST), (9_500, acquired(How::spinning(3)))]);
    }
}
