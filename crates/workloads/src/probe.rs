//! Who is told about locks.

/// Hears what happens at a workload's lock, in the thread that it happens in. All threads share one, by copies.
pub trait Probe: Clone + Send + 'static {
    /// The thread is about to take the lock. What it returns goes to [`Probe::acquired`].
    fn request(&self) -> u64;
    /// It has the lock.
    fn acquired(&self, requested: u64);
    /// It is about to give it up.
    fn release(&self);
}

/// Nobody is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Probe for Silent {
    #[inline(always)]
    fn request(&self) -> u64 {
        0
    }
    #[inline(always)]
    fn acquired(&self, _: u64) {}
    #[inline(always)]
    fn release(&self) {}
}
