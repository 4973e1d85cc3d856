//! Marks: what a thread's locks have told its core's network interface, and the header fields that
//! a mechanism writes into the thread's requests accordingly ([`baton_chipfile::config::mechanism`]).
//!
//! A hint applies to one instruction: the next atomic takes it (a hint about a wake-up: the next
//! atomic or load). Later accesses have only the thread's standing mark, if there is one.

use baton_chipfile::config::mechanism::{Active, Annotator, LockRequest};
use baton_machine::{LockHint, Section};
use baton_memory::Access;
use baton_noc::Header;

/// The hints and critical sections that a thread's locks have announced to its core's network
/// interface.
#[derive(Default)]
pub(crate) struct Marks {
    /// The kind of the thread's next marked access.
    pub(crate) hint: Option<LockRequest>,
    /// The last hint of a lock, by which the thread's sleep and wake-ups are marked.
    pub(crate) last_hint: Option<LockHint>,
    /// The mark of all requests of the thread, with or without a hint; set for a thread whose
    /// packets have precedence.
    pub(crate) standing: Header,
    /// The number of locks that the thread holds.
    pub(crate) locks_held: u32,
    pub(crate) waits_since: Option<u64>,
}

/// The saved hints of a thread, and since when it has waited for its lock.
pub(crate) struct SavedHints(Option<LockRequest>, Option<LockHint>, Option<u64>);

impl Marks {
    /// Saves the hints before a signal handler runs, because the handler's accesses are not what
    /// the locks announced.
    pub(crate) fn save(&mut self) -> SavedHints {
        SavedHints(self.hint.take(), self.last_hint.take(), self.waits_since.take())
    }

    /// Restores the hints after the handler.
    pub(crate) fn restore(&mut self, said: SavedHints) {
        (self.hint, self.last_hint, self.waits_since) = (said.0, said.1, said.2);
    }

    /// A lock is about to give a hint. If the hint is for a try, the thread's wait for the lock
    /// begins now, unless it has begun before.
    pub(crate) fn hears(&mut self, hint: LockHint, now: u64) {
        if hint.retries_left != 0 && self.waits_since.is_none() {
            self.waits_since = Some(now);
        }
    }

    /// The hint has reached the registers of the network interface: it marks the thread's next
    /// atomic.
    pub(crate) fn hinted(&mut self, hint: LockHint, now: u64, mechanism: &Active) {
        let request = LockRequest::of(hint, now - self.waits_since.unwrap_or(now));
        if let (LockRequest::Release(_), Some(leaving)) = (request, mechanism.leaving()) {
            self.standing = leaving;
        }
        (self.hint, self.last_hint) = (Some(request), Some(hint));
    }

    /// The thread entered a critical section, left it, or no longer waits for it.
    pub(crate) fn section(&mut self, section: Section, mechanism: &Active) {
        self.waits_since = None;
        match section {
            Section::Entered => self.locks_held += 1,
            Section::Left => {
                self.locks_held = self.locks_held.saturating_sub(1);
                // If the release was a plain store, no atomic has used up its hint.
                self.hint = None;
            }
            Section::GivenUp => {}
        }
        self.standing = mechanism.holding().filter(|_| self.locks_held != 0).unwrap_or_default();
    }

    /// The mark of the next access. One instruction takes a hint. Both halves of a load-linked and
    /// store-conditional pair carry the hint, which the end of the pair removes.
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
        // The standing mark of a lock holder or of a releasing thread goes before a hint's.
        if takes && !self.standing.rank.is_some() { mechanism.header(request) } else { self.standing }
    }
}
