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

/// A cell whose object was forgotten: no object has this address.
const GONE: u64 = 1;

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
        if self.cells(object).any(|cell| cell.load(Relaxed) == object) {
            return Some(false);
        }
        for cell in self.cells(object) {
            match cell.load(Relaxed) {
                free @ (0 | GONE) => match cell.compare_exchange(free, object, Relaxed, Relaxed) {
                    Ok(_) => return Some(true),
                    Err(other) if other == object => return Some(false),
                    Err(_) => {}
                },
                known if known == object => return Some(false),
                _ => {}
            }
        }
        None
    }

    /// Forgets the object. Returns whether it was known.
    pub(super) fn forget(&self, object: Address) -> bool {
        // A cell that was freed would hide objects that lie behind it, so it keeps a mark.
        self.cells(object).any(|cell| cell.compare_exchange(object, GONE, Relaxed, Relaxed).is_ok())
    }

    /// The cells in which the object may be, in the order of the search.
    fn cells(&self, object: Address) -> impl Iterator<Item = &AtomicU64> {
        let hash = (object.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
        (0..8).map(move |step| &self.0[(hash + step) % CELLS])
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
