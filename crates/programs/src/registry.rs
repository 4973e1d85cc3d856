//! Every workload by name: the micro-workloads of `baton-workloads`, and the programs of this
//! crate. A program is one file or folder that implements [`Workload`], and one line here. The
//! simulator's command knows the workloads that stand here.

pub mod added;

use added::{AnyProbe, Own, workloads};
use baton_machine::{Machine, Wait};
use baton_workloads::{Charge, Knobs, Probe, Refused, Team, Workload, WorkloadInfo};
use std::any::TypeId;

/// The registry of the micro-workloads, which `baton-workloads` passes, and the programs of this
/// crate.
macro_rules! every_workload {
    (
        files { $($room:ident :: $workload:ident,)* }
        of_folders { $($folder:ident :: $of_folder:ident,)* }
    ) => {
        every_workload! { @all
            $(baton_workloads :: $room :: $workload,)*
            $(baton_workloads :: $folder :: $of_folder,)*
            crate::distributor::Distributor,
            crate::packets::Clusters,
            crate::packets::Firewall,
            crate::regression::Regression,
            crate::tasks::Tasks,
            crate::real::ImageFilter,
            crate::real::Dedup,
            crate::real::KdTree,
            crate::real::Sort,
            crate::real::Align,
            crate::kernels::Ep,
            crate::kernels::Ft,
            crate::kernels::Mg,
            crate::kernels::Search,
            crate::kernels::Fft,
            crate::synthetic::StandIn,
            crate::phases::PhaseProgram,
        }
    };
    (@all $($home:ident :: $room:ident :: $workload:ident,)*) => {
        /// Every built-in workload, in the order of the listings; [`workloads`](crate::workloads)
        /// has the added workloads too.
        pub const WORKLOADS: &[WorkloadInfo] = &[$(<$home::$room::$workload as Workload>::INFO),*];

        /// A workload with its settings, ready to run.
        #[derive(Clone)]
        pub enum Chosen {
            $(
                #[doc = concat!("The workload of [`", stringify!($room), "`](", stringify!($home), "::", stringify!($room), ").")]
                $workload($home::$room::$workload),
            )*
            /// A workload that a command added.
            Added(Box<dyn Own>),
        }

        impl Chosen {
            /// The workload of that name with these settings.
            ///
            /// # Errors
            /// Fails if no workload has that name, or if a setting has a value that the workload
            /// cannot have.
            pub fn named(name: &str, knobs: &Knobs<'_>) -> Result<Chosen, Refused> {
                $(if name == <$home::$room::$workload as Workload>::INFO.name {
                    return Workload::choose(knobs).map(Chosen::$workload);
                })*
                let unknown = || Refused::unknown("workload", name, workloads().iter().map(|info| info.name));
                added::named(name, knobs).ok_or_else(unknown)?.map(Chosen::Added)
            }

            /// Number of threads of the workload ([`Workload::threads`]).
            pub fn threads(&self) -> u32 {
                match self {
                    $(Chosen::$workload(workload) => workload.threads(),)*
                    Chosen::Added(workload) => workload.threads(),
                }
            }

            /// How the threads wait if the user asked for `asked` ([`Workload::wait`]).
            pub fn wait(&self, asked: Option<Wait>) -> Wait {
                match self {
                    $(Chosen::$workload(workload) => workload.wait(asked),)*
                    Chosen::Added(workload) => workload.wait(asked),
                }
            }

            /// The team of the workload, by [`Workload::team`].
            ///
            /// # Errors
            /// Those of [`Workload::team`].
            pub fn team<M: Machine, P: Probe + Sync>(&self, wait: Wait, probe: P) -> Result<Team, Refused> {
                match self {
                    $(Chosen::$workload(workload) => workload.team::<M, P>(wait, probe),)*
                    Chosen::Added(workload) => workload.team((TypeId::of::<M>(), M::NAME), wait, AnyProbe::new(probe)),
                }
            }

            /// The name of the lock, barrier or queue under test ([`Workload::algorithm`]).
            pub fn algorithm(&self) -> Option<&'static str> {
                match self {
                    $(Chosen::$workload(workload) => workload.algorithm(),)*
                    Chosen::Added(workload) => workload.algorithm(),
                }
            }

            /// The instructions that a simulated chip charges ([`Workload::charge`]).
            pub fn charge(&self) -> Charge {
                match self {
                    $(Chosen::$workload(workload) => workload.charge(),)*
                    Chosen::Added(workload) => workload.charge(),
                }
            }

            /// An estimate of the bytes of guest memory that the data takes ([`Workload::bytes`]).
            pub fn bytes(&self) -> usize {
                match self {
                    $(Chosen::$workload(workload) => workload.bytes(),)*
                    Chosen::Added(workload) => workload.bytes(),
                }
            }
        }
    };
}

baton_workloads::every_workload!(every_workload);

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
