//! The state that a core's caches keep beside their arrays: transactions under way, accesses that
//! wait, lines that a write pins.

use super::message::NONE;
use crate::border::Request;
use baton_chipfile::config::limits::MOST_CONTEXTS;
use baton_coherence::cache::{State, Transaction};
use std::collections::VecDeque;

/// A transaction of a line: an MSHR, or a place in the write-back buffer.
#[derive(Clone, Copy)]
pub(super) struct Slot<S> {
    pub(super) line: u32,
    pub(super) state: State,
    /// The line's way in the outer level, as long as it has one.
    pub(super) way: Option<usize>,
    pub(super) transaction: Transaction<S>,
    /// The waiting access that began the transaction, or [`NONE`] if a hint began it or the access
    /// has been performed.
    pub(super) first: u32,
    /// The accesses that wait for the end of the transaction.
    pub(super) waiting: u32,
    pub(super) last: u32,
    /// Whether the transaction takes an MSHR.
    pub(super) counted: bool,
    /// The version of data that is no longer in a way (debug builds).
    pub(super) version: u32,
    next: u32,
}

impl<S: Default> Slot<S> {
    pub(super) fn new(line: u32, way: Option<usize>, counted: bool) -> Slot<S> {
        Slot {
            line,
            state: State::I,
            way,
            transaction: Transaction::default(),
            first: NONE,
            waiting: NONE,
            last: NONE,
            counted,
            version: 0,
            next: NONE,
        }
    }
}

/// An access that waits.
#[derive(Clone, Copy)]
pub(super) struct Waiter {
    pub(super) request: Request,
    pub(super) issued: u64,
    pub(super) next: u32,
}

/// An element that a slab links through itself.
pub(super) trait Linked: Copy {
    fn next(&mut self) -> &mut u32;
}

impl<S: Copy> Linked for Slot<S> {
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
}

impl Linked for Waiter {
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
}

/// Numbered elements that come and go; numbers are used again.
#[derive(Clone)]
pub(super) struct Slab<T> {
    all: Vec<T>,
    free: u32,
    used: u32,
}

impl<T: Linked> Slab<T> {
    pub(super) fn new() -> Slab<T> {
        Slab { all: Vec::new(), free: NONE, used: 0 }
    }

    #[inline]
    pub(super) fn put(&mut self, value: T) -> u32 {
        self.used += 1;
        if self.free == NONE {
            self.all.push(value);
            return self.all.len() as u32 - 1;
        }
        let id = self.free;
        let place = &mut self.all[id as usize];
        self.free = *place.next();
        *place = value;
        id
    }

    /// Takes an element out as it was.
    #[inline]
    pub(super) fn take(&mut self, id: u32) -> T {
        self.used -= 1;
        let value = self.all[id as usize];
        *self.all[id as usize].next() = self.free;
        self.free = id;
        value
    }

    pub(super) fn used(&self) -> u32 {
        self.used
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, id: u32) -> &T {
        &self.all[id as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline(always)]
    fn index_mut(&mut self, id: u32) -> &mut T {
        &mut self.all[id as usize]
    }
}

/// The state of one core.
#[derive(Clone, Default)]
pub(super) struct Core {
    /// MSHRs in use.
    pub(super) used: u32,
    /// Transactions whose line has no way: write-backs and far atomics.
    pub(super) without_way: Vec<u32>,
    /// Lines with a write that is still going on, and the time at which the write is over.
    pub(super) pins: Vec<(u32, u64)>,
    /// Lines for which a forward waits until a write is over; no other write to them begins before
    /// the forward is answered.
    pub(super) awaited: Vec<u32>,
    /// Accesses that found no free MSHR or way, or that wait behind a forward or an earlier blocked
    /// access, in the order in which they were blocked.
    pub(super) blocked: VecDeque<u32>,
    /// By context: the line to which the context's load-linked set its link, plus one; 0 without a
    /// link.
    pub(super) links: [u32; MOST_CONTEXTS],
    /// By context: whether the last store-conditional that was served failed.
    pub(super) failed: [bool; MOST_CONTEXTS],
}

impl Core {
    /// Breaks every context's link to the line, because this core loses the line or one of its
    /// contexts writes it.
    #[inline]
    pub(super) fn unlink(&mut self, line: u32) {
        self.links.iter_mut().filter(|link| **link == line + 1).for_each(|link| *link = 0);
    }

    /// Returns the time until which a write keeps the line at this core, if the write is still
    /// going on.
    #[inline]
    pub(super) fn pinned_until(&self, line: u32, now: u64) -> Option<u64> {
        self.pins.iter().filter(|pin| pin.0 == line && pin.1 > now).map(|pin| pin.1).max()
    }

    #[inline]
    pub(super) fn pinned(&self, line: u32, now: u64) -> bool {
        self.pinned_until(line, now).is_some()
    }
}
