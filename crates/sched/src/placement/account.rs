//! Accounts for each application's use of fast and slow cores.

use super::contract::Class;
use crate::{AppId, AppUse};

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
