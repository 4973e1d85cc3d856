//! A guest thread's wait: on which cell or line, and how far it is.

use super::idle_wait::IdleWait;
use crate::base::thread::ThreadId;
use crate::engine::spin::Spin;
use baton_machine::wait::Learnt;
use baton_units::CoreId;

/// What a thread waits for, and its place in the list of its line's watchers.
pub(crate) struct WaitState {
    /// What it waits on, and since when: for the report of a deadlock.
    pub(crate) waits_on: Option<(Waited, u64)>,
    /// That wait has a deadline.
    pub(crate) bounded: bool,
    /// When it last began to look at the cell that it waits on.
    pub(crate) looked: u64,
    /// Tries that are not simulated one by one.
    pub(crate) spin: Spin,
    /// The idle wait.
    pub(crate) idle: IdleWait,
    /// The next watcher of the line, plus one; 0: none.
    pub(crate) watch_next: u32,
    /// The watcher before, plus one; 0: this is the first.
    pub(crate) watch_before: u32,
    /// It is on a line's list.
    pub(crate) watches: bool,
    /// What it has learnt of its waits, if its policy adapts.
    pub(crate) learnt: Option<Box<Learnt>>,
}

impl WaitState {
    /// No wait.
    pub(crate) fn none() -> WaitState {
        WaitState {
            waits_on: None,
            bounded: false,
            looked: 0,
            spin: Spin::pause(CoreId(0), 0),
            idle: IdleWait::NONE,
            watch_next: 0,
            watch_before: 0,
            watches: false,
            learnt: None,
        }
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// A cell, by its offset in guest memory.
    Cell(usize),
    /// The end of a thread.
    Thread(ThreadId),
    /// A time.
    Time,
    /// A device: an answer, or its interrupt.
    Device(u32),
}
