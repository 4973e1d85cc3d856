//! What a workload of the registry is. A workload is one file that implements [`Workload`], and one
//! line in [`every_workload!`](crate::every_workload) or in the list of `baton-programs`, which has
//! every workload by name.

use crate::{Knobs, Probe, Refused, Team};
use baton_machine::{Counted, CountedBulk, Machine, Wait};

/// The name and description of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// One line that says what the threads of the workload do.
    pub what: &'static str,
    /// The number in the simulator's JSON that the workload is about: a plot shows it where no
    /// other number is named.
    pub figure: &'static str,
    /// Whether the workload tells its [`Probe`] of locks.
    pub has_locks: bool,
}

/// The instructions that a simulated chip charges for the algorithm under test, beside its
/// accesses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Charge {
    /// No instructions, as for a workload that measures memory.
    Nothing,
    /// The instructions that are typical of locks and queues.
    Typical,
    /// The instructions of an algorithm that was counted.
    Counted(Counted),
    /// The instructions of a queue through which items go in bulk.
    Bulk(CountedBulk),
}

impl Charge {
    /// The charge of a queue through which items go `items` at a time: the bulk's count where there
    /// is one, otherwise the count of one item.
    pub fn of_items(one: Counted, bulk: Option<CountedBulk>, items: usize) -> Charge {
        match bulk {
            Some(bulk) if items > 1 => Charge::Bulk(bulk),
            _ => Charge::Counted(one),
        }
    }
}

/// A workload that is chosen by its name and set by [`Knobs`].
pub trait Workload: Clone {
    /// The name and description of the workload, for its line in the registry.
    const INFO: WorkloadInfo;

    /// The workload with these settings.
    ///
    /// # Errors
    /// Fails if a setting has a value that the workload cannot have.
    fn choose(knobs: &Knobs<'_>) -> Result<Self, Refused>;

    /// Number of threads of the workload.
    fn threads(&self) -> u32;

    /// How the threads wait. `asked` is what the user asked for.
    fn wait(&self, asked: Option<Wait>) -> Wait {
        asked.unwrap_or_default()
    }

    /// The threads, on machine `M`.
    ///
    /// # Errors
    /// Fails if a setting has a value that the workload cannot have on this machine.
    fn team<M: Machine, P: Probe + Sync>(&self, wait: Wait, probe: P) -> Result<Team, Refused>;

    /// The name of the lock, barrier or queue under test, in its registry.
    fn algorithm(&self) -> Option<&'static str> {
        None
    }

    /// The instructions that a simulated chip charges for the algorithm under test.
    fn charge(&self) -> Charge {
        Charge::Nothing
    }

    /// An estimate of the bytes of guest memory that the data takes, at least half of them: the
    /// simulator's command makes room for twice as many.
    fn bytes(&self) -> usize {
        0
    }
}
