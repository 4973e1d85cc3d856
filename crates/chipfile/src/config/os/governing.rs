//! The keys `os.governor`, `os.governor_period` and `os.governor_goal`: the governor, which chooses
//! the clocks of the cores.

use crate::config::chip::Chip;
use crate::config::energy::{Price, PriceKey};
use baton_sched::governor::{GOVERNORS, Goal, GovernorInfo, find};
use baton_units::Cycles;

/// The governor of the cores' clocks, and how often it decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Governing {
    /// The governor.
    pub governor: GovernorName,
    /// The time between two decisions; `None`: a time slice.
    pub period: Option<Cycles>,
    /// The goal of a governor that has one.
    pub goal: Goal,
}

/// The name of a governor in the registry, or no governor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GovernorName(&'static str);

const NONE: &str = "none";

const fn names<const N: usize>() -> [&'static str; N] {
    let mut names = [NONE; N];
    let mut at = 1;
    while at < N {
        names[at] = GOVERNORS[at - 1].name;
        at += 1;
    }
    names
}

const ALL: [&str; GOVERNORS.len() + 1] = names();

impl GovernorName {
    /// The names of all governors, and that for none.
    pub const NAMES: &[&str] = &ALL;

    /// The governor of that name, if there is one.
    pub fn named(name: &str) -> Option<GovernorName> {
        GovernorName::NAMES.iter().find(|&&known| known == name).map(|&known| GovernorName(known))
    }

    /// Returns the name of the governor in a chip file.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// The governor; `None` if clocks stay as they are.
    pub fn governor(self) -> Option<&'static GovernorInfo> {
        find(self.0)
    }
}

impl Default for GovernorName {
    fn default() -> Self {
        GovernorName(NONE)
    }
}

/// The prices that a governor with an energy goal needs.
const NEEDED: [Price; 7] =
    [Price::Base, Price::ACTIVE, Price::SPIN, Price::MONITOR, Price::IDLE, Price::Static, Price::Exponent];

impl Chip {
    /// Returns the first price that the governor needs and the chip does not give.
    pub(in crate::config) fn lacks_for_governor(&self) -> Option<&'static PriceKey> {
        self.os.governing.governor.governor().filter(|governor| governor.needs_prices)?;
        NEEDED.iter().map(|&price| self.energy.of(price)).find(|(value, _)| value.is_none()).map(|(_, key)| key)
    }
}
