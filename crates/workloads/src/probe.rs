//! What a workload reports of its locks.

/// Hears what happens at a workload's locks, in the thread in which it happens. All threads share
/// one probe, by copies. A workload numbers its locks from 0.
pub trait Probe: Clone + Send + 'static {
    /// The lock with the number `lock` begins at the address `at`, and is one word at least. The
    /// workload calls this when it makes the lock, before any thread runs.
    fn lock_at(&self, lock: u32, at: *const u8) {
        let _ = (lock, at);
    }
    /// The thread is about to take the lock. The workload passes the result to [`Probe::acquired`].
    fn request(&self, lock: u32) -> u64;
    /// The thread has the lock.
    fn acquired(&self, lock: u32, requested: u64);
    /// The thread is about to release the lock.
    fn release(&self, lock: u32);
    /// The part of the thread that counts begins: what came before was warm-up. A workload that
    /// never calls this counts as a whole.
    fn begin(&self) {}
    /// The part of the thread that counts has ended.
    fn end(&self) {}
}

/// A probe that hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Probe for Silent {
    #[inline(always)]
    fn request(&self, _: u32) -> u64 {
        0
    }
    #[inline(always)]
    fn acquired(&self, _: u32, _: u64) {}
    #[inline(always)]
    fn release(&self, _: u32) {}
}
