//! A guest thread's wait: on which cell or line, and how far it is.

use super::idle_wait::IdleWait;
use crate::base::thread::ThreadId;
use crate::engine::spin::Spin;
use baton_machine::wait::Learnt;
use baton_units::CoreId;

/// What a thread waits for, and its place in the list of its line's watchers.
pub(crate) struct WaitState {
    /// What the thread waits for, and since when; a report of a deadlock shows both.
    pub(crate) waits_on: Option<(Waited, u64)>,
    /// Whether the wait in `waits_on` has a deadline.
    pub(crate) bounded: bool,
    /// The time at which the thread last began to look at the cell that it waits on.
    pub(crate) looked: u64,
    /// The spinning wait whose tries are not simulated one by one.
    pub(crate) spin: Spin,
    /// The idle wait.
    pub(crate) idle: IdleWait,
    /// The next thread in the list of the line's watchers, plus one; 0 for none.
    pub(crate) watch_next: u32,
    /// The previous thread in the list of the line's watchers, plus one; 0 if this thread is the
    /// first.
    pub(crate) watch_before: u32,
    /// Whether the thread is in the list of a line's watchers.
    pub(crate) watches: bool,
    /// What the thread has learnt from its earlier waits, if its wait policy adapts.
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
    /// The end of another thread, in a join.
    Thread(ThreadId),
    /// A time.
    Time,
    /// A device, by number: its answer, or an interrupt that any waiting thread may get.
    Device(u32),
    /// A device, by number: an interrupt for this thread alone, which the thread asked for.
    Armed(u32),
}
