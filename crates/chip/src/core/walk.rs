//! Independent loads that are under way at once: a guest walks over the lines of a range.
//!
//! Loads issue in order, each with the walk's own instructions, while the reorder buffer and the
//! load queue have room and a miss-status register is free. They retire in order: the oldest load
//! keeps its entries until its line has arrived, even if younger loads are complete. The thread
//! waits for the oldest load, and its waiting is attributed to what that load's time was spent on
//! (a stall at the head of the reorder buffer).

use crate::base::token::LOADS;
use baton_memory::Parts;
use std::collections::VecDeque;

/// A load under way.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    /// The time at which its line arrives, or [`PENDING`] if the memory system has not answered
    /// yet.
    pub(crate) due: u64,
    /// What the load's time is spent on.
    pub(crate) parts: Parts,
}

/// What the thread waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    Nothing,
    /// The oldest load.
    Oldest,
    /// A free miss-status register: the end of any load that misses.
    Any,
}

/// The loads of a thread's walk.
pub(crate) struct Walk {
    /// The loads, oldest first.
    pub(crate) loads: VecDeque<Load>,
    /// The number of the oldest load.
    pub(crate) first: u32,
    /// The number of loads that the memory system has not answered yet.
    pub(crate) misses: u32,
    pub(crate) waits: Waits,
    /// What the time of the load that the thread waited for last was spent on.
    pub(crate) came: Parts,
}

impl Default for Walk {
    fn default() -> Walk {
        Walk { loads: VecDeque::new(), first: 0, misses: 0, waits: Waits::Nothing, came: Parts::default() }
    }
}

impl Walk {
    /// Removes the oldest loads whose lines have arrived by `now`.
    pub(crate) fn retire(&mut self, now: u64) {
        while self.loads.front().is_some_and(|load| load.due <= now) {
            self.loads.pop_front();
            self.first = (self.first + 1) % LOADS;
        }
    }
}
