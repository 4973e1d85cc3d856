//! Records what guests do with their locks.

use baton_chip::account::LockRecorder;
use baton_workloads::Probe;
use std::sync::{Arc, Mutex, PoisonError};

/// Records requests, acquisitions and releases.
#[derive(Clone, Default)]
pub(crate) struct Recorder {
    pub(crate) events: LockRecorder,
    /// Only counts acquisitions, in this counter: each application numbers its locks for itself,
    /// and events distinguish locks by these numbers.
    quiet: Option<Arc<Mutex<u64>>>,
}

impl Recorder {
    /// A recorder that counts acquisitions and records no events.
    pub(crate) fn quiet() -> Recorder {
        Recorder { quiet: Some(Arc::default()), ..Recorder::default() }
    }

    /// Number of acquisitions so far.
    pub(crate) fn acquisitions(&self) -> u64 {
        self.quiet.as_ref().map_or_else(|| self.events.acquisitions(), |count| *held(count))
    }
}

fn held(count: &Mutex<u64>) -> std::sync::MutexGuard<'_, u64> {
    count.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Probe for Recorder {
    #[inline]
    fn request(&self, lock: u32) -> u64 {
        if self.quiet.is_some() { 0 } else { self.events.request(lock) }
    }
    #[inline]
    fn acquired(&self, lock: u32, requested: u64) {
        match &self.quiet {
            Some(count) => *held(count) += 1,
            None => self.events.acquired(lock, requested),
        }
    }
    #[inline]
    fn release(&self, lock: u32) {
        if self.quiet.is_none() {
            self.events.release(lock);
        }
    }
    #[inline]
    fn begin(&self) {
        if self.quiet.is_none() {
            self.events.begin();
        }
    }
    #[inline]
    fn end(&self) {
        if self.quiet.is_none() {
            self.events.end();
        }
    }
}
