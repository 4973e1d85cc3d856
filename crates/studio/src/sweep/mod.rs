//! The sweep: runs the points of a space that a store lacks.
//!
//! | file | holds |
//! | --- | --- |
//! | `plan` | a space checked against its command |
//! | `scan` | the number of points, and the sorts of coupled values |
//! | `engine` | which point runs next, and what happens with its result |
//! | `queue` | points that wait, long ones first |
//! | `repeat` | how often a point is repeated |
//! | `each` | runs without a store, on all cores, which the caller can stop |
//! | `pool` | threads that each run one point at a time |
//! | `memory` | how much memory points may take |
//! | `interval` | how sure a mean is |

mod each;
mod engine;
mod interval;
mod memory;
mod plan;
mod pool;
mod queue;
mod repeat;
mod scan;

pub use each::each;
pub use engine::{Best, End, Options, SweepProgress, Watch, sweep};
pub use plan::{Plan, find};

use crate::space::SpaceError;
use crate::store::StoreError;
use thiserror::Error;

/// Why a sweep ended with an error. The rows of all points that had ended before are in the store.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The space.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests;
