//! How each process ended: which thread left it ([`What::Exit`]), and which threads were at work until
//! then.
//!
//! A thread that leaves its process inside of a wait does so in a signal handler: the signal ended the
//! process, and the thread still waited. Such an end is left out.
//!
//! A program may run for a set time: its first thread starts workers, sleeps, and returns. That is so if
//! fewer than [`LEAST`] sleeps took most of the time since the thread had created its last thread. The
//! sleep then says nothing about what limits the program, but the threads that were at work at its end
//! do: those that ran, or waited for a lock. Threads that slept for most of their lives are none of
//! them.

use super::sleepers::LEAST;
use crate::clock::Ticks;
use crate::event::{Event, OffReason, ThreadIndex, WakeReason, What};
use crate::process::{ProcessExit, ProcessIndex};
use crate::trace::Trace;
use std::collections::BTreeMap;

/// Returns for each process the thread that left it, outside of waits. The first call walks over the
/// trace's events; later calls return what that walk has found.
pub fn exits(trace: &Trace) -> &BTreeMap<ProcessIndex, ProcessExit> {
    trace.exits.get_or_init(|| find(trace))
}

fn find(trace: &Trace) -> BTreeMap<ProcessIndex, ProcessExit> {
    let mut lives: Vec<Life> = trace.threads.iter().map(|_| Life::default()).collect();
    let mut exits = BTreeMap::new();
    for event in trace.complete_events() {
        let Some(life) = lives.get_mut(event.thread.index()) else { continue };
        life.step(&event);
        if event.what != What::Exit || life.waits > 0 {
            continue;
        }
        let (process, only_slept) = (trace.process_of(event.thread), life.only_slept(event.time));
        let others = (0..).map(ThreadIndex).zip(&lives).filter(|(thread, _)| trace.process_of(*thread) == process);
        let working = others.filter(|(thread, life)| *thread != event.thread && life.works(event.time));
        let working = working.map(|(thread, _)| thread).filter(|_| only_slept).collect();
        exits.insert(process, ProcessExit { thread: event.thread, time: event.time, working });
    }
    exits
}

/// A thread, as far as the walk has come.
#[derive(Clone, Default)]
struct Life {
    began: Option<Ticks>,
    ended: bool,
    /// Number of waits that the thread is in, without those for locks of the C library, whose begin the
    /// kernel reports late.
    waits: u32,
    /// Whether the last of them is for a lock.
    wants: bool,
    /// Whether context switches are recorded, and the last one says that the thread is blocked.
    switched: bool,
    blocked: bool,
    /// When the thread acted last.
    acted: Ticks,
    /// Length of the call that the event before was about.
    call: Option<u64>,
    /// When the thread began its last wait at a condition variable.
    waited: Ticks,
    /// How long the thread has slept in its life.
    asleep: Ticks,
    /// When the thread created its last thread, and its sleeps since: how many, and how long.
    created: Option<Ticks>,
    sleeps: (usize, Ticks),
}

impl Life {
    fn step(&mut self, event: &Event) {
        let now = event.time;
        self.began.get_or_insert(now);
        match event.what {
            What::OffCpu { reason, .. } => (self.switched, self.blocked) = (true, reason != OffReason::Preempted),
            What::OnCpu { .. } => (self.switched, self.blocked) = (true, false),
            What::LibcWait { .. } | What::LibcTaken { .. } => {}
            What::ThreadEnd { .. } => self.ended = true,
            What::Blocked { ticks, .. } => self.call = Some(ticks),
            What::Called { call, .. } => {
                let length = call.length(self.call.take());
                if call.is_sleep() {
                    self.slept(length);
                }
            }
            What::Created { error: 0, .. } => (self.created, self.sleeps) = (Some(now), (0, Ticks(0))),
            what => {
                match what {
                    What::CondWait { .. } => self.waited = now,
                    What::CondWake { reason: WakeReason::TimedOut, .. } => self.slept(now.since(self.waited)),
                    _ => {}
                }
                match what.wait_edge() {
                    Some(true) => (self.waits, self.wants) = (self.waits + 1, matches!(what, What::Request { .. })),
                    Some(false) => self.waits = self.waits.saturating_sub(1),
                    None => {}
                }
            }
        }
        if event.what.is_act() {
            self.acted = now;
        }
    }

    fn slept(&mut self, length: Ticks) {
        self.asleep += length;
        self.sleeps = (self.sleeps.0 + 1, self.sleeps.1 + length);
    }

    /// Whether a few sleeps took most of the time since the thread created its last thread.
    fn only_slept(&self, now: Ticks) -> bool {
        let (count, length) = self.sleeps;
        count < LEAST && self.created.is_some_and(|created| length.0 > now.since(created).0 / 2)
    }

    /// Whether the thread is at work. Without its context switches, it must have acted in the last
    /// eighth of its life.
    fn works(&self, now: Ticks) -> bool {
        let Some(life) = self.began.map(|began| now.since(began)).filter(|_| !self.ended) else { return false };
        let runs = match self.switched {
            true => !self.blocked,
            false => now.since(self.acted).0 < life.0 / 8,
        };
        let busy = if self.waits == 0 { runs } else { self.waits == 1 && self.wants };
        busy && self.asleep.0 < life.0 / 2
    }
}
