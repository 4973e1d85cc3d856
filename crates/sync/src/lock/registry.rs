//! Every lock by name. A new lock is one file and one line in `locks!`.
//!
//! A tool that knows a lock only by name brings a visitor, which is called with the lock's type. A visitor that needs
//! an ability is called only with locks that have it; of the others the error says what they cannot do.

use super::{
    LockInfo, Posix, RawLock, TimedLock, TryLock, ZeroInit, adaptive, clh, cohort, futex, hemlock, k42, mcs, spin_park,
    spin_park_once, spin_park_wakes, tas, ticket, ticket_prop, ttas,
};
use baton_machine::{Machine, Native};
use std::fmt;

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

/// Why a lock cannot be had with the ability that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// There is no such lock.
    #[error(transparent)]
    Unknown(#[from] UnknownLock),
    /// There is, but it lacks the ability.
    #[error("lock `{lock}` cannot {what}")]
    Cannot {
        /// The lock's name.
        lock: &'static str,
        /// What it cannot do, and where it needs one the reason.
        what: String,
    },
}

/// What to do with a lock that is known by name only: its type arrives as `L`.
pub trait LockVisitor<M: Machine> {
    /// What comes out.
    type Out;
    /// Called with the lock's type.
    fn visit<L: RawLock<M> + ZeroInit>(self) -> Self::Out;
}

/// As [`LockVisitor`], for what needs [`TryLock`].
pub trait TryVisitor<M: Machine> {
    /// What comes out.
    type Out;
    /// Called with the lock's type.
    fn visit<L: TryLock<M> + ZeroInit>(self) -> Self::Out;
}

/// As [`LockVisitor`], for what needs [`TimedLock`].
pub trait TimedVisitor<M: Machine> {
    /// What comes out.
    type Out;
    /// Called with the lock's type.
    fn visit<L: TimedLock<M> + ZeroInit>(self) -> Self::Out;
}

/// As [`LockVisitor`], for replacing a `pthread_mutex_t`: called with a lock that POSIX's rules allow.
pub trait PosixVisitor<M: Machine> {
    /// What comes out.
    type Out;
    /// Called if the lock's waiters can give up.
    fn timed<L: TimedLock<M> + ZeroInit>(self) -> Self::Out;
    /// Called if not: a timed lock has to poll `try_lock`.
    fn polled<L: TryLock<M> + ZeroInit>(self) -> Self::Out;
}

/// Calls the visitor's method if the lock's level of ability (`plain`, `try`, `timed`) has the one that is needed.
macro_rules! at_level {
    (try, $visitor:ident, $lock:ty, plain) => {
        Err("be tried")
    };
    (try, $visitor:ident, $lock:ty, $level:ident) => {
        Ok($visitor.visit::<$lock>())
    };
    (timed, $visitor:ident, $lock:ty, timed) => {
        Ok($visitor.visit::<$lock>())
    };
    (timed, $visitor:ident, $lock:ty, $level:ident) => {
        Err("give up waiting at a deadline")
    };
    (posix, $visitor:ident, $lock:ty, timed) => {
        Ok($visitor.timed::<$lock>())
    };
    (posix, $visitor:ident, $lock:ty, try) => {
        Ok($visitor.polled::<$lock>())
    };
    (posix, $visitor:ident, $lock:ty, plain) => {
        Err("stand in for a pthread mutex: it cannot be tried")
    };
}

/// What the level says, for the test that it is what the lock says of itself.
macro_rules! level {
    (plain) => {
        (false, false)
    };
    (try) => {
        (true, false)
    };
    (timed) => {
        (true, true)
    };
}

macro_rules! locks {
    ($($room:ident :: $lock:ident $level:ident),* $(,)?) => {
        /// Every lock, in the order in which people read about them.
        pub const LOCKS: &[LockInfo] = &[$(<$room::$lock<Native> as RawLock<Native>>::INFO),*];

        // A lock's level stands here and in its own words: they must agree.
        const _: () = {$(
            let info = <$room::$lock<Native> as RawLock<Native>>::INFO;
            assert!(info.try_lock == level!($level).0 && info.timed == level!($level).1);
            assert!(matches!(info.posix, Posix::No(_)) || info.try_lock);
        )*};

        /// Calls `visitor` with the type of the lock named `name` on machine `M`.
        pub fn visit<M: Machine, V: LockVisitor<M>>(name: &str, visitor: V) -> Result<V::Out, UnknownLock> {
            $(if name == <$room::$lock<M> as RawLock<M>>::INFO.name {
                return Ok(visitor.visit::<$room::$lock<M>>());
            })*
            Err(UnknownLock(name.to_owned()))
        }

        /// As [`visit`], if the lock can be tried.
        pub fn visit_try<M: Machine, V: TryVisitor<M>>(name: &str, visitor: V) -> Result<V::Out, LockError> {
            $(if name == <$room::$lock<M> as RawLock<M>>::INFO.name {
                return able::<M, $room::$lock<M>, _>(at_level!(try, visitor, $room::$lock<M>, $level));
            })*
            Err(UnknownLock(name.to_owned()).into())
        }

        /// As [`visit`], if the lock's waiters can give up.
        pub fn visit_timed<M: Machine, V: TimedVisitor<M>>(name: &str, visitor: V) -> Result<V::Out, LockError> {
            $(if name == <$room::$lock<M> as RawLock<M>>::INFO.name {
                return able::<M, $room::$lock<M>, _>(at_level!(timed, visitor, $room::$lock<M>, $level));
            })*
            Err(UnknownLock(name.to_owned()).into())
        }

        /// As [`visit`], if the lock can stand in for a `pthread_mutex_t`.
        pub fn visit_posix<M: Machine, V: PosixVisitor<M>>(name: &str, visitor: V) -> Result<V::Out, LockError> {
            $(if name == <$room::$lock<M> as RawLock<M>>::INFO.name {
                let info = <$room::$lock<M> as RawLock<M>>::INFO;
                if let Posix::No(why) = info.posix {
                    return Err(LockError::Cannot {
                        lock: info.name,
                        what: format!("stand in for a pthread mutex: {why}"),
                    });
                }
                return able::<M, $room::$lock<M>, _>(at_level!(posix, visitor, $room::$lock<M>, $level));
            })*
            Err(UnknownLock(name.to_owned()).into())
        }
    };
}

locks! {
    tas::Tas timed,
    ttas::Ttas timed,
    ticket::Ticket try,
    ticket_prop::TicketProp try,
    mcs::Mcs try,
    clh::Clh try,
    k42::K42 try,
    hemlock::Hemlock try,
    cohort::CohortLock try,
    spin_park::SpinPark timed,
    spin_park_wakes::SpinParkWakes timed,
    spin_park_once::SpinParkOnce timed,
    adaptive::Adaptive timed,
    futex::Futex timed,
}

/// Puts the lock's name to what it cannot do.
fn able<M: Machine, L: RawLock<M>, T>(out: Result<T, &'static str>) -> Result<T, LockError> {
    out.map_err(|what| LockError::Cannot { lock: L::INFO.name, what: what.to_owned() })
}

/// What is said of the lock named `name`.
pub fn info(name: &str) -> Result<&'static LockInfo, UnknownLock> {
    LOCKS.iter().find(|lock| lock.name == name).ok_or_else(|| UnknownLock(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_machine::Wait;

    struct Name;
    impl LockVisitor<Native> for Name {
        type Out = &'static str;
        fn visit<L: RawLock<Native> + ZeroInit>(self) -> &'static str {
            L::INFO.name
        }
    }
    impl TimedVisitor<Native> for Name {
        type Out = &'static str;
        fn visit<L: TimedLock<Native> + ZeroInit>(self) -> &'static str {
            L::INFO.name
        }
    }
    impl PosixVisitor<Native> for Name {
        type Out = (&'static str, bool);
        fn timed<L: TimedLock<Native> + ZeroInit>(self) -> (&'static str, bool) {
            (L::INFO.name, true)
        }
        fn polled<L: TryLock<Native> + ZeroInit>(self) -> (&'static str, bool) {
            (L::INFO.name, false)
        }
    }

    #[test]
    fn a_name_finds_its_lock() {
        for lock in LOCKS {
            assert_eq!(visit::<Native, _>(lock.name, Name), Ok(lock.name));
            assert_eq!(LOCKS.iter().filter(|other| other.name == lock.name).count(), 1);
            assert_eq!(visit_posix::<Native, _>(lock.name, Name), Ok((lock.name, lock.timed)));
            assert!(!lock.what.is_empty() && !lock.source.is_empty());
        }
        let unknown = visit::<Native, _>("msc", Name).unwrap_err().to_string();
        assert!(unknown.contains("`msc`") && unknown.contains("mcs, clh"), "{unknown}");
    }

    #[test]
    fn an_error_names_the_lock_and_what_it_cannot_do() {
        assert_eq!(visit_timed::<Native, _>("tas", Name), Ok("tas"));
        let cannot = visit_timed::<Native, _>("mcs", Name).unwrap_err().to_string();
        assert_eq!(cannot, "lock `mcs` cannot give up waiting at a deadline");
        let wait = info("spin-park").unwrap().wait(Some(Wait::Pause)).unwrap_err();
        assert_eq!(wait, "lock `spin-park` waits by its own policy, spin-park(128), not `pause`");
        assert_eq!(info("spin-park").unwrap().wait(Some(Wait::SpinPark(7))), Ok(Wait::SpinPark(7)));
    }
}
