//! Values that all threads of a workload use.

use baton_machine::{Machine, Owned};
use std::sync::Arc;

/// A value in the machine's memory that all threads use.
pub type Shared<M, T> = Arc<Owned<M, T>>;

/// Puts a value into the machine's memory, for all threads.
pub fn share<M: Machine, T>(value: T) -> Shared<M, T> {
    Arc::new(Owned::new(value))
}
