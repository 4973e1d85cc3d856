//! Semaphores: threads take permits and post them.

#[macro_use]
mod registry;
every_semaphore!([crate::registry::modules]);

pub use registry::{SEMAPHORES, SemaphoreVisitor, UnknownSemaphore, visit};

use baton_machine::{Deadline, Machine, Wait};

/// The description of a semaphore.
#[derive(Clone, Copy, Debug)]
pub struct SemaphoreInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// How the semaphore works, in one line.
    pub what: &'static str,
    /// The paper or program that the semaphore comes from.
    pub source: &'static str,
    /// Limitations; empty if there are none.
    pub limits: &'static str,
}

/// A semaphore. All users of a semaphore pass the same `wait`.
///
/// # Safety
/// At most as many permits are taken as there were initially and have been posted since, and each
/// post ends a wait if threads wait. What a thread did before its post happens before the return of
/// the `take` that got its permit.
pub unsafe trait RawSemaphore<M: Machine>: Sized + Send + Sync + 'static {
    /// Description of the semaphore, its line in the registry.
    const INFO: SemaphoreInfo;

    /// Creates a semaphore with `permits` permits.
    fn new(permits: u32) -> Self;

    /// Takes a permit, waiting while there is none.
    fn take(&self, wait: Wait) {
        let taken = self.take_until(wait, None);
        debug_assert!(taken, "a wait without a deadline expired");
    }

    /// Takes a permit if there is one. Returns whether it did.
    fn try_take(&self) -> bool;

    /// Takes a permit, waiting while there is none; returns false if the deadline passed first.
    fn take_until(&self, wait: Wait, deadline: Option<Deadline>) -> bool;

    /// Adds a permit. There must be room in the count.
    fn post(&self, wait: Wait);

    /// Adds a permit, or returns false if the semaphore has as many permits as it can count.
    fn try_post(&self, wait: Wait) -> bool;
}
