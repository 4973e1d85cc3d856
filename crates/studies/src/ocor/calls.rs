//! The account by calls, as `baton sim` and the table of locks have it: a thread waits from its
//! request to the moment at which `lock` returns, and holds the lock from there to its call of
//! `unlock`. [`super::account`] goes by the lock's word instead. The two accounts differ by the
//! times that the lock's own messages travel: by the word, a section lasts until its release is
//! visible; by calls, until the release is sent.

use super::account::{Account, within};

/// What threads see at one lock.
#[derive(Clone, Debug, Default)]
pub(super) struct AtLock {
    /// From each request to the moment at which its thread has the lock.
    waits: Vec<(u64, u64)>,
    /// From each acquisition to its release.
    held: Vec<(u64, u64)>,
}

/// What threads see at every lock, by its number.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls(Vec<AtLock>);

impl Calls {
    fn at(&mut self, lock: u32) -> &mut AtLock {
        let at = lock as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, AtLock::default());
        }
        &mut self.0[at]
    }

    /// Notes that a thread that asked at `requested` has the lock at `now`.
    pub(super) fn acquired(&mut self, lock: u32, requested: u64, now: u64) {
        let here = self.at(lock);
        here.waits.push((requested, now));
        here.held.push((now, now));
    }

    /// Notes that the holder of a lock gives it back.
    pub(super) fn release(&mut self, lock: u32, now: u64) {
        // The holder is the thread that took the lock last.
        if let Some(last) = self.at(lock).held.last_mut() {
            last.1 = now;
        }
    }

    /// The account has acquisitions, sections, blocked time and overhead; threads know neither
    /// causes nor sleepers.
    pub(super) fn account(&self) -> Account {
        let mut account = Account::default();
        for lock in &self.0 {
            // Sections exclude each other, so the order in which they were noted is that of time.
            account.sections += lock.held.iter().map(|(from, to)| to - from).sum::<u64>();
            for &(from, to) in &lock.waits {
                let in_sections = within(&lock.held, from, to);
                account.acquisitions += 1;
                account.blocked += to - from;
                account.in_sections += in_sections;
                account.overhead += to - from - in_sections;
                account.longest_wait = account.longest_wait.max(to - from);
            }
        }
        account
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_is_waiting_while_the_lock_is_free() {
        // The first thread holds the lock from 10 to 20. The second asks at 5 and holds it from 30
        // to 50; the third asks at 25 and holds it from 60 to 70.
        let mut calls = Calls::default();
        for (asked, got, left) in [(0, 10, 20), (5, 30, 50), (25, 60, 70)] {
            calls.acquired(3, asked, got);
            calls.release(3, left);
        }
        let account = calls.account();
        assert_eq!((account.acquisitions, account.sections, account.blocked), (3, 40, 70));
        assert_eq!((account.in_sections, account.overhead, account.longest_wait), (30, 40, 35));
    }
}
