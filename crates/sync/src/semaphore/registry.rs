//! All semaphores by name. A new one is one file and one line in
//! [`every_semaphore!`](crate::every_semaphore).

use super::{RawSemaphore, SemaphoreInfo};
use baton_machine::{Machine, Native};

/// Passes every semaphore (its module, its type and its abilities, of which there are none yet) to
/// the macro named in brackets, after the tokens that follow the brackets.
#[macro_export]
macro_rules! every_semaphore {
    ([$($then:tt)*] $($before:tt)*) => {
        $($then)*! { $($before)*
            counter::Counter [],
            flagged::Flagged [],
        }
    };
}

every_semaphore! {
    [crate::registry::registry]
    /// Descriptions of all semaphores, in the order of the documentation.
    SEMAPHORES: SemaphoreInfo,
    /// The error for a name that is not a semaphore.
    UnknownSemaphore "semaphore",
    /// Code to run with the type `T` of a semaphore that is known only by name.
    SemaphoreVisitor RawSemaphore,
    ()
}
