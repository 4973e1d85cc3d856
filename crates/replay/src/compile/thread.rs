//! The record of a thread that the walk makes.

use super::rounds::RoundTimes;
use super::track::{Raw, Track};
use baton_trace::ThreadIndex;

/// What the walk has recorded of a thread.
#[derive(Default)]
pub(crate) struct RawThread {
    pub(crate) first: u64,
    /// The time of the thread's last event.
    pub(crate) last: u64,
    /// The time at which another thread's join of this thread ended; 0 if no thread joined it.
    pub(crate) joined: u64,
    pub(crate) track: Track,
    /// The times at which the turns of the thread's loop end, if it has a loop that may be repeated.
    pub(crate) turns: RoundTimes,
    /// The number of moments at which the thread's CPU time is known.
    pub(crate) cpu_times: u64,
    /// Whether the thread's context switches were recorded.
    pub(crate) switched: bool,
    /// The intervals in which the thread was off its CPU: begin, end, and why.
    pub(crate) off: Vec<(u64, u64, Off)>,
}

/// Why a thread was off its CPU.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Off {
    /// The thread had blocked: it slept, or waited for something.
    Blocked,
    /// The recorder had blocked, while it made room for events.
    Recorder,
    /// The thread was ready to run.
    Ready,
}

impl RawThread {
    pub(crate) fn cpu_time(&mut self, ns: u64) {
        self.cpu_times += 1;
        self.track.push(Raw::CpuTime(ns));
    }
}

pub(crate) fn index(thread: ThreadIndex) -> usize {
    thread.index()
}
