//! What each application had of fast and slow cores.

use super::Class;
use crate::AppId;

/// What an application had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppUse {
    /// Cycles of its threads on fast cores.
    pub fast: u64,
    /// Cycles of its threads on slow cores.
    pub slow: u64,
    /// How often one of them came to a CPU of another core than the one that it ran on last.
    pub migrations: u64,
    /// How often one of them was swapped with another thread.
    pub swaps: u64,
    /// How often it lost the class SP because its time was over.
    pub demotions: u64,
    /// Cycles in which it had runnable threads and the class SP.
    pub sp: u64,
    /// The same for MP.
    pub mp: u64,
    /// The same for HP.
    pub hp: u64,
}

/// An application's account.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    pub(super) had: AppUse,
    class: Class,
    runnable: u32,
    since: u64,
}

impl Account {
    /// Its figures up to now.
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

/// All accounts.
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
