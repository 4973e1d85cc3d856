//! All reader-writer locks by name. A new one is one file and one line in
//! [`every_rwlock!`](crate::every_rwlock).

use super::{RawRwLock, RwLockInfo};
use baton_machine::{Machine, Native};

/// Passes every reader-writer lock (its module, its type and its abilities) to the macro named in
/// brackets, after the tokens that follow the brackets. The ability is `turns`
/// ([`TurnsRwLock`](super::TurnsRwLock)).
#[macro_export]
macro_rules! every_rwlock {
    ([$($then:tt)*] $($before:tt)*) => {
        $($then)*! { $($before)*
            readers_first::ReadersFirst [],
            phases::Phases [turns],
        }
    };
}

every_rwlock! {
    [crate::registry::registry]
    /// Descriptions of all reader-writer locks, in the order of the documentation.
    RWLOCKS: RwLockInfo,
    /// The error for a name that is not a reader-writer lock.
    UnknownRwLock "reader-writer lock",
    /// Code to run with the type `T` of a reader-writer lock that is known only by name.
    RwLockVisitor RawRwLock,
    ()
}
