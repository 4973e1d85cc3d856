//! One lock as the walk sees it: who holds it, who waits, since when nobody holds it.

use baton_trace::{Mode, SiteId, ThreadIndex, Ticks};

pub(super) struct Hold {
    pub(super) thread: ThreadIndex,
    pub(super) mode: Mode,
    pub(super) site: SiteId,
    pub(super) since: Ticks,
    depth: u32,
}

#[derive(Clone, Copy)]
pub(super) struct Waiter {
    pub(super) thread: ThreadIndex,
    pub(super) since: Ticks,
}

/// A lock's state.
#[derive(Default)]
pub(super) struct LockState {
    pub(super) holds: Vec<Hold>,
    pub(super) waiters: Vec<Waiter>,
    pub(super) free_since: Option<Ticks>,
    pub(super) last_release: Option<(ThreadIndex, Ticks)>,
}

impl LockState {
    pub(super) fn new() -> LockState {
        LockState { free_since: Some(Ticks(0)), ..LockState::default() }
    }

    /// Takes a hold. Gives the stretches of competition overhead that end with it, and the holds whose release is missing.
    pub(super) fn acquire(
        &mut self,
        now: Ticks,
        thread: ThreadIndex,
        mode: Mode,
        site: SiteId,
    ) -> (Vec<(ThreadIndex, Ticks)>, Vec<Hold>) {
        if let Some(hold) = self.holds.iter_mut().find(|h| h.thread == thread) {
            hold.depth += 1;
            return (Vec::new(), Vec::new());
        }
        let excluded = self.holds.iter().any(|h| mode == Mode::Exclusive || h.mode == Mode::Exclusive);
        let lost = if excluded { std::mem::take(&mut self.holds) } else { Vec::new() };
        let overhead = match self.free_since.take() {
            Some(free) => self.waiters.iter().map(|w| (w.thread, free.max(w.since))).collect(),
            None => Vec::new(),
        };
        self.holds.push(Hold { thread, mode, site, since: now, depth: 1 });
        (overhead, lost)
    }

    /// Gives up a hold; `None` while it is still held (recursion), or if it is not known to be held.
    pub(super) fn release(&mut self, now: Ticks, thread: ThreadIndex) -> Option<Hold> {
        let at = match self.holds.iter().position(|h| h.thread == thread) {
            Some(at) => at,
            // A mutex may be unlocked by a thread that did not lock it, where its kind allows that.
            None if self.holds.len() == 1 && self.holds[0].mode == Mode::Exclusive => 0,
            None => return None,
        };
        self.holds[at].depth -= 1;
        if self.holds[at].depth > 0 {
            return None;
        }
        let hold = self.holds.remove(at);
        self.last_release = Some((thread, now));
        if self.holds.is_empty() {
            self.free_since = Some(now);
        }
        Some(hold)
    }

    /// Takes a waiter out.
    pub(super) fn leave(&mut self, thread: ThreadIndex) -> Option<Waiter> {
        let at = self.waiters.iter().position(|w| w.thread == thread)?;
        Some(self.waiters.remove(at))
    }
}
