//! What the units of the chip share: messages under way and their events, notices for the engine,
//! and counters.

use super::counts::Counts;
use super::golden::Golden;
use super::message::{Flight, Flights};
use super::places::Pages;
use crate::base::queue::{EventQueue, Rank};
use crate::base::token::Token;
use crate::border::Notice;
use crate::parts::Parts;

/// The memory system counts as hung after this many cycles, plus the time of one request's steps,
/// in which no request was served. The number is larger than any queue of a chip can last, even if
/// 1,024 cores all miss to one home and memory serves them one by one.
const PATIENCE: u64 = 2_000_000;

/// What the units share.
#[derive(Clone)]
pub(super) struct Exchange {
    pub(super) flights: Flights,
    /// The event of each message.
    pub(super) events: EventQueue,
    /// Notices that the engine has not been given yet.
    pub(super) notices: Vec<Notice>,
    /// The placement of pages of guest memory.
    pub(super) pages: Pages,
    /// Number of requests that have not been served.
    pub(super) outstanding: u64,
    /// The time at which the last request was served, or at which the first request that is not
    /// served was made.
    progress: u64,
    /// Cycles after `progress` at which the memory system counts as hung.
    patience: u64,
    pub(super) counts: Counts,
    pub(super) golden: Golden,
}

impl Exchange {
    /// An exchange with no message under way. `step` is the time of all steps of one request
    /// together, by the chip file.
    pub(super) fn new(flights: Flights, pages: Pages, cores: u32, step: u64) -> Exchange {
        Exchange {
            flights,
            events: EventQueue::new(),
            notices: Vec::new(),
            pages,
            outstanding: 0,
            progress: 0,
            patience: PATIENCE.saturating_add(step),
            counts: Counts::new(cores),
            golden: Golden::default(),
        }
    }

    /// Puts a message under way, which leaves at `at`.
    #[inline]
    pub(super) fn post(&mut self, flight: Flight, at: u64) {
        let id = self.flights.put(flight);
        self.schedule(id, at);
    }

    /// Schedules the event of a message at `at`.
    #[inline]
    pub(super) fn schedule(&mut self, id: u32, at: u64) {
        self.events.put(id, at, Rank::Next);
    }

    /// Notes that a request waits to be served from `now` on.
    #[inline]
    pub(super) fn began(&mut self, now: u64) {
        self.progress = if self.outstanding == 0 { now } else { self.progress };
        self.outstanding += 1;
    }

    /// Notes that a request that waited is served: its value is read or written at `at`, which is
    /// not before `now`.
    #[inline]
    pub(super) fn served(&mut self, token: Token, at: u64, parts: Parts, failed: bool, now: u64) {
        self.notices.push(Notice::Done { token, at, parts, failed });
        self.outstanding -= 1;
        self.progress = now;
    }

    /// The last moment at which the memory system is not taken to hang, if no request is served until then.
    pub(super) fn hangs_after(&self) -> u64 {
        if self.outstanding == 0 { u64::MAX } else { self.progress.saturating_add(self.patience) }
    }
}
