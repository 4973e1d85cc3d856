//! What is said of a lock to people, and which wait policies it takes.

use baton_machine::wait::SPIN_TRIES;
use baton_machine::{Counted, Wait};

/// Which wait policies a lock takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Any that the machine has.
    Any,
    /// Only those that keep the CPU: the lock could not wake a sleeper.
    Spinning,
    /// Its own, the one named; another is an error.
    Fixed(Wait),
}

/// Whether a lock can stand in for a `pthread_mutex_t`: it needs a try (a timed lock may poll it), an unlock by the
/// owner from any context with nothing but the mutex and its token, and zeroed memory as a free lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posix {
    /// It can.
    Yes,
    /// It cannot, and why.
    No(&'static str),
}

/// What is said of a lock.
#[derive(Clone, Copy, Debug)]
pub struct LockInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// One line: how it works.
    pub what: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it cannot do; empty if nothing.
    pub limits: &'static str,
    /// Serves waiters in order of arrival ([`super::Fifo`]).
    pub fifo: bool,
    /// Has [`super::TryLock`].
    pub try_lock: bool,
    /// Has [`super::TimedLock`].
    pub timed: bool,
    /// Tells the machine of its tries and releases by itself ([`baton_machine::Machine::hint`]).
    pub hints: bool,
    /// Can stand in for a `pthread_mutex_t`.
    pub posix: Posix,
    /// For general use, as a mutex is: with more threads than CPUs it is not much slower than glibc's, as no release waits
    /// for a thread that sleeps or has lost its CPU. The others are for threads with a CPU each.
    pub general: bool,
    /// Wait policies that it takes.
    pub waits: Waits,
    /// An uncontended pair of lock and unlock, with the lock's own wait policy. `scripts/check/sync-instructions NAME` counts it.
    pub counted: Counted,
    /// Its number in `enum baton_lock_kind` of `baton.h`, which programs have compiled in: a new lock takes the next one.
    pub c_number: u32,
}

impl LockInfo {
    /// The policy to use where the lock stands in for a mutex that sleeps: as [`wait`](LockInfo::wait), but waiters of a lock
    /// that takes any policy sleep after some tries. Pure spinning has to be asked for: with more threads than CPUs it
    /// collapses.
    pub fn wait_of_a_mutex(&self, asked: Option<Wait>) -> Result<Wait, String> {
        let sleeping = (self.waits == Waits::Any).then_some(Wait::SpinPark(SPIN_TRIES));
        self.wait(asked.or(sleeping))
    }

    /// The policy to use when `asked` was asked for (nothing: the lock's own, or pause), or why it cannot be.
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
                Err(format!("lock `{}` cannot park: nobody would wake a waiter under `{other}`", self.name))
            }
            (_, asked) => Ok(asked.unwrap_or_default()),
        }
    }
}
