//! A workload's probe that records what the account of locks needs. The library of this crate knows
//! no workloads.

use baton_chip::account::LockRecorder;
use baton_workloads::Probe;

#[derive(Clone, Default)]
pub(crate) struct Recorder(pub(crate) LockRecorder);

impl Probe for Recorder {
    fn request(&self, lock: u32) -> u64 {
        self.0.request(lock)
    }
    fn acquired(&self, lock: u32, requested: u64) {
        self.0.acquired(lock, requested);
    }
    fn release(&self, lock: u32) {
        self.0.release(lock);
    }
    fn begin(&self) {
        self.0.begin();
    }
    fn end(&self) {
        self.0.end();
    }
}
