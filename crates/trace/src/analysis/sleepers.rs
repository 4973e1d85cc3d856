//! Threads that sleep again and again until the threads that they created have ended: they look at a
//! counter or a flag between two sleeps, which no event shows.
//!
//! A **series** is at least [`LEAST`] sleeps of one thread at one place, with nothing in between but
//! locks taken and released. A wait at a condition variable that a deadline ends counts as a sleep.
//! If a thread that the sleeper created ended in the last turn of a series (after the last sleep but
//! one), the sleeper waited for the threads that it created and that ended during the series. The
//! critical path then goes over to the one that ended last, as at a join.
//!
//! Series without such an end stay what they seem: what the sleeper waited for, if anything, is not
//! known ([`super::beside`]).

use crate::clock::Ticks;
use crate::event::{Event, SiteId, ThreadIndex, WakeReason, What};
use crate::kinds::Kinds;
use crate::process::ProcessIndex;
use crate::trace::Trace;
use std::collections::BTreeMap;

/// Number of sleeps from which on a series counts. With fewer, a thread may well have ended in the
/// last turn by chance.
pub(super) const LEAST: usize = 8;

/// A series of sleeps of one thread that lasted until other threads had ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sleeper {
    /// The thread that slept.
    pub thread: ThreadIndex,
    /// When the series began.
    pub begin: Ticks,
    /// When each sleep of the series ended.
    pub turns: Vec<Ticks>,
    /// Whether the thread slept in calls, and not in waits at a condition variable with a deadline.
    pub by_calls: bool,
    /// The threads that ended during the series, in the order of their ends.
    pub ended: Vec<ThreadIndex>,
    /// Number of the event that ended the last sleep, as `Causes` counts events.
    pub(super) number: u64,
    /// When the last of the threads ended, and the number of the event.
    pub(super) last: (Ticks, u64),
}

impl Sleeper {
    /// How long the series lasted.
    pub fn length(&self) -> Ticks {
        self.turns.last().map_or(Ticks(0), |end| end.since(self.begin))
    }
}

/// Finds the series of sleeps that lasted until other threads had ended, in the order of their ends.
pub fn sleepers(trace: &Trace) -> Vec<Sleeper> {
    if !may_have_series(trace) {
        return Vec::new();
    }
    let mut sleepers = Sleepers::of(trace);
    for (number, event) in (1..).zip(trace.complete_events()) {
        sleepers.step(&event, trace.process_of(event.thread), number);
    }
    sleepers.finish()
}

/// Whether the trace has enough sleeps for a series. Most recordings have none, and tell that without a walk over
/// all events.
fn may_have_series(trace: &Trace) -> bool {
    let is_sleep = |event: &Event| match event.what {
        What::Called { call, .. } => call.is_sleep(),
        What::CondWake { reason, .. } => reason == WakeReason::TimedOut,
        _ => false,
    };
    trace.events_of(Kinds::SLEEPS).filter(is_sleep).nth(LEAST - 1).is_some()
}

/// The sleeps in one place that have come so far.
struct Series {
    site: SiteId,
    by_calls: bool,
    begin: Ticks,
    turns: Vec<Ticks>,
    number: u64,
}

#[derive(Default)]
struct Life {
    series: Option<Series>,
    /// Length of the call that the event before was about.
    blocked: Option<u64>,
    waits: Option<(SiteId, Ticks)>,
    /// The threads that this thread created and that have ended: when, and the numbers of the events.
    ended: Vec<(Ticks, u64, ThreadIndex)>,
}

/// State of the walk over the events.
pub(super) struct Sleepers {
    lives: Vec<Life>,
    creators: BTreeMap<(ProcessIndex, u64), ThreadIndex>,
    found: Vec<Sleeper>,
}

impl Sleepers {
    pub(super) fn of(trace: &Trace) -> Sleepers {
        let lives = trace.threads.iter().map(|_| Life::default()).collect();
        Sleepers { lives, creators: BTreeMap::new(), found: Vec::new() }
    }

    pub(super) fn step(&mut self, event: &Event, process: ProcessIndex, number: u64) {
        let (now, thread) = (event.time, event.thread);
        let Some(life) = self.lives.get_mut(thread.index()) else { return };
        match event.what {
            What::Acquire { .. }
            | What::Request { .. }
            | What::Acquired { .. }
            | What::Timeout { .. }
            | What::TryFail { .. }
            | What::Release { .. } => {}
            What::Blocked { ticks, .. } => life.blocked = Some(ticks),
            What::Called { call, site } => {
                let began = Ticks(now.0.saturating_sub(call.length(life.blocked.take()).0));
                match call.is_sleep() {
                    true => self.slept(thread, (site, true), (began, now), number),
                    false => self.acted(thread),
                }
            }
            What::CondWait { site, .. } => life.waits = Some((site, now)),
            What::CondWake { reason: WakeReason::TimedOut, .. } => {
                if let Some((site, began)) = life.waits.take() {
                    self.slept(thread, (site, false), (began, now), number);
                }
            }
            What::Created { handle, error: 0 } => {
                self.acted(thread);
                self.creators.insert((process, handle), thread);
            }
            What::ThreadEnd { handle } => {
                self.acted(thread);
                let creator = self.creators.remove(&(process, handle));
                if let Some(life) = creator.and_then(|creator| self.lives.get_mut(creator.index())) {
                    life.ended.push((now, number, thread));
                }
            }
            what if what.is_act() => self.acted(thread),
            _ => {}
        }
    }

    fn slept(
        &mut self,
        thread: ThreadIndex,
        (site, by_calls): (SiteId, bool),
        (began, now): (Ticks, Ticks),
        number: u64,
    ) {
        match &mut self.lives[thread.index()].series {
            Some(series) if series.site == site => {
                series.turns.push(now);
                series.number = number;
            }
            _ => {
                self.acted(thread);
                let series = Series { site, by_calls, begin: began, turns: vec![now], number };
                self.lives[thread.index()].series = Some(series);
            }
        }
    }

    /// The thread did something other than to sleep: its series has ended.
    fn acted(&mut self, thread: ThreadIndex) {
        let life = &mut self.lives[thread.index()];
        let Some(series) = life.series.take().filter(|series| series.turns.len() >= LEAST) else { return };
        let [.., before, end] = series.turns[..] else { return };
        // The ends are in the order of time.
        let until = |limit: Ticks| life.ended.partition_point(|(time, ..)| *time <= limit);
        let during = life.ended.get(until(series.begin)..until(end)).unwrap_or_default();
        let Some(&(time, last, _)) = during.last().filter(|(time, ..)| *time > before) else { return };
        self.found.push(Sleeper {
            thread,
            begin: series.begin,
            by_calls: series.by_calls,
            ended: during.iter().map(|(.., thread)| *thread).collect(),
            number: series.number,
            last: (time, last),
            turns: series.turns,
        });
    }

    pub(super) fn finish(mut self) -> Vec<Sleeper> {
        (0..self.lives.len() as u32).for_each(|thread| self.acted(ThreadIndex(thread)));
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::TraceBuilder;
    use crate::clock::Clock;
    use crate::event::{Outcome, SystemCall};

    fn has(name: &str, sleeps: usize, timed_out: usize) -> bool {
        let number = crate::point::CALLS.iter().position(|call| *call == name).expect("a call") as u8;
        let call = SystemCall { number, outcome: Outcome::Done, file: None, ticks: 10 };
        let mut trace = TraceBuilder::new(Clock::nanoseconds());
        let thread = trace.thread("main");
        for turn in 0..(sleeps + timed_out) as u64 {
            let what = match turn < sleeps as u64 {
                true => What::Called { call, site: SiteId(1) },
                false => What::CondWake { condition: 8, reason: WakeReason::TimedOut },
            };
            trace.push(Ticks(turn), thread, what);
            trace.push(Ticks(turn), thread, What::CondWake { condition: 8, reason: WakeReason::Woken });
        }
        may_have_series(&trace.build())
    }

    #[test]
    fn a_trace_with_too_few_sleeps_needs_no_search() {
        assert!(!has("usleep", LEAST - 1, 0) && !has("usleep", 0, LEAST - 1));
        assert!(has("usleep", LEAST, 0) && has("usleep", 0, LEAST));
        assert!(!has("read", 2 * LEAST, 0), "a read is no sleep");
    }
}
