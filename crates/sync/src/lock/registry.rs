//! Every lock by name. A new lock is one file and one line in `locks!`.

use super::{RawLock, mcs, tas, ticket};
use baton_machine::{Machine, Native, Wait};
use std::fmt;

/// Which wait policies a lock takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Any that the machine has.
    Any,
    /// Only those that keep the CPU: nobody could wake a sleeper.
    Spinning,
    /// Its own, the one named; another is an error.
    Fixed(Wait),
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
    /// Wait policies that it takes.
    pub waits: Waits,
}

impl LockInfo {
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

/// A name that is no lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLock(pub String);

impl fmt::Display for UnknownLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown lock `{}`; expected one of ", self.0)?;
        for (i, lock) in LOCKS.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { ", " }, lock.name)?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownLock {}

/// What to do with a lock that is known by name only: its type arrives as `L`.
pub trait LockVisitor<M: Machine> {
    /// What comes out.
    type Out;
    /// Called with the lock's type.
    fn visit<L: RawLock<M>>(self) -> Self::Out;
}

macro_rules! locks {
    ($($room:ident :: $lock:ident),* $(,)?) => {
        /// Every lock, in the order in which people read about them.
        pub const LOCKS: &[LockInfo] = &[$(<$room::$lock<Native> as RawLock<Native>>::INFO),*];

        /// Calls `visitor` with the type of the lock named `name` on machine `M`.
        pub fn visit<M: Machine, V: LockVisitor<M>>(name: &str, visitor: V) -> Result<V::Out, UnknownLock> {
            $(if name == <$room::$lock<M> as RawLock<M>>::INFO.name {
                return Ok(visitor.visit::<$room::$lock<M>>());
            })*
            Err(UnknownLock(name.to_owned()))
        }
    };
}

locks! {
    tas::Tas,
    ticket::Ticket,
    mcs::Mcs,
}

/// What is said of the lock named `name`.
pub fn info(name: &str) -> Result<&'static LockInfo, UnknownLock> {
    LOCKS.iter().find(|lock| lock.name == name).ok_or_else(|| UnknownLock(name.to_owned()))
}
