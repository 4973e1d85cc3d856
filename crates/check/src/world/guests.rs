//! The contract of a world: what it needs to run guests on its machine, and what guests share.

use super::scenario::Scenario;
use baton_machine::units::Nanos;
use baton_machine::{Machine, Owned, Wait};
use baton_omp::settings::TaskQueue;
use std::sync::Arc;

/// What guests share; it is in the machine's own memory, where a simulated machine sees the
/// accesses.
pub type Shared<M, T> = Arc<Owned<M, T>>;

/// Puts a value that guests share into the machine's memory.
pub fn share<M: Machine, T>(value: T) -> Shared<M, T> {
    Arc::new(Owned::new(value))
}

/// The number of guests, and how often each does its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Number of guest threads that run at the same time.
    pub guests: usize,
    /// Number of critical sections, messages or episodes of each guest.
    pub rounds: usize,
}

/// A world: runs guest threads on a machine.
pub trait World: 'static {
    /// The machine on which the guests run.
    type M: Machine;

    /// Crowds for contracts in which any number of guests can take part, smallest first. All have
    /// at least two guests.
    const CROWDS: &'static [Crowd];

    /// Numbers of threads of the OpenMP runtime's teams.
    const TEAMS: &'static [usize];

    /// Like [`TEAMS`](World::TEAMS), for teams of a whole runtime. A world that explores all
    /// executions may have fewer threads in these teams.
    const REGIONS: &'static [usize] = Self::TEAMS;

    /// Kinds of queues in which the tasks of the teams wait.
    const TASKS: &'static [TaskQueue] = &[TaskQueue::Team, TaskQueue::Steal];

    /// Number of guests that queue behind a holder where the order of service is tested.
    const COMERS: usize;

    /// The wait policies to test, among those that the machine has.
    const WAITS: &'static [Wait];

    /// A time span after which a waiting guest has surely reached its deadline, if time is real; in
    /// other worlds, whether it has passed is a choice.
    const SOON: Nanos;

    const QUEUE_DEVICE: bool;

    /// Runs the scenarios that `plan` lays out, as often as this world explores. `plan` and
    /// [`Scenario::finally`] are called where cells can be made and read, but not where a guest
    /// could lock or wait.
    ///
    /// Panics if a guest panics, if guests are stuck, or if the machine finds a race.
    fn run(plan: impl Fn() -> Scenario + Send + Sync + 'static);

    /// Like [`World::run`], for a plan of many steps. A world that explores all executions may
    /// limit itself more.
    fn skim(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        Self::run(plan);
    }

    /// Like [`World::skim`], for a plan of very many steps.
    fn glance(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        Self::run(plan);
    }

    /// Like [`World::run`], for a plan of few steps. A world that explores all executions may limit
    /// itself less.
    fn dig(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        Self::run(plan);
    }

    /// Like [`World::run`], for one of very many plans that each have many steps. A world that
    /// tries random schedules may try fewer.
    fn sample(plan: impl Fn() -> Scenario + Send + Sync + 'static) {
        Self::run(plan);
    }

    fn few() -> Crowd {
        Self::CROWDS[0]
    }
}
