//! What hears about locks.

/// Hears what happens at a workload's locks, in the thread that it happens in. All threads share one, by copies. A
/// workload numbers its locks from 0.
pub trait Probe: Clone + Send + 'static {
    /// Lock `lock` lies at `at`, a word at the least: called when it is made, before any thread runs.
    fn lock_at(&self, lock: u32, at: *const u8) {
        let _ = (lock, at);
    }
    /// The thread is about to take the lock. What it returns goes to [`Probe::acquired`].
    fn request(&self, lock: u32) -> u64;
    /// It has the lock.
    fn acquired(&self, lock: u32, requested: u64);
    /// It is about to give it up.
    fn release(&self, lock: u32);
    /// The thread's part that counts begins: what came before was warm-up. A workload that says nothing counts whole.
    fn begin(&self) {}
    /// The thread's part that counts has ended.
    fn end(&self) {}
}

/// Hears nothing.
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
