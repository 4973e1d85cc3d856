//! Locks, semaphores and barriers by their addresses. An address can have several lives.

use baton_trace::{Address, LockKind, ProcessIndex};
use std::collections::BTreeMap;

type Located = (ProcessIndex, Address);

/// A lock's book during the walk.
#[derive(Default)]
pub(crate) struct LockBook {
    pub(crate) address: Address,
    pub(crate) acquisitions: u64,
    /// A `pthread_spinlock_t`: it is not replaced.
    pub(crate) spins: bool,
    /// Threads that wait for it, in the order in which they came, and from when on they can be asleep.
    pub(crate) waiters: Vec<(u32, u64)>,
    /// The last holder: thread and, if known, CPU.
    pub(crate) last: Option<(u32, Option<u32>)>,
}

/// A barrier's book.
#[derive(Default)]
pub(crate) struct BarrierBook {
    attribute: Option<u32>,
    present: u32,
    most: u32,
}

impl BarrierBook {
    pub(crate) fn arrive(&mut self) {
        self.present += 1;
        self.most = self.most.max(self.present);
    }

    pub(crate) fn leave(&mut self) {
        self.present = self.present.saturating_sub(1);
    }

    /// As it was initialised; else as many as were ever there at once.
    pub(crate) fn participants(&self) -> u32 {
        self.attribute.unwrap_or(self.most).max(1)
    }
}

/// All objects.
#[derive(Default)]
pub(crate) struct Objects {
    lock_at: BTreeMap<Located, u32>,
    rw_at: BTreeMap<Located, u32>,
    semaphore_at: BTreeMap<Located, u32>,
    barrier_at: BTreeMap<Located, u32>,
    /// Counts that came with initialisations, before anything else was known of the object.
    attributes: BTreeMap<Located, u32>,
    pub(crate) locks: Vec<LockBook>,
    pub(crate) rwlocks: u32,
    /// What each semaphore was initialised with, if that was seen.
    pub(crate) semaphores: Vec<Option<u32>>,
    pub(crate) barriers: Vec<BarrierBook>,
}

impl Objects {
    pub(crate) fn lock(&mut self, place: Located, kind: LockKind) -> u32 {
        *self.lock_at.entry(place).or_insert_with(|| {
            let spins = kind == LockKind::Spin;
            self.locks.push(LockBook { address: place.1, spins, ..LockBook::default() });
            self.locks.len() as u32 - 1
        })
    }

    pub(crate) fn rwlock(&mut self, place: Located) -> u32 {
        *self.rw_at.entry(place).or_insert_with(|| {
            self.rwlocks += 1;
            self.rwlocks - 1
        })
    }

    pub(crate) fn semaphore(&mut self, place: Located) -> u32 {
        *self.semaphore_at.entry(place).or_insert_with(|| {
            self.semaphores.push(self.attributes.get(&place).copied());
            self.semaphores.len() as u32 - 1
        })
    }

    pub(crate) fn barrier(&mut self, place: Located) -> u32 {
        *self.barrier_at.entry(place).or_insert_with(|| {
            let attribute = self.attributes.get(&place).copied();
            self.barriers.push(BarrierBook { attribute, ..BarrierBook::default() });
            self.barriers.len() as u32 - 1
        })
    }

    /// What a semaphore was initialised with, if that was seen.
    pub(crate) fn initial(&self, semaphore: u32) -> Option<u32> {
        self.semaphores[semaphore as usize]
    }

    /// The count of a barrier or semaphore that has just been initialised.
    pub(crate) fn attribute(&mut self, place: Located, value: u32) {
        self.attributes.insert(place, value);
    }

    /// The address starts a new life.
    pub(crate) fn forget(&mut self, place: Located) {
        self.lock_at.remove(&place);
        self.rw_at.remove(&place);
        self.semaphore_at.remove(&place);
        self.barrier_at.remove(&place);
        self.attributes.remove(&place);
    }
}
