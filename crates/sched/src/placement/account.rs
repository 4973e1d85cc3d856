//! Accounts for each application's use of fast and slow cores.

use super::Class;
use crate::AppId;

/// An application's use of fast and slow cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppUse {
    /// Cycles of its threads on fast cores.
    pub fast: u64,
    /// Cycles of its threads on slow cores.
    pub slow: u64,
    /// Number of times that one of its threads came to a CPU of another core than the one on which
    /// it ran last.
    pub migrations: u64,
    /// Number of times that one of its threads was swapped with another thread.
    pub swaps: u64,
    /// Number of times that it lost the class SP because its time was over.
    pub demotions: u64,
    /// Cycles in which it had runnable threads and the class SP.
    pub sp: u64,
    /// Cycles in which it had runnable threads and the class MP.
    pub mp: u64,
    /// Cycles in which it had runnable threads and the class HP.
    pub hp: u64,
}

/// The account of one application.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    pub(super) had: AppUse,
    class: Class,
    runnable: u32,
    since: u64,
}

impl Account {
    /// Returns the application's use up to `now`.
    pub(super) fn at(&self, now: u64) -> AppUse {
        let mut had = self.had;
        if self.runnable != 0 {
            let time = match self.class {
                Class::Sp => &mut had.sp,
                Class::Mp => &mut had.mp,
                Class::Hp => &mut had.hp,
            };
            *time += now - self.since;
        }
        had
    }

    fn settle(&mut self, now: u64) {
        (self.had, self.since) = (self.at(now), now);
    }

    pub(super) fn set_class(&mut self, class: Class, now: u64) {
        self.settle(now);
        self.class = class;
    }

    pub(super) fn can_run(&mut self, more: bool, now: u64) {
        self.settle(now);
        self.runnable = if more { self.runnable + 1 } else { self.runnable - 1 };
    }
}

/// The accounts of all applications.
#[derive(Debug, Default)]
pub(super) struct Accounts(Vec<Account>);

impl Accounts {
    pub(super) fn of(&mut self, app: AppId) -> &mut Account {
        let at = app.0 as usize;
        if self.0.len() <= at {
            self.0.resize_with(at + 1, Account::default);
        }
        &mut self.0[at]
    }

    pub(super) fn at(&self, app: AppId, now: u64) -> AppUse {
        self.0.get(app.0 as usize).map_or_else(AppUse::default, |account| account.at(now))
    }
}
