//! How long some lock was free while a thread waited for it.
//!
//! No other lock can win more than this time: at every other moment each waiting thread waits for a
//! holder, and a holder's section is the program's own. The hand-offs on the critical path are a
//! part of it, and not always the greater one. A lock that lets a running thread take it again
//! before the woken waiter comes has few hand-offs on the path, though each release pays for a
//! wake-up while a thread waits.

use super::window::Window;
use crate::clock::Ticks;

/// The time in which at least one lock was free and a thread waited for it.
#[derive(Default)]
pub(super) struct FreeWhileWanted {
    /// The number of locks that are free now and waited for.
    locks: u32,
    since: Ticks,
    sum: Ticks,
}

impl FreeWhileWanted {
    /// Records whether one lock was free and waited for before an event, and whether it is after.
    pub(super) fn change(&mut self, now: Ticks, before: bool, after: bool, window: &Window) {
        match (before, after) {
            (false, true) => {
                self.locks += 1;
                if self.locks == 1 {
                    self.since = now;
                }
            }
            (true, false) => {
                self.locks -= 1;
                if self.locks == 0 {
                    self.sum += window.overlap(self.since, now);
                }
            }
            _ => {}
        }
    }

    /// The time inside the window, if the last event was at `end`.
    pub(super) fn until(&self, end: Ticks, window: &Window) -> Ticks {
        let open = if self.locks > 0 { window.overlap(self.since, end) } else { Ticks(0) };
        self.sum + open
    }
}
