//! Why a prediction cannot be made.

use crate::asymmetric::NoPolicy;
use crate::change::ChangeError;
use crate::network::NoNetwork;
use crate::ran::RunError;
use crate::scale::ScaleError;
use thiserror::Error;

/// Why nothing can be predicted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PredictError {
    /// The trace has no events.
    #[error("the trace is empty: there is nothing to replay")]
    Empty,
    /// The program has more locks than fit into the memory.
    #[error("the replay of {locks} locks takes up to {} MiB of memory, and {} MiB are free", need >> 20, free >> 20)]
    Memory {
        locks: u64,
        /// The memory in bytes that the locks take, in all runs that are made at the same time.
        need: u64,
        /// The memory in bytes that the locks may take.
        free: u64,
    },
    /// The number of threads cannot be changed, for this reason.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// The chip cannot have one of the networks that were asked for.
    #[error(transparent)]
    Network(#[from] NoNetwork),
    /// The chip cannot have these fast and slow cores, or a policy that was asked for.
    #[error(transparent)]
    Asymmetric(#[from] Box<NoPolicy>),
    /// A change that was asked for cannot be applied to the program.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}
