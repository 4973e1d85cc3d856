//! Identifies the object that an event concerns. An address alone does not identify it, because
//! memory is reused and each process has its own addresses.

use crate::clock::Ticks;
use crate::event::{Address, Event, Lock, LockKind, SiteId, Waitable, What};
use crate::process::ProcessIndex;
use crate::stream::home;
use crate::trace::Trace;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Number of an object in an analysis, counted from 0 in the order of first appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// Returns the number as an index into a table of objects.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kinds of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// A lock of this kind.
    Lock(LockKind),
    /// A condition variable, barrier, semaphore, futex, queue, or lock of the C library.
    Waitable(Waitable),
}

/// One life of one object, from its initialisation or first use to its destruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The process that the object belongs to; the first one for a stream ([`crate::Stream`]), which
    /// processes share.
    pub process: ProcessIndex,
    /// The object's address.
    pub address: Address,
    /// The object's kind.
    pub kind: ObjectKind,
    /// The name that the program gave the object, if any.
    pub name: Option<String>,
    /// The call site that initialised the object; `None` for a static initialiser, or memory that
    /// was zero.
    pub init_site: Option<SiteId>,
    /// The call site that first took the lock, or waited for it; `None` if the object is no lock,
    /// or no call site did either.
    pub first_site: Option<SiteId>,
    /// Time of the object's initialisation or first use.
    pub born: Ticks,
    /// When the object file that contains the object was loaded; 0 for objects on the heap or a
    /// stack.
    pub loaded: Ticks,
}

/// All objects seen so far, and which object is alive at which address.
pub(crate) struct Objects<'a> {
    trace: &'a Trace,
    pub(crate) all: Vec<Object>,
    living: HashMap<(ProcessIndex, Address), ObjectId, BuildHasherDefault<AddressHasher>>,
    /// The object looked up last: events of one lock often follow one another.
    latest: Option<((ProcessIndex, Address), ObjectId)>,
}

impl<'a> Objects<'a> {
    pub(crate) fn new(trace: &'a Trace) -> Objects<'a> {
        Objects { trace, all: Vec::new(), living: HashMap::default(), latest: None }
    }

    /// Returns the object that an event acts on. Also follows the beginnings and ends of objects'
    /// lives; for an event that begins or ends a life, returns `None`.
    #[inline]
    pub(crate) fn follow(&mut self, event: &Event, process: ProcessIndex) -> Option<ObjectId> {
        let lock_kind = |lock: Lock| ObjectKind::Lock(lock.kind);
        let (address, kind) = match event.what {
            What::Acquire { lock, .. }
            | What::Request { lock, .. }
            | What::Acquired { lock, .. }
            | What::TryFail { lock, .. }
            | What::Timeout { lock, .. }
            | What::Release { lock, .. } => (lock.address, lock_kind(lock)),
            What::CondWait { condition: a, .. }
            | What::CondWake { condition: a, .. }
            | What::CondSignal { condition: a, .. }
            | What::CondBroadcast { condition: a, .. } => (a, ObjectKind::Waitable(Waitable::Condition)),
            What::BarrierArrive { barrier: a, .. }
            | What::BarrierLeave { barrier: a, .. }
            | What::Construct { barrier: a, .. } => (a, ObjectKind::Waitable(Waitable::Barrier)),
            What::SemTake { semaphore: a, .. }
            | What::SemWait { semaphore: a, .. }
            | What::SemTaken { semaphore: a, .. }
            | What::SemTimeout { semaphore: a }
            | What::SemTryFail { semaphore: a, .. }
            | What::SemPost { semaphore: a, .. } => (a, ObjectKind::Waitable(Waitable::Semaphore)),
            What::FutexWait { futex: a, .. }
            | What::FutexWaitEnd { futex: a, .. }
            | What::FutexWake { futex: a, .. }
            | What::FutexWoke { futex: a, .. } => (a, ObjectKind::Waitable(Waitable::Futex)),
            What::LibcWait { lock: a, .. } | What::LibcTaken { lock: a } | What::LibcWake { lock: a, .. } => {
                (a, ObjectKind::Waitable(Waitable::LibcLock))
            }
            What::LockInit { lock, site } => {
                self.add((process, lock.address), lock_kind(lock), Some(site), event.time);
                return None;
            }
            What::Init { sort, address, site } => {
                self.add((process, address), ObjectKind::Waitable(sort), Some(site), event.time);
                return None;
            }
            What::LockDestroy { lock: Lock { address, .. } } | What::Destroy { address, .. } => {
                self.living.remove(&(process, address));
                self.latest = None;
                return None;
            }
            What::Unloaded { start, pages } => {
                let place = start..start.saturating_add(u64::from(pages) << 12);
                self.living.retain(|(of, address), _| *of != process || !place.contains(address));
                self.latest = None;
                return None;
            }
            what => (what.queue()?, ObjectKind::Waitable(Waitable::Queue)),
        };
        let process = if kind == ObjectKind::Waitable(Waitable::Queue) { home(process, address) } else { process };
        let id = self.at((process, address), kind, event.time);
        if let What::Acquire { site, .. } | What::Request { site, .. } = event.what {
            let object = &mut self.all[id.index()];
            object.first_site = object.first_site.or(Some(site));
        }
        Some(id)
    }

    /// Returns the object at an address. If none lives there, or one of another kind, a new object
    /// begins its life.
    #[inline]
    fn at(&mut self, key: (ProcessIndex, Address), kind: ObjectKind, now: Ticks) -> ObjectId {
        let known = match self.latest {
            Some((latest, id)) if latest == key => Some(id),
            _ => self.living.get(&key).copied(),
        };
        // A statically initialised object leaves no event behind when its memory becomes another
        // object.
        let id = known.filter(|id| self.all[id.index()].kind == kind).unwrap_or_else(|| self.add(key, kind, None, now));
        self.latest = Some((key, id));
        id
    }

    /// Returns the object that lives at an address.
    pub(crate) fn living(&self, process: ProcessIndex, address: Address) -> Option<ObjectId> {
        self.living.get(&(process, address)).copied()
    }

    fn add(
        &mut self,
        key: (ProcessIndex, Address),
        kind: ObjectKind,
        init_site: Option<SiteId>,
        now: Ticks,
    ) -> ObjectId {
        let id = ObjectId(self.all.len() as u32);
        let (process, address) = key;
        let name = self.trace.object_names.get(&key).cloned();
        let loaded = self.trace.module(process, address, now).map_or(Ticks(0), |module| module.life.0);
        self.all.push(Object { process, address, kind, name, init_site, first_site: None, born: now, loaded });
        self.living.insert(key, id);
        self.latest = None;
        id
    }
}

/// Hashes an address by multiplying and folding. That spreads addresses well enough, and the same
/// run always gives the same table.
#[derive(Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
