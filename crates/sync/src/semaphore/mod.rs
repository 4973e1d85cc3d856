//! Semaphores: a number of permits that threads take and post.

#[macro_use]
mod registry;
every_semaphore!([crate::registry::modules]);

pub use registry::{SEMAPHORES, SemaphoreVisitor, UnknownSemaphore, visit};

use baton_machine::{Machine, Wait};

/// What is said of a semaphore.
#[derive(Clone, Copy, Debug)]
pub struct SemaphoreInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// One line: how it works.
    pub what: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it cannot do; empty if nothing.
    pub limits: &'static str,
}

/// A semaphore. All of its users pass the same `wait`.
///
/// # Safety
/// No more permits are taken than were there at first and have been posted since, and each post ends a wait if threads wait. What a
/// thread did before its post happens before the return of the `take` that got its permit.
pub unsafe trait RawSemaphore<M: Machine>: Sized + Send + Sync + 'static {
    /// What is said of the semaphore; its line in the registry.
    const INFO: SemaphoreInfo;

    /// A semaphore with so many permits.
    fn new(permits: u32) -> Self;

    /// Takes a permit, waiting for one if there is none.
    fn take(&self, wait: Wait);

    /// Adds a permit.
    fn post(&self, wait: Wait);
}
