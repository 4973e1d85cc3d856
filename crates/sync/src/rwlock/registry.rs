//! Every reader-writer lock by name. A new one is one file and one line in [`every_rwlock!`](crate::every_rwlock).

use super::{RawRwLock, RwLockInfo};
use baton_machine::{Machine, Native};

/// Passes every reader-writer lock to the macro that is named in brackets, behind the tokens that follow the brackets: its module, its
/// type and its abilities, of which there are none yet.
#[macro_export]
macro_rules! every_rwlock {
    ([$($then:tt)*] $($before:tt)*) => {
        $($then)*! { $($before)*
            readers_first::ReadersFirst [],
        }
    };
}

every_rwlock! {
    [crate::registry::registry]
    /// Every reader-writer lock, in the order in which people read about them.
    RWLOCKS: RwLockInfo,
    /// A name that is no reader-writer lock.
    UnknownRwLock "reader-writer lock",
    /// What to do with a reader-writer lock that is known by name only: its type arrives as `T`.
    RwLockVisitor RawRwLock,
    ()
}
