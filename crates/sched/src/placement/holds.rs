//! How long locks are held: the work of a hold, and the rest that is expected of one that has begun.
//!
//! Work is counted in cycles of a CPU of full speed, and only while the holder runs. A hold seems
//! longer than it was if the notice of its end comes late, as it does for short holds. So what is
//! expected of a lock falls to the newest hold at once, and rises towards a longer one by a
//! sixteenth of the difference.

use super::{Board, Event};
use crate::{FULL_SPEED, ThreadId};
use std::collections::BTreeMap;

/// What is expected rises by this part of the difference to a longer hold.
const RISES: u64 = 16;

/// The work of a thread. All values are in parts of [`FULL_SPEED`] of a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    done: u64,
    since: u64,
    /// The speed of the CPU on which the thread has run since `since`; 0 if it has not run.
    speed: u64,
}

impl Work {
    fn at(self, now: u64) -> u64 {
        self.done + (now - self.since) * self.speed
    }

    fn runs(&mut self, now: u64, speed: u32) {
        *self = Work { done: self.at(now), since: now, speed: u64::from(speed) };
    }
}

/// What is known of a lock.
#[derive(Clone, Copy, Debug, Default)]
struct Lock {
    /// The work that the holder had done when it took the lock.
    from: u64,
    /// The work that is expected of a hold; 0 if no hold was seen yet.
    usual: u64,
}

/// What is known of holds.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    work: BTreeMap<ThreadId, Work>,
    locks: BTreeMap<u64, Lock>,
}

impl Holds {
    /// Follows which thread runs where.
    pub(crate) fn follow(&mut self, now: u64, board: &Board, event: &Event) {
        match event {
            Event::Runs(id, cpu) => self.work.entry(*id).or_default().runs(now, board.speed(*cpu)),
            Event::Yields(id) | Event::Block(id) | Event::Placed(id, _) => {
                self.work.entry(*id).or_default().runs(now, 0);
            }
            Event::Exit(id) => _ = self.work.remove(id),
            Event::Speed(cpu, speed) => {
                if let Some(id) = board.running_on(*cpu) {
                    self.work.entry(id).or_default().runs(now, *speed);
                }
            }
            _ => {}
        }
    }

    fn of(&self, now: u64, id: ThreadId) -> u64 {
        self.work.get(&id).map_or(0, |work| work.at(now))
    }

    /// Notes that the thread has taken the lock.
    pub(crate) fn begins(&mut self, now: u64, id: ThreadId, lock: u64) {
        let from = self.of(now, id);
        self.locks.entry(lock).or_default().from = from;
    }

    /// Notes that the thread, which has the lock, releases it. Notices of a hold that come together
    /// tell nothing of its length.
    pub(crate) fn ends(&mut self, now: u64, id: ThreadId, lock: u64) {
        let done = self.of(now, id);
        let Some(known) = self.locks.get_mut(&lock) else { return };
        match done.saturating_sub(known.from) {
            0 if known.usual == 0 => _ = self.locks.remove(&lock),
            0 => {}
            work if known.usual == 0 || work < known.usual => known.usual = work,
            work => known.usual += (work - known.usual) / RISES,
        }
    }

    /// The work that is expected before the thread releases the lock, which it has, in cycles of a
    /// CPU of full speed. 0 if nothing is known, or if the hold has taken longer than usual.
    pub(crate) fn rest(&self, now: u64, id: ThreadId, lock: u64) -> u64 {
        let Some(lock) = self.locks.get(&lock) else { return 0 };
        let done = self.of(now, id).saturating_sub(lock.from);
        lock.usual.saturating_sub(done) / u64::from(FULL_SPEED)
    }
}
