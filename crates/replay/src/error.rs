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
    /// The program has more locks than there is memory for.
    #[error("the replay of {locks} locks takes up to {} MiB of memory, and {} MiB are free", need >> 20, free >> 20)]
    Memory {
        locks: u64,
        /// The memory that they take, in bytes, in the runs that are made side by side.
        need: u64,
        /// The memory that they may take, in bytes.
        free: u64,
    },
    /// The number of threads cannot be changed.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// The chip cannot have one of the networks.
    #[error(transparent)]
    Network(#[from] NoNetwork),
    /// The chip cannot have these fast and slow cores, or a policy for them.
    #[error(transparent)]
    Asymmetric(#[from] Box<NoPolicy>),
    /// A change cannot be applied to the program.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}
