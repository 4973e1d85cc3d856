//! The wait of a guest thread: on which cell or line, and its progress.

use super::idle_wait::IdleWait;
use crate::base::thread::ThreadId;
use crate::engine::spin::Spin;
use baton_machine::wait::Learnt;
use baton_units::CoreId;

/// What a thread waits for, and its place in its line's list of watchers.
pub(crate) struct WaitState {
    /// What the thread waits on and since when, for the report of a deadlock.
    pub(crate) waits_on: Option<(Waited, u64)>,
    /// Whether that wait has a deadline.
    pub(crate) bounded: bool,
    /// When the thread last began to read the cell that it waits on.
    pub(crate) looked: u64,
    /// The tries that are not simulated one by one.
    pub(crate) spin: Spin,
    pub(crate) idle: IdleWait,
    /// The next watcher of the line, plus one; 0 for none.
    pub(crate) watch_next: u32,
    /// The previous watcher of the line, plus one; 0 if this is the first.
    pub(crate) watch_before: u32,
    /// Whether the thread is in a line's list.
    pub(crate) watches: bool,
    /// What the thread has learnt about its waits, if its policy adapts.
    pub(crate) learnt: Option<Box<Learnt>>,
}

impl WaitState {
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
    /// A moment in time.
    Time,
    /// A device: an answer, or an interrupt.
    Device(u32),
}
