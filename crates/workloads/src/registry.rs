//! What a workload of the registry is. A workload is one file that implements [`Workload`], and one line in
//! [`every_workload!`](crate::every_workload), or in the list of `baton-programs`, which has every workload by name.

use crate::{Knobs, Probe, Refused, Team};
use baton_machine::{Counted, CountedBulk, Machine, Wait};

/// What is said of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// One line: what its threads do.
    pub what: &'static str,
    /// The number in the simulator's JSON that it is about: what a plot shows where no other is named.
    pub figure: &'static str,
    /// Whether it tells its [`Probe`] of locks.
    pub has_locks: bool,
}

/// The instructions that a simulated chip charges for the algorithm under test, beside its accesses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Charge {
    /// None: the workload probes memory.
    Nothing,
    /// What is typical of locks and queues.
    Typical,
    /// Those of an algorithm that was counted.
    Counted(Counted),
    /// Those of a queue through which items go in bulk.
    Bulk(CountedBulk),
}

impl Charge {
    /// That of a queue through which items go one by one, or so many at a time where its bulks were counted.
    pub fn of_items(one: Counted, bulk: Option<CountedBulk>, items: usize) -> Charge {
        match bulk {
            Some(bulk) if items > 1 => Charge::Bulk(bulk),
            _ => Charge::Counted(one),
        }
    }
}

/// A workload that is chosen by its name and set by [`Knobs`].
pub trait Workload: Clone {
    /// What is said of it; its line in the registry.
    const INFO: WorkloadInfo;

    /// The workload with these settings.
    ///
    /// # Errors
    /// What cannot be.
    fn choose(knobs: &Knobs<'_>) -> Result<Self, Refused>;

    /// How many threads it has.
    fn threads(&self) -> u32;

    /// How its threads wait, where `asked` was asked for.
    fn wait(&self, asked: Option<Wait>) -> Wait {
        asked.unwrap_or_default()
    }

    /// The threads, on machine `M`.
    ///
    /// # Errors
    /// What cannot be.
    fn team<M: Machine, P: Probe + Sync>(&self, wait: Wait, probe: P) -> Result<Team, Refused>;

    /// The lock, barrier or queue under test, by its name in the registry of such.
    fn algorithm(&self) -> Option<&'static str> {
        None
    }

    /// The algorithm's own instructions.
    fn charge(&self) -> Charge {
        Charge::Nothing
    }

    /// Bytes of guest memory that the data takes, generously.
    fn bytes(&self) -> usize {
        0
    }
}
