//! Mutexes and similar locks, and reader-writer locks.

use super::{Leaf, Mode, Walk};
use crate::compile::holds::Hold;
use crate::compile::track::Raw;
use crate::program::Op;
use baton_trace::{Address, Lock, LockKind, Mode as Holding, ProcessIndex, SiteId, What};
use baton_units::CoreId;
use std::collections::BTreeMap;

/// The locks that a thread holds, each with its depth. They are usually few; look-ups begin with
/// the lock taken last.
#[derive(Default)]
pub(super) struct Depths {
    few: Vec<(u32, u32)>,
    /// Locks beyond the first [`FEW`]; a recording may have any number.
    more: BTreeMap<u32, u32>,
}

const FEW: usize = 16;

impl Depths {
    fn find(&self, lock: u32) -> Option<usize> {
        self.few.iter().rposition(|&(of, _)| of == lock)
    }

    /// Records an acquisition. Returns whether the thread did not hold the lock before.
    fn take(&mut self, lock: u32) -> bool {
        let depth = match self.find(lock) {
            Some(at) => &mut self.few[at].1,
            None if self.few.len() < FEW && !self.more.contains_key(&lock) => {
                self.few.push((lock, 1));
                return true;
            }
            None => self.more.entry(lock).or_default(),
        };
        *depth += 1;
        *depth == 1
    }

    /// Records a release. Returns whether the thread still holds the lock; `None` if it did not
    /// hold the lock.
    fn give(&mut self, lock: u32) -> Option<bool> {
        let at = self.find(lock);
        let depth = match at {
            Some(at) => &mut self.few[at].1,
            None => self.more.get_mut(&lock)?,
        };
        *depth -= 1;
        let has = *depth != 0;
        match at {
            _ if has => {}
            Some(at) => drop(self.few.remove(at)),
            None => drop(self.more.remove(&lock)),
        }
        Some(has)
    }

    /// Records that the thread no longer holds the lock, however often it had taken it.
    fn forget(&mut self, lock: u32) {
        self.few.retain(|&(of, _)| of != lock);
        self.more.remove(&lock);
    }
}

impl Walk<'_> {
    pub(super) fn at_lock(&mut self, id: usize, t: u64, what: What, process: ProcessIndex) {
        match what {
            What::Acquire { lock, mode, site } => {
                self.counted(id, t, lock, process, site);
                self.acquire(id, t, lock, mode, process);
            }
            What::Request { lock, site, .. } => {
                self.counted(id, t, lock, process, site);
                self.request(id, t, lock, process);
            }
            What::Acquired { lock, mode, .. } => self.acquired(id, t, lock, mode, process),
            What::Timeout { lock, .. } => self.timeout(id, t, lock, process),
            What::Release { lock, mode, .. } => self.release(id, t, lock, mode, process),
            _ => {}
        }
    }

    fn counted(&mut self, id: usize, t: u64, lock: Lock, process: ProcessIndex, site: SiteId) {
        if lock.kind != LockKind::RwLock && self.states[id].mode == Mode::Running {
            let lock = self.objects.lock((process, lock.address), lock.kind, t);
            let (place, number) = self.place(id, process, site);
            self.states[id].site = place;
            *self.sites.entry((lock, number, id as u32)).or_default() += 1;
            self.threads[id].track.push(Raw::Site(lock, number, t));
        }
    }

    /// Returns the place in the code of a thread's call site, and the number of that place.
    fn place(&mut self, id: usize, process: ProcessIndex, site: SiteId) -> (Address, u32) {
        if let Some((of, place, number)) = self.states[id].here
            && of == site
        {
            return (place, number);
        }
        // A contended acquisition is recorded with its whole stack, any other with its innermost
        // frame only. The innermost frame is the place for both.
        let place = match self.trace.site(process, site) {
            [innermost, ..] => *innermost,
            [] if site == SiteId::UNKNOWN => 0,
            [] => Address::MAX - Address::from(site.0),
        };
        let number = *self.place_numbers.entry(place).or_insert_with(|| {
            self.places.push(place);
            self.places.len() as u32 - 1
        });
        self.states[id].here = Some((site, place, number));
        (place, number)
    }

    /// Returns whether the lock was last held on another core, and the cost of taking it in cycles.
    fn ownership(&self, id: usize, lock: u32) -> (bool, u64) {
        let (prices, atomic) = (self.prices, self.chip.cache.atomic);
        let Some((thread, cpu)) = self.objects.locks[lock as usize].last else {
            return (false, (prices.hit + atomic).0);
        };
        let mine = self.states[id].cpu;
        let foreign = match (cpu, mine) {
            (Some(theirs), Some(mine)) => theirs != mine,
            _ => thread as usize != id,
        };
        if !foreign {
            return (false, (prices.hit + atomic).0);
        }
        let count = self.chip.core.count;
        let transfer = match (cpu, mine) {
            (Some(theirs), Some(mine)) if theirs < count && mine < count => {
                prices.transfer.at(self.chip.distance(CoreId(theirs), CoreId(mine)))
            }
            _ => prices.transfer.same_cluster,
        };
        (true, (transfer + atomic).0)
    }

    fn acquire(&mut self, id: usize, t: u64, lock: Lock, mode: Holding, process: ProcessIndex) {
        self.replayability.events += 1;
        let relock = self.states[id].mode == Mode::Relock;
        if lock.kind == LockKind::RwLock {
            if !relock {
                self.gap(id, t);
            }
            let number = self.objects.rwlock((process, lock.address));
            self.op(id, Op::RwLock(number, mode == Holding::Exclusive));
            return;
        }
        let number = self.objects.lock((process, lock.address), lock.kind, t);
        let (foreign, price) = self.ownership(id, number);
        if relock {
            self.states[id].mode = Mode::Running;
            self.states[id].last = t;
        } else {
            self.states[id].priced += price;
            self.gap(id, t);
        }
        self.hold(id, t, number, foreign);
    }

    fn ticks(&self, cycles: u64) -> u64 {
        (cycles as f64 * self.ticks_a_cycle) as u64
    }

    /// Records that the thread holds the lock from now on.
    fn hold(&mut self, id: usize, t: u64, lock: u32, foreign: bool) {
        if let Some(other) = self.objects.locks[lock as usize].holder.filter(|&other| other as usize != id) {
            // The other thread must have released the lock, but the trace lacks that event.
            self.states[other as usize].depths.forget(lock);
            self.op(other as usize, Op::Unlock(lock));
            self.replayability.unmatched_waits += 1;
        }
        self.objects.locks[lock as usize].holder = Some(id as u32);
        if self.states[id].depths.take(lock) {
            self.objects.locks[lock as usize].acquisitions += 1;
            self.op(id, Op::Lock(lock));
            let site = std::mem::take(&mut self.states[id].site);
            let classes = self.classes.len() as u32;
            let class = *self.classes.entry((site, if site == 0 { lock } else { 0 })).or_insert(classes);
            self.states[id].leaf = Some(Leaf { lock, since: t, foreign, pause: self.states[id].pause, class });
            self.states[id].after_foreign = foreign.then_some(lock);
        }
    }

    fn request(&mut self, id: usize, t: u64, lock: Lock, process: ProcessIndex) {
        self.replayability.events += 1;
        if self.states[id].mode != Mode::Relock {
            // The first try, which failed, moved the lock's line to this core.
            self.states[id].priced += (self.prices.transfer.same_cluster + self.chip.cache.atomic).0;
            self.gap(id, t);
        }
        self.wait(id, t, Mode::LockWait(t));
        if lock.kind != LockKind::RwLock {
            let number = self.objects.lock((process, lock.address), lock.kind, t);
            let asleep = t + self.ticks(self.chip.os.futex.wait_changed.0);
            self.objects.locks[number as usize].waiters.push((id as u32, asleep));
        }
    }

    fn acquired(&mut self, id: usize, t: u64, lock: Lock, mode: Holding, process: ProcessIndex) {
        let waited = matches!(self.states[id].mode, Mode::LockWait(_));
        if !waited {
            self.replayability.unmatched_waits += 1;
            self.states[id].mode = Mode::Running;
        } else {
            self.resume(id, t, Mode::Running);
        }
        if lock.kind == LockKind::RwLock {
            let number = self.objects.rwlock((process, lock.address));
            self.op(id, Op::RwLock(number, mode == Holding::Exclusive));
            return;
        }
        let number = self.objects.lock((process, lock.address), lock.kind, t);
        self.objects.locks[number as usize].waiters.retain(|&(waiter, _)| waiter as usize != id);
        let (foreign, _) = self.ownership(id, number);
        self.hold(id, t, number, foreign);
    }

    fn timeout(&mut self, id: usize, t: u64, lock: Lock, process: ProcessIndex) {
        self.replayability.expired_waits += 1;
        if let Mode::LockWait(since) = self.states[id].mode {
            self.threads[id].track.push(Raw::Away(t - since));
            self.resume(id, t, Mode::Running);
            if lock.kind != LockKind::RwLock {
                let number = self.objects.lock((process, lock.address), lock.kind, t);
                self.objects.locks[number as usize].waiters.retain(|&(waiter, _)| waiter as usize != id);
            }
        } else {
            self.gap(id, t);
        }
    }

    fn release(&mut self, id: usize, t: u64, lock: Lock, mode: Holding, process: ProcessIndex) {
        self.replayability.events += 1;
        let waits = self.states[id].mode == Mode::CondEnter;
        let leaf = self.states[id].leaf;
        let pause = self.states[id].pause;
        if !waits {
            self.gap(id, t);
            if let Some(gap) = self.threads[id].track.last_gap() {
                gap.to_release = true;
            }
            self.states[id].from_release = true;
        }
        if lock.kind == LockKind::RwLock {
            let number = self.objects.rwlock((process, lock.address));
            self.op(id, Op::RwUnlock(number, mode == Holding::Exclusive));
        } else {
            let number = self.objects.lock((process, lock.address), lock.kind, t);
            if let Some(leaf) = leaf.filter(|leaf| leaf.lock == number) {
                let ticks = (t - leaf.since).saturating_sub(pause.saturating_sub(leaf.pause));
                self.holds.push(Hold { lock: number, ticks, foreign: leaf.foreign, class: leaf.class });
                if let (false, Some(gap)) = (waits, self.threads[id].track.last_gap()) {
                    gap.class = Some(leaf.class);
                }
            }
            match self.states[id].depths.give(number) {
                Some(true) => {}
                Some(false) => {
                    self.objects.locks[number as usize].holder = None;
                    self.op(id, Op::Unlock(number));
                }
                None => self.foreign_release(id, number),
            }
            let cpu = self.states[id].cpu;
            let (os, ticks) = (&self.chip.os, |cycles: u64| (cycles as f64 * self.ticks_a_cycle) as u64);
            let book = &mut self.objects.locks[number as usize];
            book.last = Some((id as u32, cpu));
            // The waiter that this release wakes may find the lock taken, and sleep again, but no
            // earlier than this.
            let again = t + ticks(os.idle.wake_polling.0 + os.futex.wait_changed.0);
            let no_waiter = book.waiters.is_empty() || lock.kind == LockKind::Spin;
            let sleeper = book.waiters.iter_mut().find(|(_, asleep)| *asleep <= t && !no_waiter);
            let woke = match sleeper {
                Some((_, asleep)) => {
                    *asleep = again;
                    os.futex.wake.0
                }
                None if no_waiter => 0,
                None => os.futex.wake_none.0,
            };
            self.states[id].priced += (self.prices.hit + self.chip.cache.atomic).0;
            self.states[id].woke = woke;
        }
        match waits {
            true => self.wait(id, t, Mode::CondWait(t)),
            false => self.turn(id, t),
        }
    }

    /// Records that a thread released a lock that it does not hold. If another thread holds the
    /// lock, the release is for that thread.
    fn foreign_release(&mut self, id: usize, lock: u32) {
        let Some(holder) = self.objects.locks[lock as usize].holder.take() else {
            self.replayability.unmatched_waits += 1;
            return;
        };
        self.states[holder as usize].depths.forget(lock);
        self.objects.locks[lock as usize].handed = true;
        self.op(id, Op::Unlock(lock));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_are_told_of_few_locks_and_of_many() {
        let mut depths = Depths::default();
        let all = 0..4 * FEW as u32;
        assert!(all.clone().all(|lock| depths.take(lock)) && all.clone().all(|lock| !depths.take(lock)));
        assert!(all.clone().all(|lock| depths.give(lock) == Some(true)));
        depths.forget(3);
        depths.forget(FEW as u32 + 3);
        let given: Vec<_> = all.filter(|&lock| depths.give(lock) != Some(false)).collect();
        assert_eq!(given, [3, FEW as u32 + 3]);
        assert_eq!(depths.give(0), None);
    }
}
