//! What guests record about their locks.

use baton_chip::account::LockRecorder;
use baton_workloads::Probe;

/// Records requests, acquisitions and releases.
#[derive(Clone, Default)]
pub(crate) struct Recorder(pub(crate) LockRecorder);

impl Probe for Recorder {
    #[inline]
    fn request(&self, lock: u32) -> u64 {
        self.0.request(lock)
    }
    #[inline]
    fn acquired(&self, lock: u32, requested: u64) {
        self.0.acquired(lock, requested);
    }
    #[inline]
    fn release(&self, lock: u32) {
        self.0.release(lock);
    }
    #[inline]
    fn begin(&self) {
        self.0.begin();
    }
    #[inline]
    fn end(&self) {
        self.0.end();
    }
}
