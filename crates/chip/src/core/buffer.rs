//! A hardware thread's store buffer: stores in program order, oldest first, and requests to devices among them.
//!
//! A request keeps its entry from its issue until its answer is here. It leaves for its device when all older stores are
//! written; older pushes need not be. Requests leave in their order, and several are under way at once.

use baton_memory::{Access, Line};
use baton_units::CoreId;
use std::collections::VecDeque;

/// Writes a value, given by its bits, to guest memory.
///
/// # Safety
/// The address is that of a live cell of the type that the function was made for.
pub(crate) type Write = unsafe fn(*mut u8, u64);

/// A store on its way.
#[derive(Clone, Copy)]
pub(crate) struct Store {
    /// Where in guest memory.
    pub(crate) offset: usize,
    /// How many bytes; 0 for a store that stands for the traffic only: its data is written already.
    pub(crate) bytes: usize,
    /// The value, in its low bytes.
    pub(crate) value: u64,
    /// How it is written; `None` once the memory is gone, or for traffic only.
    pub(crate) write: Option<Write>,
    pub(crate) line: Line,
    /// What it wants of its line: to store, or, as a push that came behind stores, to give it up.
    pub(crate) access: Access,
    /// The core whose buffer it is in: the thread may have moved on.
    pub(crate) core: CoreId,
}

/// What a load finds in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forward {
    /// Nothing of the sort: memory has the value.
    Nothing,
    /// The newest store to it has all of its bytes.
    Value(u64),
    /// The newest store to it has only some: the load waits until that has left.
    Blocked,
}

/// A request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asking {
    /// Its packet.
    pub(crate) packet: u32,
    /// It has left for its device.
    pub(crate) sent: bool,
    /// No thread waits for its answer: its entry is free when it has left, and younger stores do not wait for it.
    posted: bool,
    /// Stores that the thread had put into the buffer before it, written ones included.
    behind: u64,
}

/// The buffer.
#[derive(Default)]
pub(crate) struct StoreBuffer {
    stores: VecDeque<Store>,
    /// Stores that have left.
    gone: u64,
    requests: VecDeque<Asking>,
    /// Entries that are taken: stores and requests.
    entries: usize,
}

impl StoreBuffer {
    /// Entries that are taken.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    /// Stores in it.
    #[inline(always)]
    pub(crate) fn stores(&self) -> usize {
        self.stores.len()
    }

    /// Requests that are not answered.
    #[inline(always)]
    pub(crate) fn requests(&self) -> usize {
        self.requests.len()
    }

    /// A request enters behind all stores that are here.
    pub(crate) fn ask(&mut self, packet: u32, posted: bool) {
        let behind = self.gone + self.stores.len() as u64;
        self.entries += 1;
        self.requests.push_back(Asking { packet, sent: false, posted, behind });
    }

    /// The oldest request that had not left does so. Whether its entry is free, as it was posted.
    pub(crate) fn sent(&mut self) -> bool {
        let Some(at) = self.requests.iter().position(|request| !request.sent) else { return false };
        let next = &mut self.requests[at];
        next.sent = true;
        let posted = next.posted;
        if posted {
            self.requests.remove(at);
            self.entries -= 1;
        }
        posted
    }

    /// The oldest request that has not left for its device, if all older stores are written.
    #[inline]
    pub(crate) fn next_request(&self) -> Option<&Asking> {
        let next = self.requests.iter().find(|request| !request.sent)?;
        let older = (next.behind.saturating_sub(self.gone) as usize).min(self.stores.len());
        let pushes = |store: &Store| matches!(store.access, Access::Push { .. });
        self.stores.range(..older).all(pushes).then_some(next)
    }

    /// Requests, the oldest first.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &Asking> {
        self.requests.iter()
    }

    /// Requests that have left for their devices.
    pub(crate) fn under_way(&self) -> usize {
        self.requests.iter().filter(|request| request.sent).count()
    }

    /// The packet's request is answered: its entry is free. Whether it had one.
    pub(crate) fn answered(&mut self, packet: u32) -> bool {
        let place = self.requests.iter().position(|request| request.packet == packet);
        let removed = place.and_then(|place| self.requests.remove(place)).is_some();
        self.entries -= usize::from(removed);
        removed
    }

    /// The packet's request was called back: it is to leave again.
    pub(crate) fn returned(&mut self, packet: u32) {
        self.requests.iter_mut().filter(|request| request.packet == packet).for_each(|request| request.sent = false);
    }

    /// All requests go on without their thread.
    pub(crate) fn forget_requests(&mut self) {
        self.entries = self.stores.len();
        self.requests.clear();
    }

    /// A request stands before all stores.
    #[inline(always)]
    pub(crate) fn begins_with_request(&self) -> bool {
        self.requests.iter().find(|request| !request.posted).is_some_and(|request| request.behind <= self.gone)
    }

    /// The packet of the oldest entry, if that is a request.
    pub(crate) fn oldest_request(&self) -> Option<u32> {
        let request = self.requests.front()?;
        (request.behind <= self.gone || self.stores.is_empty()).then_some(request.packet)
    }

    pub(crate) fn push(&mut self, store: Store) {
        self.entries += 1;
        self.stores.push_back(store);
    }

    /// The oldest store: the next to leave.
    pub(crate) fn head(&self) -> Option<&Store> {
        self.stores.front()
    }

    pub(crate) fn pop(&mut self) -> Option<Store> {
        let store = self.stores.pop_front()?;
        (self.gone, self.entries) = (self.gone + 1, self.entries - 1);
        Some(store)
    }

    /// The store at this place behind the oldest, if its line is not also that of the store before it.
    pub(crate) fn behind(&self, place: usize) -> Option<&Store> {
        let store = self.stores.get(place)?;
        let before = self.stores.get(place.checked_sub(1)?)?;
        (before.line != store.line && store.access == Access::Store).then_some(store)
    }

    /// What a load of `bytes` bytes at `offset` finds.
    #[inline]
    pub(crate) fn forward(&self, offset: usize, bytes: usize) -> Forward {
        let newest = self.stores.iter().rev().find(|store| {
            store.write.is_some() && store.offset < offset + bytes && offset < store.offset + store.bytes
        });
        match newest {
            None => Forward::Nothing,
            Some(store) if store.offset <= offset && offset + bytes <= store.offset + store.bytes => {
                // The host, like the guest, keeps the low byte first.
                let value = store.value >> (8 * (offset - store.offset));
                Forward::Value(if bytes == 8 { value } else { value & ((1 << (8 * bytes)) - 1) })
            }
            Some(_) => Forward::Blocked,
        }
    }

    /// Whether a store to the line is on its way.
    pub(crate) fn has_line(&self, line: Line) -> bool {
        self.stores.iter().any(|store| store.line == line)
    }

    /// The memory is gone: stores to it keep their time and lose their value.
    pub(crate) fn forget(&mut self, offset: usize, bytes: usize) {
        for store in &mut self.stores {
            if store.offset < offset + bytes && offset < store.offset + store.bytes {
                store.write = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn store(offset: usize, bytes: usize, value: u64) -> Store {
        let write: Write = |_, _| {};
        Store {
            offset,
            bytes,
            value,
            write: Some(write),
            line: Line(offset as u32 / 64),
            access: Access::Store,
            core: CoreId(0),
        }
    }

    proptest! {
        #![proptest_config(baton_needs::property!(256))]
        /// Against bytes with the age of their last store.
        #[test]
        fn a_load_finds_its_newest_store(
            stores in prop::collection::vec((0usize..4, 0u32..4, any::<u64>()), 0..12),
            gone in 0usize..5,
            at in 0usize..4,
            size in 0u32..4,
        ) {
            let mut buffer = StoreBuffer::default();
            let mut bytes: [Option<(usize, u8)>; 16] = [None; 16];
            for &(place, size, value) in stores.iter().take(gone) {
                buffer.push(store(place * 4 / (1 << size) * (1 << size), 1 << size, value));
                buffer.pop();
            }
            for (age, &(place, size, value)) in stores.iter().enumerate().skip(gone) {
                let size = 1 << size;
                let offset = place * 4 / size * size;
                let low = if size == 8 { value } else { value & ((1 << (8 * size)) - 1) };
                buffer.push(store(offset, size, low));
                for i in 0..size {
                    bytes[offset + i] = Some((age, value.to_le_bytes()[i]));
                }
            }
            let size = 1 << size;
            let offset = at * 4 / size * size;
            let seen = &bytes[offset..offset + size];
            let newest = seen.iter().flatten().map(|(age, _)| *age).max();
            let value = seen.iter().rev().fold(0, |value, byte| value << 8 | byte.map_or(0, |(_, byte)| u64::from(byte)));
            match buffer.forward(offset, size) {
                Forward::Nothing => prop_assert!(newest.is_none()),
                Forward::Value(found) => prop_assert!(
                    found == value && seen.iter().all(|byte| byte.map(|(age, _)| age) == newest)),
                // Bytes of an older store may be among them, or bytes of none.
                Forward::Blocked => prop_assert!(newest.is_some()),
            }
            buffer.forget(0, 16);
            prop_assert_eq!(buffer.forward(offset, size), Forward::Nothing);
        }
    }
}
