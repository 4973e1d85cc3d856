//! Every workload by name. A workload is one file that implements [`Workload`], and one line in `workloads!`: the simulator's command
//! knows of workloads what stands here.

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
    pub(crate) fn of_items(one: Counted, bulk: Option<CountedBulk>, items: usize) -> Charge {
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

macro_rules! workloads {
    (
        files { $($room:ident :: $workload:ident,)* }
        of_folders { $($folder:ident :: $of_folder:ident,)* }
    ) => {
        workloads! { @all $($room :: $workload,)* $($folder :: $of_folder,)* }
    };
    (@all $($room:ident :: $workload:ident,)*) => {
        /// Every workload, in the order in which people read about them.
        pub const WORKLOADS: &[WorkloadInfo] = &[$(<crate::$room::$workload as Workload>::INFO),*];

        /// A workload that can run.
        #[derive(Clone)]
        pub enum Chosen {$(
            #[doc = concat!("That of [`", stringify!($room), "`](crate::", stringify!($room), ").")]
            $workload(crate::$room::$workload),
        )*}

        impl Chosen {
            /// The workload of that name with these settings.
            ///
            /// # Errors
            /// What cannot be; an unknown name among it.
            pub fn named(name: &str, knobs: &Knobs<'_>) -> Result<Chosen, Refused> {
                $(if name == <crate::$room::$workload as Workload>::INFO.name {
                    return Workload::choose(knobs).map(Chosen::$workload);
                })*
                Err(Refused::unknown("workload", name, WORKLOADS.iter().map(|info| info.name)))
            }

            /// [`Workload::threads`].
            pub fn threads(&self) -> u32 {
                match self { $(Chosen::$workload(workload) => workload.threads(),)* }
            }

            /// [`Workload::wait`].
            pub fn wait(&self, asked: Option<Wait>) -> Wait {
                match self { $(Chosen::$workload(workload) => workload.wait(asked),)* }
            }

            /// [`Workload::team`].
            ///
            /// # Errors
            /// The same.
            pub fn team<M: Machine, P: Probe + Sync>(&self, wait: Wait, probe: P) -> Result<Team, Refused> {
                match self { $(Chosen::$workload(workload) => workload.team::<M, P>(wait, probe),)* }
            }

            /// [`Workload::algorithm`].
            pub fn algorithm(&self) -> Option<&'static str> {
                match self { $(Chosen::$workload(workload) => workload.algorithm(),)* }
            }

            /// [`Workload::charge`].
            pub fn charge(&self) -> Charge {
                match self { $(Chosen::$workload(workload) => workload.charge(),)* }
            }

            /// [`Workload::bytes`].
            pub fn bytes(&self) -> usize {
                match self { $(Chosen::$workload(workload) => workload.bytes(),)* }
            }
        }
    };
}

crate::every_workload!(workloads);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_each_says_what_it_does() {
        for info in WORKLOADS {
            assert_eq!(WORKLOADS.iter().filter(|other| other.name == info.name).count(), 1, "{}", info.name);
            assert!(!info.what.is_empty() && !info.what.ends_with('.') && !info.figure.is_empty(), "{}", info.name);
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_there_are() {
        let refused = Chosen::named("lok", &Knobs::default()).err().map(|refused| refused.to_string());
        let expected = "unknown workload `lok`; expected one of lock, barrier, ";
        assert!(refused.as_ref().is_some_and(|refused| refused.starts_with(expected)), "{refused:?}");
    }
}
