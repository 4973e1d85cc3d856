//! What the units of the chip share: messages under way, when something happens to them, what the engine is told, and what is
//! counted.

use super::counts::Counts;
use super::golden::Golden;
use super::message::{Flight, Flights};
use super::places::Pages;
use crate::base::queue::{EventQueue, Rank};
use crate::base::token::Token;
use crate::border::Notice;
use crate::parts::Parts;

/// Cycles without any request served after which the memory system is taken to hang, beside what single steps of a request take.
/// Beyond every queue that a chip can have: 1,024 cores that all miss to one home, each served alone by memory.
const PATIENCE: u64 = 2_000_000;

/// What the units share.
#[derive(Clone)]
pub(super) struct Exchange {
    pub(super) flights: Flights,
    /// By message: when something happens to it.
    pub(super) events: EventQueue,
    /// What the engine has not been told yet.
    pub(super) notices: Vec<Notice>,
    /// Where pages of guest memory are.
    pub(super) pages: Pages,
    /// Requests that have not been served.
    pub(super) outstanding: u64,
    /// When a request was served last, or the first of those that are not was made.
    progress: u64,
    /// How long that may be ago.
    patience: u64,
    pub(super) counts: Counts,
    pub(super) golden: Golden,
}

impl Exchange {
    /// Nothing is under way. `step` is what the steps of one request take together, by the chip file.
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

    /// Puts a message under way; it leaves at `at`.
    #[inline]
    pub(super) fn post(&mut self, flight: Flight, at: u64) {
        let id = self.flights.put(flight);
        self.schedule(id, at);
    }

    /// Something happens to a message at `at`.
    #[inline]
    pub(super) fn schedule(&mut self, id: u32, at: u64) {
        self.events.put(id, at, Rank::Next);
    }

    /// A request waits to be served from `now` on.
    #[inline]
    pub(super) fn began(&mut self, now: u64) {
        self.progress = if self.outstanding == 0 { now } else { self.progress };
        self.outstanding += 1;
    }

    /// A request that waited is served: its value is read or written at `at`, not before `now`.
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
