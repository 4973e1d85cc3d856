//! Loads that do not depend on each other and are under way at once: a guest walks over the lines of a range.
//!
//! Loads are issued in order, each with the walk's own instructions, as long as the reorder buffer and the load queue have
//! room and a miss-status register is free. They retire in order: the oldest one leaves its entries when its line has come,
//! and until then they are taken, whatever came for the younger ones. The thread waits for the oldest, and its waiting
//! goes to what that load's time went to (the stall at the head of the reorder buffer).

use crate::base::token::LOADS;
use baton_memory::Parts;
use std::collections::VecDeque;

/// A load under way.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    /// When its line is there; [`PENDING`]: the memory system will tell.
    pub(crate) due: u64,
    /// What its time goes to.
    pub(crate) parts: Parts,
}

/// What the thread waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    Nothing,
    /// The oldest load.
    Oldest,
    /// A miss-status register: any load that misses.
    Any,
}

/// The loads of a thread's walk.
pub(crate) struct Walk {
    /// Oldest first.
    pub(crate) loads: VecDeque<Load>,
    /// Number of the oldest.
    pub(crate) first: u32,
    /// How many of them the memory system has not answered yet.
    pub(crate) misses: u32,
    pub(crate) waits: Waits,
    /// What the load went to that the thread waited for last.
    pub(crate) came: Parts,
}

impl Default for Walk {
    fn default() -> Walk {
        Walk { loads: VecDeque::new(), first: 0, misses: 0, waits: Waits::Nothing, came: Parts::default() }
    }
}

impl Walk {
    /// The oldest loads leave, as far as their lines have come by `now`.
    pub(crate) fn retire(&mut self, now: u64) {
        while self.loads.front().is_some_and(|load| load.due <= now) {
            self.loads.pop_front();
            self.first = (self.first + 1) % LOADS;
        }
    }
}
