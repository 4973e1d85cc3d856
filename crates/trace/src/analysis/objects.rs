//! Which object an event speaks of. An address is not enough: memory is used again, and each process has its own.

use crate::clock::Ticks;
use crate::event::{Address, LockKind, SiteId, Waitable};
use crate::trace::{ProcessIndex, Trace};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Number of an object in an analysis: dense, in the order of first appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// For use as an index into a table of objects.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// A lock.
    Lock(LockKind),
    /// A condition variable, barrier or semaphore.
    Waitable(Waitable),
}

/// One life of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its process.
    pub process: ProcessIndex,
    /// Where it lies.
    pub address: Address,
    /// What it is.
    pub kind: ObjectKind,
    /// The name that the program gave it.
    pub name: Option<String>,
    /// Who initialised it; `None` for a static initialiser, or memory that was zero.
    pub init_site: Option<SiteId>,
    /// Its first event.
    pub born: Ticks,
}

/// All objects that have been seen, and which of them lives at which address.
pub(crate) struct Objects<'a> {
    trace: &'a Trace,
    pub(crate) all: Vec<Object>,
    living: HashMap<(ProcessIndex, Address), ObjectId, BuildHasherDefault<AddressHasher>>,
    /// The last one asked for: events of one lock come in groups.
    latest: Option<((ProcessIndex, Address), ObjectId)>,
}

impl<'a> Objects<'a> {
    pub(crate) fn new(trace: &'a Trace) -> Objects<'a> {
        Objects { trace, all: Vec::new(), living: HashMap::default(), latest: None }
    }

    /// The object at an address, which begins to live now if none does. True: it does.
    #[inline]
    pub(crate) fn at(
        &mut self,
        process: ProcessIndex,
        address: Address,
        kind: ObjectKind,
        now: Ticks,
    ) -> (ObjectId, bool) {
        let key = (process, address);
        if let Some((latest, id)) = self.latest
            && latest == key
        {
            return (id, false);
        }
        let (id, new) = match self.living.get(&key) {
            Some(id) => (*id, false),
            None => (self.add(key, kind, None, now), true),
        };
        self.latest = Some((key, id));
        (id, new)
    }

    /// An initialisation: whatever lived there is gone.
    pub(crate) fn init(
        &mut self,
        process: ProcessIndex,
        address: Address,
        kind: ObjectKind,
        site: SiteId,
        now: Ticks,
    ) -> ObjectId {
        self.add((process, address), kind, Some(site), now)
    }

    /// The end of a life.
    pub(crate) fn destroy(&mut self, process: ProcessIndex, address: Address) {
        self.living.remove(&(process, address));
        self.latest = None;
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
        self.all.push(Object { process, address, kind, name, init_site, born: now });
        self.living.insert(key, id);
        self.latest = None;
        id
    }
}

/// Multiplies and folds: addresses need no more, and the same run gives the same table every time.
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
