//! Scheduling policies as pure decisions: which thread runs on which CPU.
//!
//! An operating system (the simulated chip's, or a daemon on a real machine) tells a [`Scheduler`]
//! what happens: a thread was born, woke up, blocked or ended, a tick came, a thread reported that
//! it spins. The policy answers with [`Decision`]s. It reads no time and does no work by itself,
//! and knows nothing of what a decision costs; the same calls give the same answers.
//!
//! | file | holds |
//! | --- | --- |
//! | [`scheduler`] | the contract: what a policy is told, and what it answers |
//! | [`cpus`] | CPUs, the cores that they belong to, and how far they are apart |
//! | [`affinity`] | the CPUs on which a thread may run |
//! | [`nice`] | how much more of a CPU one thread gets than another |
//! | [`fair`] | shares run time evenly, like Linux |
//! | [`eevdf`] | earliest eligible virtual deadline first: Linux since 6.6 |
//! | [`sticky`] | threads stay where they were born and take turns |
//! | [`placement`] | the second contract: which threads belong on which kind of core; policies of chips with fast and slow cores build on it |
//! | [`amp_default`], [`busy_fcs`], [`crit`], [`lavd`], [`linux`], [`min_tlp`], [`pa`], [`pa_speedup`], [`rr`], [`static_ipc`] | those policies |
//! | [`amp`] | the parameters of policies for chips with fast and slow cores |
//! | [`policy`] | a policy's row in the registry |
//! | [`registry`] | the policies by name |
//! | [`governor`] | the third contract: which clock each CPU has; the governors |
//!
//! **To add a policy, write one file** with a type that implements [`Scheduler`] and a constant of
//! type [`Policy`], and add one line to `policies!` below (`docs/extend.md`). Chip files,
//! `--set os.scheduler=…` and the contract suite (`tests/contract.rs`) then know it.

pub mod affinity;
pub mod amp;
pub mod cpus;
pub mod governor;
pub mod nice;
pub mod placement;
pub mod policy;
pub mod registry;
pub mod scheduler;

pub use affinity::Affinity;
pub use cpus::{Cpu, Cpus, FULL_SPEED};
pub use nice::Nice;
pub use policy::Policy;
pub use registry::{add, find, names, policies};
pub use scheduler::{AppId, AppUse, Born, Decision, LockNotice, Notice, Params, Scheduler, ThreadId};

macro_rules! policies {
    ($($room:ident :: $policy:ident $(and $more:ident)?,)*) => {
        $(pub mod $room;)*

        /// The built-in policies; the first is the one of a machine that names none.
        pub const POLICIES: &[Policy] = &[$($room::$policy, $($room::$more,)?)*];
    };
}

policies! {
    fair::POLICY,
    sticky::POLICY,
    eevdf::POLICY and GUEST,
    amp_default::POLICY,
    busy_fcs::POLICY,
    rr::POLICY,
    static_ipc::POLICY,
    min_tlp::POLICY,
    pa::POLICY,
    linux::POLICY,
    crit::POLICY,
    lavd::POLICY,
    pa_speedup::POLICY,
}
