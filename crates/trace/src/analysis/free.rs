//! How long at least one lock was free while a thread waited for it.
//!
//! Replacing the locks by faster ones can win no more than this time: at every other moment each
//! waiting thread waits for a holder, and a holder's section is the program's own work. The
//! hand-offs on the critical path are a part of this time, and not always the greater part. A lock
//! that lets a running thread take it again before the woken waiter comes has few hand-offs on the
//! path, though each release pays for a wake-up while a thread waits.

use super::window::Window;
use crate::clock::Ticks;

/// The time in which at least one lock was free and a thread waited for it.
#[derive(Default)]
pub(super) struct FreeWhileWanted {
    /// Number of locks that are free at present although a thread waits for each.
    locks: u32,
    since: Ticks,
    sum: Ticks,
}

impl FreeWhileWanted {
    /// Takes an event at one lock into account. `before` and `after` tell whether the lock was free
    /// and waited for just before the event and just after it.
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

    /// Adds time in which a mutex was free while a thread that had been signalled at a condition
    /// variable waited for it, between two times. Waits that cross the window's border are left out.
    /// The time may overlap with that of other locks, so the sum is an upper bound.
    pub(super) fn add(&mut self, free: Ticks, (from, to): (Ticks, Ticks), window: &Window) {
        if window.overlap(from, to) == to.since(from) {
            self.sum += free;
        }
    }

    /// Returns the summed time inside the window, if the last event was at `end`.
    pub(super) fn until(&self, end: Ticks, window: &Window) -> Ticks {
        let open = if self.locks > 0 { window.overlap(self.since, end) } else { Ticks(0) };
        self.sum + open
    }
}
