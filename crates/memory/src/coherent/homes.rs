//! The homes of all lines: a directory entry a line, the requests that wait for it, and the shared level's banks.

use super::array::Array;
use super::message::List;
use crate::lines::Sparse;
use baton_coherence::CoreSet;
use baton_coherence::home::{Line, State};
use baton_units::CoreId;
use std::collections::VecDeque;

/// The homes of all lines.
#[derive(Clone)]
pub(super) struct Homes<S> {
    /// The entry of each line, plus one.
    pub(super) entry_of: Sparse<u32>,
    pub(super) entries: Vec<Entry<S>>,
    pub(super) all: Vec<Home>,
    /// The shared level, a bank a home.
    pub(super) bank: Option<Array>,
    /// Number of sharers that had to give a line up for want of a pointer.
    pub(super) victims: u32,
}

/// A line at its home.
#[derive(Clone)]
pub(super) struct Entry<S> {
    pub(super) line: u32,
    pub(super) directory: Line<S>,
    /// Requests that wait for the line.
    pub(super) waiting: List,
    /// Messages that wait for the line's data from memory. If there are any, the line is being
    /// read.
    pub(super) wanting: List,
    /// Whether a request that waited is about to have another turn.
    pub(super) again: bool,
    /// Whether the shared level is giving the line up.
    pub(super) leaving: bool,
    /// Whether the first waiting request has begun to be served: it waits for copies that it has
    /// recalled. Kept for [`super::order`].
    pub(super) begun: bool,
}

/// One home.
#[derive(Clone, Default)]
pub(super) struct Home {
    /// The time at which the bank can give its next turn.
    pub(super) free_at: u64,
    /// Requests for which an inclusive bank has no place yet, and whether they are the first that wait for their line.
    pub(super) parked: VecDeque<(u32, bool)>,
}

/// A home at a moment.
#[derive(Clone, Copy)]
pub(super) struct Visit {
    pub(super) home: u32,
    pub(super) now: u64,
}

/// The effects of a home's step on other units.
#[derive(Clone, Copy, Default)]
pub(super) struct HomeDid {
    /// The core whose far atomic the home has performed, and the line.
    pub(super) atomic: Option<(CoreId, u32)>,
    /// Whether the request has left its place at the home's endpoint.
    pub(super) place_is_free: bool,
}

impl<S: CoreSet> Homes<S> {
    /// The entry of a line, which is made on first use.
    #[inline]
    pub(super) fn entry(&mut self, line: u32) -> usize {
        let at = self.entry_of[line as usize];
        if at != 0 {
            return at as usize - 1;
        }
        let (directory, list) = (Line::default(), List::EMPTY);
        let (waiting, wanting) = (list, list);
        self.entries.push(Entry { line, directory, waiting, wanting, again: false, leaving: false, begun: false });
        self.entry_of[line as usize] = self.entries.len() as u32;
        self.entries.len() - 1
    }
}

impl<S> Entry<S> {
    /// Whether an inclusive bank may give up the line now.
    pub(super) fn may_leave(&self) -> bool {
        self.directory.state.is_stable() && !self.leaving && self.wanting.is_empty() && !self.again
    }

    /// Whether no core has the line.
    pub(super) fn is_nowhere(&self) -> bool {
        self.directory.state == State::I
    }
}
