//! Every barrier by name. A new barrier is one file and one line in `registry!`.

use super::{BarrierInfo, RawBarrier, central, dissemination, tree};
use crate::registry::registry;
use baton_machine::{Machine, Native};

registry! {
    /// Every barrier, in the order in which people read about them.
    BARRIERS: BarrierInfo,
    /// A name that is no barrier.
    UnknownBarrier "barrier",
    /// What to do with a barrier that is known by name only: its type arrives as `T`.
    BarrierVisitor RawBarrier,
    central::Central,
    tree::Tree,
    dissemination::Dissemination,
}
