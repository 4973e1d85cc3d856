//! All barriers by name. A new barrier is one file and one line in
//! [`every_barrier!`](crate::every_barrier).

use super::{BarrierInfo, RawBarrier};
use baton_machine::{Machine, Native};

/// Passes every barrier (its module, its type and its abilities) to the macro named in brackets,
/// after the tokens that follow the brackets.
#[macro_export]
macro_rules! every_barrier {
    ([$($then:tt)*] $($before:tt)*) => {
        $($then)*! { $($before)*
            central::Central [],
            tree::Tree [],
            dissemination::Dissemination [],
            two_level::TwoLevel [],
            levels::Levels [],
            gomp::Gomp [],
        }
    };
}

every_barrier! {
    [crate::registry::registry]
    /// Descriptions of all barriers, in the order of the documentation.
    BARRIERS: BarrierInfo,
    /// The error for a name that is not a barrier.
    UnknownBarrier "barrier",
    /// Code to run with the type `T` of a barrier that is known only by name.
    BarrierVisitor RawBarrier,
    ()
}
