//! The store buffer of a hardware thread: stores in program order, oldest first, with requests to
//! devices among them.
//!
//! A request keeps its entry from its issue until its answer arrives; a posted request, until it
//! leaves. A request leaves for its device when all older stores have been written; older pushes
//! need not be. Requests leave in order, and several can be under way at once.

use baton_memory::{Access, Line};
use baton_units::CoreId;
use std::collections::VecDeque;

/// Writes a value, given by its bits, to guest memory.
///
/// # Safety
/// The address must be that of a live cell of the type that the function was made for.
pub(crate) type Write = unsafe fn(*mut u8, u64);

/// A store that has not been written yet.
#[derive(Clone, Copy)]
pub(crate) struct Store {
    /// The offset in guest memory.
    pub(crate) offset: usize,
    /// The number of bytes; 0 for a push, and for a store that only causes traffic, because its
    /// data is written already.
    pub(crate) bytes: usize,
    /// The value, in the low bytes.
    pub(crate) value: u64,
    /// The function that writes the value; `None` once the memory has been freed, or for traffic
    /// only.
    pub(crate) write: Option<Write>,
    pub(crate) line: Line,
    /// The access to the line: a store, or, for a push that follows stores, giving the line up.
    pub(crate) access: Access,
    /// The core whose buffer holds the store. The thread may have moved to another core since.
    pub(crate) core: CoreId,
}

/// What a load finds in the store buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forward {
    /// No store to the loaded bytes; memory has the value.
    Nothing,
    /// The newest store to the bytes covers them all.
    Value(u64),
    /// The newest store covers only some of the bytes; the load waits until that store has been
    /// written.
    Blocked,
}

/// A request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asking {
    /// The packet of the request.
    pub(crate) packet: u32,
    /// Whether the request has left for its device.
    pub(crate) sent: bool,
    /// Whether the request is posted: no thread waits for its answer, its entry is free when it has
    /// left, and younger stores do not wait for it.
    posted: bool,
    /// How many stores the thread had put into the buffer before the request, including written
    /// ones.
    behind: u64,
}

#[derive(Default)]
pub(crate) struct StoreBuffer {
    stores: VecDeque<Store>,
    /// The number of stores that have left the buffer.
    gone: u64,
    requests: VecDeque<Asking>,
    /// The number of entries in use, for stores and requests.
    entries: usize,
}

impl StoreBuffer {
    /// The number of entries in use.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    /// The number of stores in the buffer.
    #[inline(always)]
    pub(crate) fn stores(&self) -> usize {
        self.stores.len()
    }

    /// The number of requests in the buffer: those without an answer, and posted ones that have not
    /// left.
    #[inline(always)]
    pub(crate) fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Adds a request behind all stores in the buffer.
    pub(crate) fn ask(&mut self, packet: u32, posted: bool) {
        let behind = self.gone + self.stores.len() as u64;
        self.entries += 1;
        self.requests.push_back(Asking { packet, sent: false, posted, behind });
    }

    /// Marks the oldest unsent request as sent. Returns whether its entry is free at once, because
    /// it is posted.
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

    /// The oldest unsent request, if all older stores have been written.
    #[inline]
    pub(crate) fn next_request(&self) -> Option<&Asking> {
        let next = self.requests.iter().find(|request| !request.sent)?;
        let older = (next.behind.saturating_sub(self.gone) as usize).min(self.stores.len());
        let pushes = |store: &Store| matches!(store.access, Access::Push { .. });
        self.stores.range(..older).all(pushes).then_some(next)
    }

    /// The requests, oldest first.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &Asking> {
        self.requests.iter()
    }

    /// The number of requests that have left for their devices.
    pub(crate) fn under_way(&self) -> usize {
        self.requests.iter().filter(|request| request.sent).count()
    }

    /// Frees the entry of the request with this packet, because its answer is here. Returns whether
    /// there was such a request.
    pub(crate) fn answered(&mut self, packet: u32) -> bool {
        let place = self.requests.iter().position(|request| request.packet == packet);
        let removed = place.and_then(|place| self.requests.remove(place)).is_some();
        self.entries -= usize::from(removed);
        removed
    }

    /// Marks the request with this packet as unsent again, because it was called back.
    pub(crate) fn returned(&mut self, packet: u32) {
        self.requests.iter_mut().filter(|request| request.packet == packet).for_each(|request| request.sent = false);
    }

    /// Drops all requests; they proceed without the thread.
    pub(crate) fn forget_requests(&mut self) {
        self.entries = self.stores.len();
        self.requests.clear();
    }

    /// Whether a request that is not posted is older than all stores in the buffer.
    #[inline(always)]
    pub(crate) fn begins_with_request(&self) -> bool {
        self.requests.iter().find(|request| !request.posted).is_some_and(|request| request.behind <= self.gone)
    }

    /// The packet of the oldest entry, if that entry is a request.
    pub(crate) fn oldest_request(&self) -> Option<u32> {
        let request = self.requests.front()?;
        (request.behind <= self.gone || self.stores.is_empty()).then_some(request.packet)
    }

    pub(crate) fn push(&mut self, store: Store) {
        self.entries += 1;
        self.stores.push_back(store);
    }

    /// The oldest store, which leaves next.
    pub(crate) fn head(&self) -> Option<&Store> {
        self.stores.front()
    }

    pub(crate) fn pop(&mut self) -> Option<Store> {
        let store = self.stores.pop_front()?;
        (self.gone, self.entries) = (self.gone + 1, self.entries - 1);
        Some(store)
    }

    /// The store at index `place`, counted from the oldest; `None` if its line is also that of the
    /// store before it, if no store is before it, or if it is no plain store but a push.
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
                // Host and guest are both little-endian.
                let value = store.value >> (8 * (offset - store.offset));
                Forward::Value(if bytes == 8 { value } else { value & ((1 << (8 * bytes)) - 1) })
            }
            Some(_) => Forward::Blocked,
        }
    }

    /// Whether a store to the line is in the buffer.
    pub(crate) fn has_line(&self, line: Line) -> bool {
        self.stores.iter().any(|store| store.line == line)
    }

    /// The memory has been freed: stores to it keep their timing and lose their value.
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
        /// Compares the buffer with an array of bytes that knows the age of each byte's last store.
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
                // The load may cover bytes of an older store, or bytes of no store.
                Forward::Blocked => prop_assert!(newest.is_some()),
            }
            buffer.forget(0, 16);
            prop_assert_eq!(buffer.forward(offset, size), Forward::Nothing);
        }
    }
}
