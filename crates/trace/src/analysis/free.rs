//! How long some lock was free while a thread waited for it.
//!
//! No other lock can win more than this time: at every other moment each waiting thread waits for a
//! holder, and a holder's section is the program's own. The hand-offs on the critical path are a
//! part of it, and not always the greater one. A lock that lets a running thread take it again
//! before the woken waiter comes has few hand-offs on the path, though each release pays for a
//! wake-up while a thread waits.

use super::objects::{ObjectId, Objects};
use super::window::Window;
use crate::clock::Ticks;
use crate::event::What;
use crate::trace::Trace;

#[derive(Clone, Copy, Default)]
struct Lock {
    holds: u32,
    waiters: u32,
}

impl Lock {
    fn is_free_and_wanted(self) -> bool {
        self.holds == 0 && self.waiters > 0
    }
}

/// The time inside the window in which at least one lock was free and a thread waited for it.
pub fn free_while_wanted(trace: &Trace, window: &Window) -> Ticks {
    let mut objects = Objects::new(trace);
    let mut locks: Vec<Lock> = Vec::new();
    let (mut wanted, mut since, mut sum) = (0u32, Ticks(0), Ticks(0));
    for event in trace.complete_events() {
        let Some(id) = objects.follow(&event, trace.process_of(event.thread)) else { continue };
        let lock = at(&mut locks, id);
        let before = lock.is_free_and_wanted();
        match event.what {
            What::Request { .. } => lock.waiters += 1,
            What::Acquire { .. } => lock.holds += 1,
            What::Acquired { .. } => *lock = Lock { holds: lock.holds + 1, waiters: lock.waiters.saturating_sub(1) },
            What::Timeout { .. } => lock.waiters = lock.waiters.saturating_sub(1),
            What::Release { .. } => lock.holds = lock.holds.saturating_sub(1),
            _ => continue,
        }
        match (before, lock.is_free_and_wanted()) {
            (false, true) => {
                wanted += 1;
                since = if wanted == 1 { event.time } else { since };
            }
            (true, false) => {
                wanted -= 1;
                if wanted == 0 {
                    sum += window.overlap(since, event.time);
                }
            }
            _ => {}
        }
    }
    if wanted > 0 { sum + window.overlap(since, trace.span().1) } else { sum }
}

fn at(locks: &mut Vec<Lock>, id: ObjectId) -> &mut Lock {
    if locks.len() <= id.index() {
        locks.resize(id.index() + 1, Lock::default());
    }
    &mut locks[id.index()]
}
