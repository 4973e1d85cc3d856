//! Marks: what a thread's locks have told its core's network interface, and the header fields that a mechanism writes by it
//! into the thread's requests ([`baton_chipfile::config::mechanism`]).
//!
//! A hint is for one instruction: the next atomic takes it, and what comes after is unmarked.

use baton_chipfile::config::mechanism::{Active, Annotator, LockRequest};
use baton_machine::{LockHint, Section};
use baton_memory::Access;
use baton_noc::Header;

/// What a thread's locks have told its network interface.
#[derive(Default)]
pub(crate) struct Marks {
    /// What its next marked access is.
    pub(crate) hint: Option<LockRequest>,
    /// The last hint that a lock gave: what its sleep and its wake-ups are marked by.
    pub(crate) last_hint: Option<LockHint>,
    /// The mark of all its requests, hint or not: of a thread whose packets go before others'.
    pub(crate) standing: Header,
    /// Locks that it holds, and since when it has waited for one.
    pub(crate) locks_held: u32,
    pub(crate) waits_since: Option<u64>,
}

/// What a thread's locks have said of what comes next, saved.
pub(crate) struct Said(Option<LockRequest>, Option<LockHint>, Option<u64>);

impl Marks {
    /// A handler comes between: its accesses are none of what the locks have said.
    pub(crate) fn save(&mut self) -> Said {
        Said(self.hint.take(), self.last_hint.take(), self.waits_since.take())
    }

    /// The handler is over.
    pub(crate) fn restore(&mut self, said: Said) {
        (self.hint, self.last_hint, self.waits_since) = (said.0, said.1, said.2);
    }

    /// A lock is about to give a hint: a wait begins with its first try.
    pub(crate) fn hears(&mut self, hint: LockHint, now: u64) {
        if hint.retries_left != 0 && self.waits_since.is_none() {
            self.waits_since = Some(now);
        }
    }

    /// The hint is in the registers.
    pub(crate) fn hinted(&mut self, hint: LockHint, now: u64, mechanism: &Active) {
        let request = LockRequest::of(hint, now - self.waits_since.unwrap_or(now));
        if let (LockRequest::Release(_), Some(leaving)) = (request, mechanism.leaving()) {
            self.standing = leaving;
        }
        (self.hint, self.last_hint) = (Some(request), Some(hint));
    }

    /// A critical section is entered, left, or no longer waited for.
    pub(crate) fn section(&mut self, section: Section, mechanism: &Active) {
        self.waits_since = None;
        match section {
            Section::Entered => self.locks_held += 1,
            Section::Left => {
                self.locks_held = self.locks_held.saturating_sub(1);
                // A release that was no atomic has not taken its hint.
                self.hint = None;
            }
            Section::GivenUp => {}
        }
        self.standing = mechanism.holding().filter(|_| self.locks_held != 0).unwrap_or_default();
    }

    /// The mark of the next access. One instruction takes a hint: of a load-linked and store-conditional both halves have
    /// it, and the instruction's end takes it away.
    #[inline(always)]
    pub(crate) fn mark(&mut self, access: Access, mechanism: &Active) -> Header {
        let Some(request) = self.hint else { return self.standing };
        let (takes, ends) = match (request, access) {
            (_, Access::LoadLinked(_) | Access::StoreConditional(_)) => (true, false),
            (_, Access::Atomic) | (LockRequest::WakeUp(_) | LockRequest::Woken(_), Access::Load) => (true, true),
            _ => (false, false),
        };
        if ends {
            self.hint = None;
        }
        // A lock's holder is urgent whatever it asks for.
        if takes && !self.standing.rank.is_some() { mechanism.header(request) } else { self.standing }
    }
}
