//! The parts that a command of your own adds to those of `baton`.

use baton_chip::Simulated;
use baton_chip::device::DeviceKind;
use baton_machine::Native;
use baton_machine::units::open::NotAdded;
use baton_machine::wait::{Steps, WaitInfo};
use baton_noc::arbiter::Registered;
use baton_programs::added::Added;
use baton_sched::Policy;
use baton_sync::lock::{TryLock, ZeroInit, added};
use baton_workloads::Workload;

/// What a command has beside the parts of `baton`: every subcommand then finds these by name as it finds the built-in ones.
///
/// ```no_run
/// # use baton_cli::{Registry, sched::{Policy, fair}};
/// fn main() -> std::process::ExitCode {
///     let mine = Policy { name: "mine", what: "as fair", source: "-", make: fair::POLICY.make };
///     baton_cli::main_with(Registry::new().scheduler(mine))
/// }
/// ```
#[derive(Debug, Default)]
#[must_use = "parts work from `main_with` on"]
pub struct Registry {
    refused: Option<NotAdded>,
}

impl Registry {
    /// A registry without added parts.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds a lock, by its types on the simulated and on the native machine: `.lock::<Mine<Simulated>, Mine<Native>>()`.
    /// It may take up to 512 bytes; simulations charge what its `INFO` says of its instructions.
    pub fn lock<S, N>(self) -> Registry
    where
        S: TryLock<Simulated> + ZeroInit,
        N: TryLock<Native> + ZeroInit,
    {
        self.keep(|| added::add(&[added::on::<Simulated, S>(), added::on::<Native, N>()]))
    }

    /// Adds a wait policy; `steps` gives what it does with a number (0 for a policy without one).
    pub fn wait(self, info: WaitInfo, steps: fn(u32) -> Steps) -> Registry {
        self.keep(|| baton_machine::wait::add(info, steps))
    }

    /// Adds a scheduler of simulated operating systems (`os.scheduler`).
    pub fn scheduler(self, policy: Policy) -> Registry {
        self.keep(|| baton_sched::add(policy))
    }

    /// Adds an arbiter of networks (`noc --arbiter`, `network.arbiter`).
    pub fn arbiter<A: Registered>(self) -> Registry {
        self.keep(baton_noc::arbiter::add::<A>)
    }

    /// Adds a kind of device (`device.kind`).
    pub fn device(self, kind: DeviceKind) -> Registry {
        self.keep(|| baton_chip::device::add(kind))
    }

    /// Adds a workload of `sim`.
    pub fn workload<W: Workload + Send + Sync + 'static>(self) -> Registry {
        self.keep(|| Added::new::<W>().on::<W, Simulated>().add())
    }

    /// The first part that could not be added.
    pub(crate) fn refused(self) -> Option<NotAdded> {
        self.refused
    }

    fn keep(mut self, add: impl FnOnce() -> Result<(), NotAdded>) -> Registry {
        if self.refused.is_none() {
            self.refused = add().err();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_noc::arbiter::RoundRobin;
    use baton_sync::lock::mcs::Mcs;
    use baton_workloads::hot::Hot;

    /// A part whose name is taken is refused with its name. The test adds nothing, because all
    /// tests of this program share the lists.
    #[test]
    fn a_part_whose_name_is_taken_is_named() {
        let (_, pause) = baton_machine::wait::POLICIES[0];
        let refused = [
            Registry::new().lock::<Mcs<Simulated>, Mcs<Native>>(),
            Registry::new().wait(pause, |_| Steps::tries(baton_machine::wait::Between::Pause)),
            Registry::new().scheduler(baton_sched::POLICIES[0]),
            Registry::new().arbiter::<RoundRobin>(),
            Registry::new().device(baton_chip::device::KINDS[0]),
            Registry::new().workload::<Hot>(),
        ];
        let said = refused.map(|registry| registry.refused().unwrap().to_string());
        let expected = [
            "another lock is named `mcs`",
            "another wait policy is named `spin`",
            "another scheduler is named `fair`",
            "another arbiter is named `round-robin`",
            "another device is named `mailbox`",
            "another workload is named `hot-line`",
        ];
        assert_eq!(said, expected);
    }
}
