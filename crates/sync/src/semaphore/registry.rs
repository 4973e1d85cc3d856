//! Every semaphore by name. A new one is one file and one line in [`every_semaphore!`](crate::every_semaphore).

use super::{RawSemaphore, SemaphoreInfo};
use baton_machine::{Machine, Native};

/// Passes every semaphore to the macro that is named in brackets, behind the tokens that follow the brackets: its module, its
/// type and its abilities, of which there are none yet.
#[macro_export]
macro_rules! every_semaphore {
    ([$($then:tt)*] $($before:tt)*) => {
        $($then)*! { $($before)*
            counter::Counter [],
        }
    };
}

every_semaphore! {
    [crate::registry::registry]
    /// Every semaphore, in the order in which people read about them.
    SEMAPHORES: SemaphoreInfo,
    /// A name that is no semaphore.
    UnknownSemaphore "semaphore",
    /// What to do with a semaphore that is known by name only: its type arrives as `T`.
    SemaphoreVisitor RawSemaphore,
    ()
}
