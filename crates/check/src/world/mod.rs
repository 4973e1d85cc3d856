//! A world runs guest threads on one machine. A new machine needs a world of some twenty lines, and the whole
//! contract suite runs on it.

mod loom;
mod native;
mod scenario;
mod shuttle;

pub use self::loom::{Loom, Pairs};
pub use self::native::Native;
pub use self::shuttle::{EverySchedule, Shuttle};
pub use scenario::{Guest, Scenario};

use baton_machine::units::Nanos;
use baton_machine::{Machine, Owned, Wait};
use baton_omp::settings::TaskQueue;
use std::sync::Arc;

/// What guests share: in the machine's own memory, where a simulated machine can see it.
pub type Shared<M, T> = Arc<Owned<M, T>>;

/// Puts what guests share into the machine's memory.
pub fn share<M: Machine, T>(value: T) -> Shared<M, T> {
    Arc::new(Owned::new(value))
}

/// How many guests, and how often each does its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Guest threads at a time.
    pub guests: usize,
    /// Critical sections, messages or episodes of each.
    pub rounds: usize,
}

/// Runs guest threads.
pub trait World: 'static {
    /// The machine that the guests run on.
    type M: Machine;

    /// The crowds for contracts that any number of guests can take part in, smallest first. All have two guests or
    /// more.
    const CROWDS: &'static [Crowd];

    /// How many threads the OpenMP runtime's teams have.
    const TEAMS: &'static [usize];

    /// As [`TEAMS`](World::TEAMS), where a whole runtime begins them: a world that explores all executions may have fewer threads.
    const REGIONS: &'static [usize] = Self::TEAMS;

    /// Where tasks of theirs wait.
    const TASKS: &'static [TaskQueue] = &[TaskQueue::Team, TaskQueue::Steal];

    /// Guests that queue behind a holder, where the order of service is tested.
    const COMERS: usize;

    /// The wait policies to try, among those that the machine has.
    const WAITS: &'static [Wait];

    /// A time in which a deadline is surely reached by waiting, where time is real; what passes otherwise is a choice.
    const SOON: Nanos;

    /// Whether the machine has a queue device.
    const QUEUE_DEVICE: bool;

    /// Runs what `plan` lays out, as often as this world explores. `plan` and [`Scenario::finally`] are called where
    /// cells can be made and read, but not where a guest could lock or wait.
    ///
    /// Panics if a guest does, if guests are stuck, or if the machine finds a race.
    fn run(plan: impl Fn() -> Scenario + Send + Sync + 'static);

    /// As [`World::run`], for a plan of many steps: a world that explores all executions may bound itself more tightly.
    fn skim(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        Self::run(plan);
    }

    /// As [`World::skim`], for a plan of very many steps.
    fn glance(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        Self::run(plan);
    }

    /// As [`World::run`], for a plan of few steps: a world that explores all executions may bound itself less tightly.
    fn dig(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        Self::run(plan);
    }

    /// As [`World::run`], for one of very many plans, each of many steps: a world that tries schedules may try fewer.
    fn sample(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        Self::run(plan);
    }

    /// The smallest crowd.
    fn few() -> Crowd {
        Self::CROWDS[0]
    }
}
