//! Every barrier by name. A new barrier is one file and one line in [`every_barrier!`](crate::every_barrier).

use super::{BarrierInfo, RawBarrier};
use baton_machine::{Machine, Native};

/// Passes every barrier to the macro that is named in brackets, behind the tokens that follow the brackets: its module, its
/// type and its abilities.
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
    /// Every barrier, in the order in which people read about them.
    BARRIERS: BarrierInfo,
    /// A name that is no barrier.
    UnknownBarrier "barrier",
    /// What to do with a barrier that is known by name only: its type arrives as `T`.
    BarrierVisitor RawBarrier,
    ()
}
