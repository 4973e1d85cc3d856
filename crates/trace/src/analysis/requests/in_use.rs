//! How long locks, and futexes of the program's own, are in use while a server answers requests.

use crate::analysis::account::Account;
use crate::analysis::objects::{ObjectId, Objects};
use crate::analysis::window::Window;
use crate::clock::Ticks;
use crate::event::{Event, FutexEnd, Mode, SiteId, ThreadIndex, What};
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};

/// The use of a lock, of a futex of the program's own, or of a lock inside of the C library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InUse {
    /// Time in which the lock is held exclusively, or in which a thread waits for it. Readers keep
    /// only waiting threads out. At an object of which the trace does not show the holder,
    /// the time in which a thread waits there.
    pub time: Ticks,
    /// Time in which a thread waits there.
    pub awaited: Ticks,
    /// Number of waits that ended.
    pub waits: u64,
    /// Number of wakes of a futex that woke a thread; 0 for other objects.
    pub wakes: u64,
    /// The part of `wakes` by threads that have waited in the same futex themselves. Threads that
    /// share a lock both wait and wake; an event has other threads on either side.
    pub handed_on: u64,
}

impl InUse {
    /// Whether most wakes come from threads that have waited there too, as at a lock; false if there
    /// are no wakes.
    pub fn is_lock(&self) -> bool {
        self.handed_on * 2 > self.wakes
    }
}

/// Returns the use of each object inside the window.
pub fn in_use(trace: &Trace, window: &Window) -> BTreeMap<ObjectId, InUse> {
    let mut walk = Walk { window, found: BTreeMap::new(), states: BTreeMap::new(), waiters: BTreeSet::new() };
    let mut objects = Objects::new(trace);
    for event in trace.complete_events() {
        if let Some(id) = objects.follow(&event, trace.process_of(event.thread)) {
            walk.step(&event, id);
        }
    }
    let end = window.end();
    let ids: Vec<ObjectId> = walk.states.keys().copied().collect();
    ids.into_iter().for_each(|id| walk.settle(id, end));
    walk.found
}

/// Which threads hold an object and wait for it, and since when.
struct State {
    account: Account,
    since: Ticks,
}

struct Walk<'a> {
    window: &'a Window,
    found: BTreeMap<ObjectId, InUse>,
    states: BTreeMap<ObjectId, State>,
    /// The threads that have waited at each futex.
    waiters: BTreeSet<(ObjectId, ThreadIndex)>,
}

impl Walk<'_> {
    /// Counts the time up to `now`, in which nothing changed at the object.
    fn settle(&mut self, id: ObjectId, now: Ticks) {
        let Some(state) = self.states.get_mut(&id) else { return };
        let length = self.window.overlap(state.since, now);
        state.since = state.since.max(now);
        let found = self.found.entry(id).or_default();
        let is_awaited = !state.account.waiters().is_empty();
        if is_awaited || state.account.holders().iter().any(|holder| holder.mode == Mode::Exclusive) {
            found.time += length;
        }
        if is_awaited {
            found.awaited += length;
        }
    }

    fn step(&mut self, event: &Event, id: ObjectId) {
        let (thread, now) = (event.thread, event.time);
        let is_waited_at = matches!(
            event.what,
            What::Acquire { .. }
                | What::Request { .. }
                | What::Acquired { .. }
                | What::Timeout { .. }
                | What::Release { .. }
                | What::FutexWait { .. }
                | What::FutexWaitEnd { .. }
                | What::FutexWoke { .. }
                | What::LibcWait { .. }
                | What::LibcTaken { .. }
        );
        if !is_waited_at {
            return;
        }
        self.settle(id, now);
        let account =
            &mut self.states.entry(id).or_insert_with(|| State { account: Account::new(now), since: now }).account;
        let mut waits = 0;
        match event.what {
            What::Request { site, .. } | What::FutexWait { site, .. } | What::LibcWait { site, .. } => {
                account.request(now, thread, site);
            }
            What::Acquire { mode, .. } | What::Acquired { mode, .. } => {
                waits = u64::from(account.acquire(now, thread, mode, Some(SiteId::UNKNOWN)).waited.is_some());
            }
            What::Release { .. } => {
                account.release(now, thread);
            }
            What::FutexWaitEnd { end: FutexEnd::Changed, .. } => {
                account.leave(thread);
            }
            What::Timeout { .. } | What::LibcTaken { .. } => waits = u64::from(account.leave(thread).is_some()),
            What::FutexWaitEnd { .. } => {
                waits = u64::from(account.leave(thread).is_some());
                self.waiters.insert((id, thread));
            }
            What::FutexWoke { woken: 1.., .. } if self.window.contains(now) => {
                let found = self.found.entry(id).or_default();
                found.wakes += 1;
                found.handed_on += u64::from(self.waiters.contains(&(id, thread)));
            }
            _ => {}
        }
        if self.window.contains(now) {
            self.found.entry(id).or_default().waits += waits;
        }
    }
}
