//! The objects of which the trace says something already, so that it is written once for each.

use baton_trace::Address;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Barriers whose OpenMP construct the trace names.
pub(super) static CONSTRUCTS: Told<1024> = Told::new();
/// Mutexes that the trace knows to be shared with other processes.
pub(super) static SHARED: Told<64> = Told::new();
/// Locks of `baton-sync` that a thread has taken.
pub(super) static LOCKS: Told<4096> = Told::new();
/// Queues of Baton's C library that are made without a call.
pub(super) static QUEUES: Told<1024> = Told::new();

/// A set of addresses, by hash. An object that finds no free cell counts as new each time.
pub(super) struct Told<const CELLS: usize>([AtomicU64; CELLS]);

impl<const CELLS: usize> Told<CELLS> {
    const fn new() -> Told<CELLS> {
        Told([const { AtomicU64::new(0) }; CELLS])
    }

    /// Remembers the object. Returns whether it is new: true at the first call for this object, and
    /// at each call for an object that finds no free cell.
    pub(super) fn is_new(&self, object: Address) -> bool {
        self.met(object).unwrap_or(true)
    }

    /// Like [`Told::is_new`], but an object that finds no free cell never counts as new.
    pub(super) fn is_first(&self, object: Address) -> bool {
        self.met(object).unwrap_or(false)
    }

    /// Remembers the object. Returns whether it is new; `None` if it finds no free cell.
    fn met(&self, object: Address) -> Option<bool> {
        let hash = (object.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
        for step in 0..8 {
            let cell = &self.0[(hash + step) % CELLS];
            let known = match cell.load(Relaxed) {
                0 => match cell.compare_exchange(0, object, Relaxed, Relaxed) {
                    Ok(_) => return Some(true),
                    Err(other) => other,
                },
                known => known,
            };
            if known == object {
                return Some(false);
            }
        }
        None
    }

    fn clear(&self) {
        self.0.iter().for_each(|cell| cell.store(0, Relaxed));
    }
}

/// Forgets all objects in a fork's child, whose trace names none yet.
pub(super) fn after_fork() {
    CONSTRUCTS.clear();
    SHARED.clear();
    LOCKS.clear();
    QUEUES.clear();
}
