//! The description of a lock, and the wait policies that it takes.

use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Counted, Wait};

/// The wait policies that a lock takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Any policy that the machine has.
    Any,
    /// Only policies that keep the CPU: the lock could not wake a sleeper.
    Spinning,
    /// Only policies of the given one's kind, which is the lock's own: `spin-park` with any number
    /// of tries, for example. A request for a policy of another kind is an error.
    Fixed(Wait),
}

/// Whether a lock can replace a `pthread_mutex_t`. It must have a try (a timed lock may poll it),
/// an unlock by the owner from any context with only the mutex and its token, and be free when its
/// memory is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posix {
    /// The lock can replace a `pthread_mutex_t`.
    Yes,
    /// The lock cannot replace a `pthread_mutex_t`, for this reason.
    No(&'static str),
}

/// The description of a lock.
#[derive(Clone, Copy, Debug)]
pub struct LockInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// How the lock works, in one line.
    pub what: &'static str,
    /// The paper or program that the lock comes from.
    pub source: &'static str,
    /// Limitations; empty if there are none.
    pub limits: &'static str,
    /// Whether waiters are served in order of arrival ([`super::Fifo`]).
    pub fifo: bool,
    /// Whether the lock implements [`super::TryLock`].
    pub try_lock: bool,
    /// Whether the lock implements [`super::TimedLock`].
    pub timed: bool,
    /// Whether the lock reports its tries and releases to the machine by its own code
    /// ([`baton_machine::Machine::hint`]).
    pub hints: bool,
    /// Whether the lock can replace a `pthread_mutex_t`.
    pub posix: Posix,
    /// Whether the lock suits general use like a mutex: with more threads than CPUs it is not much
    /// slower than glibc's mutex, because no release waits for a thread that sleeps or has lost its
    /// CPU. Other locks are for threads that have a CPU each.
    pub general: bool,
    /// Wait policies that the lock takes.
    pub waits: Waits,
    /// Cost of an uncontended pair of lock and unlock with the lock's own wait policy.
    /// `scripts/check/sync-instructions NAME` counts it.
    pub counted: Counted,
    /// Number in `enum baton_lock_kind` of `baton.h`, which is compiled into programs: a new lock
    /// takes the next one.
    pub c_number: u32,
}

impl LockInfo {
    /// Returns the policy to use where the lock replaces a mutex that sleeps. Differs from
    /// [`wait`](LockInfo::wait) only for a lock that takes any policy, if none was asked for: its
    /// waiters then sleep after some tries, because pure spinning collapses with more threads than
    /// CPUs.
    pub fn wait_of_a_mutex(&self, asked: Option<Wait>) -> Result<Wait, String> {
        let sleeping = (self.waits == Waits::Any).then_some(Wait::SpinPark(SPIN_TRIES));
        self.wait(asked.or(sleeping))
    }

    /// Returns the policy to use if `asked` was asked for; for `None` the lock's own, or pause. The
    /// error says why the lock cannot take `asked`.
    pub fn wait(&self, asked: Option<Wait>) -> Result<Wait, String> {
        match (self.waits, asked) {
            (Waits::Fixed(own), None) => Ok(own),
            (Waits::Fixed(own), Some(other)) if core::mem::discriminant(&own) == core::mem::discriminant(&other) => {
                Ok(other)
            }
            (Waits::Fixed(own), Some(other)) => {
                Err(format!("lock `{}` waits by its own policy, {own}, not `{other}`", self.name))
            }
            (Waits::Spinning, Some(other)) if other.parks() => {
                Err(format!("lock `{}` cannot park: no thread would wake a waiter under `{other}`", self.name))
            }
            (_, asked) => Ok(asked.unwrap_or_default()),
        }
    }
}
