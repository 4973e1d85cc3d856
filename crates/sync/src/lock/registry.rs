//! All locks by name. A new lock is one file and one line in [`every_lock!`](crate::every_lock).
//!
//! A tool that knows a lock only by name provides a visitor, which is called with the lock's type.
//! A visitor that needs an ability is called only with locks that have it; for other locks the
//! error says what they cannot do.

use super::added::{self, locks};
use super::{Fifo, LockInfo, Posix, RawLock, TimedLock, TryLock, ZeroInit};
use baton_machine::{Machine, Native};
use std::fmt;

/// Passes every lock to the macro named in brackets, after the tokens that follow the brackets: its
/// module, its type, its mutex for Rust programs ([`api`](crate::api)) and its abilities. These are
/// `tries` ([`TryLock`]), `gives_up` ([`TimedLock`]), `in_order` ([`Fifo`](super::Fifo)) and
/// `hands_over` ([`HandOver`](super::HandOver), of a lock without an order), in this order. The list
/// has the order of the documentation.
#[macro_export]
macro_rules! every_lock {
    ([$($then:tt)*] $($before:tt)*) => {
        $($then)*! { $($before)*
            tas::Tas TasMutex [tries gives_up],
            ttas::Ttas TtasMutex [tries gives_up],
            ticket::Ticket TicketMutex [tries in_order],
            ticket_prop::TicketProp TicketPropMutex [tries in_order],
            mcs::Mcs McsMutex [tries in_order],
            clh::Clh ClhMutex [tries in_order],
            k42::K42 K42Mutex [tries in_order],
            hemlock::Hemlock HemMutex [tries in_order],
            one_spinner::OneSpinner OneSpinnerMutex [tries gives_up in_order],
            hybrid::Hybrid HybridMutex [tries],
            mcs_barging::McsBarging McsBargingMutex [tries],
            clh_barging::ClhBarging ClhBargingMutex [tries],
            ticket_barging::TicketBarging TicketBargingMutex [tries],
            cohort::CohortLock CohortMutex [tries],
            spin_park::SpinPark SpinParkMutex [tries gives_up],
            spin_park_wakes::SpinParkWakes SpinParkWakesMutex [tries gives_up],
            spin_park_once::SpinParkOnce SpinParkOnceMutex [tries gives_up],
            spin_park_granted::SpinParkGranted SpinParkGrantedMutex [tries gives_up],
            gomp_mutex::Gomp GompMutex [tries gives_up],
            adaptive::Adaptive AdaptiveMutex [tries gives_up],
            futex::Futex FutexMutex [tries gives_up],
            plain::Plain PlainMutex [tries gives_up],
            fair::Fair FairMutex [tries gives_up hands_over],
        }
    };
}

/// The error for a name that is not a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLock(pub String);

impl fmt::Display for UnknownLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown lock `{}`; expected one of ", self.0)?;
        for (i, lock) in locks().iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { ", " }, lock.name)?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownLock {}

/// Why a lock is not available with the requested ability.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// There is no lock of this name.
    #[error(transparent)]
    Unknown(#[from] UnknownLock),
    /// The lock lacks the ability.
    #[error("lock `{lock}` cannot {what}")]
    Cannot {
        /// Name of the lock.
        lock: &'static str,
        /// What the lock cannot do, with a reason where one is needed.
        what: String,
    },
}

/// Code to run with the type `L` of a lock that is known only by name.
pub trait LockVisitor<M: Machine> {
    /// The result of the visit.
    type Out;
    /// Called with the lock's type.
    fn visit<L: RawLock<M> + ZeroInit>(self) -> Self::Out;
}

/// A [`LockVisitor`] that needs a [`TryLock`].
pub trait TryVisitor<M: Machine> {
    /// The result of the visit.
    type Out;
    /// Called with the lock's type.
    fn visit<L: TryLock<M> + ZeroInit>(self) -> Self::Out;
}

/// A [`LockVisitor`] that needs a [`TimedLock`].
pub trait TimedVisitor<M: Machine> {
    /// The result of the visit.
    type Out;
    /// Called with the lock's type.
    fn visit<L: TimedLock<M> + ZeroInit>(self) -> Self::Out;
}

/// A [`LockVisitor`] for replacing a `pthread_mutex_t`: called only with locks that the rules of
/// POSIX allow.
pub trait PosixVisitor<M: Machine> {
    /// The result of the visit.
    type Out;
    /// Called if the lock's waiters can give up, and leave nothing behind even when they disappear
    /// without giving up.
    fn timed<L: TimedLock<M> + ZeroInit>(self) -> Self::Out;
    /// Called if the lock's waiters have places that they can give up; a thread that disappears
    /// without giving up keeps its place.
    fn timed_queue<L: TimedLock<M> + Fifo + ZeroInit>(self) -> Self::Out;
    /// Called if the lock's waiters have places that they cannot give up: a timed lock must poll
    /// `try_lock`.
    fn queued<L: TryLock<M> + Fifo + ZeroInit>(self) -> Self::Out;
    /// Called for all other locks: a timed lock must poll `try_lock`.
    fn polled<L: TryLock<M> + ZeroInit>(self) -> Self::Out;
}

/// Calls the visitor's method if the lock has the ability that it needs.
macro_rules! able {
    (tries, $visitor:ident, $lock:ty, [tries $($more:ident)*]) => {
        Ok($visitor.visit::<$lock>())
    };
    (tries, $visitor:ident, $lock:ty, [$($other:ident)*]) => {
        Err("be tried")
    };
    (gives_up, $visitor:ident, $lock:ty, [tries gives_up $($more:ident)*]) => {
        Ok($visitor.visit::<$lock>())
    };
    (gives_up, $visitor:ident, $lock:ty, [$($other:ident)*]) => {
        Err("give up waiting at a deadline")
    };
    (posix, $visitor:ident, $lock:ty, [tries gives_up in_order]) => {
        Ok($visitor.timed_queue::<$lock>())
    };
    (posix, $visitor:ident, $lock:ty, [tries gives_up]) => {
        Ok($visitor.timed::<$lock>())
    };
    (posix, $visitor:ident, $lock:ty, [tries in_order]) => {
        Ok($visitor.queued::<$lock>())
    };
    (posix, $visitor:ident, $lock:ty, [tries]) => {
        Ok($visitor.polled::<$lock>())
    };
    (posix, $visitor:ident, $lock:ty, [$($other:ident)*]) => {
        Err("stand in for a pthread mutex: it cannot be tried")
    };
}

/// Returns a bit for each ability.
macro_rules! bit {
    (tries) => {
        1
    };
    (gives_up) => {
        2
    };
    (in_order) => {
        4
    };
    (hands_over) => {
        0
    };
}

macro_rules! locks {
    ($($room:ident :: $lock:ident $mutex:ident [$($ability:ident)*],)*) => {
        /// Descriptions of all built-in locks, in the order of the documentation; [`locks`] has the
        /// added ones too.
        pub const LOCKS: &[LockInfo] = &[$(<super::$room::$lock<Native> as RawLock<Native>>::INFO),*];

        // A lock's abilities are stated in the list above and in its INFO: they must agree.
        const _: () = {$(
            let info = <super::$room::$lock<Native> as RawLock<Native>>::INFO;
            let claimed = info.try_lock as u8 + 2 * info.timed as u8 + 4 * info.fifo as u8;
            assert!(claimed == 0 $(+ bit!($ability))*, "the list and INFO differ on what a lock can do");
            assert!(matches!(info.posix, Posix::No(_)) || info.try_lock);
        )*};

        /// Calls `visitor` with the type of the lock called `name` on machine `M`.
        pub fn visit<M: Machine, V: LockVisitor<M>>(name: &str, visitor: V) -> Result<V::Out, UnknownLock> {
            $(if name == <super::$room::$lock<M> as RawLock<M>>::INFO.name {
                return Ok(visitor.visit::<super::$room::$lock<M>>());
            })*
            added::visit(name, visitor)
        }

        /// Like [`visit`], if the lock can be tried.
        pub fn visit_try<M: Machine, V: TryVisitor<M>>(name: &str, visitor: V) -> Result<V::Out, LockError> {
            $(if name == <super::$room::$lock<M> as RawLock<M>>::INFO.name {
                return named(name, able!(tries, visitor, super::$room::$lock<M>, [$($ability)*]));
            })*
            added::visit_try(name, visitor)
        }

        /// Like [`visit`], if the lock's waiters can give up.
        pub fn visit_timed<M: Machine, V: TimedVisitor<M>>(name: &str, visitor: V) -> Result<V::Out, LockError> {
            $(if name == <super::$room::$lock<M> as RawLock<M>>::INFO.name {
                return named(name, able!(gives_up, visitor, super::$room::$lock<M>, [$($ability)*]));
            })*
            Err(UnknownLock(name.to_owned()).into())
        }

        /// Like [`visit`], if the lock can replace a `pthread_mutex_t`.
        pub fn visit_posix<M: Machine, V: PosixVisitor<M>>(name: &str, visitor: V) -> Result<V::Out, LockError> {
            $(if name == <super::$room::$lock<M> as RawLock<M>>::INFO.name {
                if let Posix::No(why) = <super::$room::$lock<M> as RawLock<M>>::INFO.posix {
                    return Err(cannot(name, &format!("stand in for a pthread mutex: {why}")));
                }
                return named(name, able!(posix, visitor, super::$room::$lock<M>, [$($ability)*]));
            })*
            Err(UnknownLock(name.to_owned()).into())
        }
    };
}

every_lock!([locks]);

// The locks' numbers in C are 0, 1, 2 and so on, each used once.
const _: () = {
    let mut seen = [false; LOCKS.len()];
    let mut i = 0;
    while i < LOCKS.len() {
        let number = LOCKS[i].c_number as usize;
        assert!(number < LOCKS.len() && !seen[number], "a new lock's c_number is the number of locks before it");
        seen[number] = true;
        i += 1;
    }
};

/// Turns the text that says what the lock cannot do into an error that also names the lock.
fn named<T>(name: &str, out: Result<T, &str>) -> Result<T, LockError> {
    out.map_err(|what| cannot(name, what))
}

fn cannot(name: &str, what: &str) -> LockError {
    match info(name) {
        Ok(lock) => LockError::Cannot { lock: lock.name, what: what.to_owned() },
        Err(unknown) => unknown.into(),
    }
}

/// Returns the description of the lock called `name`.
pub fn info(name: &str) -> Result<&'static LockInfo, UnknownLock> {
    locks().iter().find(|lock| lock.name == name).ok_or_else(|| UnknownLock(name.to_owned()))
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
        fn timed_queue<L: TimedLock<Native> + Fifo + ZeroInit>(self) -> (&'static str, bool) {
            (L::INFO.name, true)
        }
        fn queued<L: TryLock<Native> + Fifo + ZeroInit>(self) -> (&'static str, bool) {
            (L::INFO.name, false)
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
            match (lock.posix, visit_posix::<Native, _>(lock.name, Name)) {
                (Posix::Yes, found) => assert_eq!(found, Ok((lock.name, lock.timed))),
                (Posix::No(why), refused) => assert!(refused.unwrap_err().to_string().contains(why)),
            }
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
