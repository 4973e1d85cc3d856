//! A mapped segment: finding its header from any address inside it, filling a slot, sealing it.
//!
//! Segments are aligned to [`SPAN`] in memory, so masking an address inside one gives its header. A
//! thread's whole state therefore fits one word, the cursor, which a signal handler cannot see
//! half-changed.

use crate::layout::{BACK, DROP, GRAIN, SEGMENT_HEADER_BYTES, SPAN, SegmentHeader, segment};
use crate::record::{RECORD_BYTES, Raw};
use crate::sys::{self, Errno};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};

/// Address of a mapped segment's first byte.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment(usize);

/// Address of a claimed slot of 16 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Slot(pub(crate) usize);

impl Segment {
    /// Maps `header.bytes` of the file at `offset` and writes the header.
    pub(crate) fn map(fd: i32, offset: u64, header: SegmentHeader) -> Result<Segment, Errno> {
        let len = header.bytes as usize;
        let reserved = sys::map_nothing(SPAN + len)?;
        let at = reserved.next_multiple_of(SPAN);
        // SAFETY: the range [at, at + len) lies inside the address space reserved above, which
        // nothing else knows.
        let mapped = unsafe { sys::map_file(fd, offset, len, Some(at)) };
        let keep = if mapped.is_ok() { len } else { 0 };
        // SAFETY: the rest of the reservation, before and after the mapping, is unused.
        unsafe {
            sys::unmap(reserved, at - reserved);
            sys::unmap(at + keep, reserved + SPAN + len - (at + keep));
        }
        mapped?;
        let bytes = header.to_bytes();
        // SAFETY: `at` is the start of a writable mapping of at least a page that no other code
        // knows yet.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        touch(at, len);
        Ok(Segment(at))
    }

    /// Returns the segment that contains the byte before `cursor`.
    #[inline(always)]
    pub(crate) fn before(cursor: usize) -> Segment {
        Segment((cursor - 1) & !(SPAN - 1))
    }

    pub(crate) fn from_start(start: usize) -> Segment {
        Segment(start)
    }

    pub(crate) fn start(self) -> usize {
        self.0
    }

    pub(crate) fn first_slot(self) -> usize {
        self.0 + SEGMENT_HEADER_BYTES
    }

    pub(crate) fn end(self) -> usize {
        self.0 + self.word32(segment::BYTES).load(Ordering::Relaxed) as usize
    }

    /// Returns the slot from which on the next segment is created in advance: at three quarters.
    pub(crate) fn nearly_full(self) -> usize {
        self.0 + (self.end() - self.0) / 4 * 3
    }

    #[inline(always)]
    fn word32(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: a `Segment` comes only from a live mapping; the header's fields are aligned, and
        // only this thread and its signal handlers access them, with atomics.
        unsafe { &*((self.0 + offset) as *const AtomicU32) }
    }

    #[inline(always)]
    fn word64(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the field is an aligned part of a live mapping, as in `word32`.
        unsafe { &*((self.0 + offset) as *const AtomicU64) }
    }

    #[inline(always)]
    pub(crate) fn base(self) -> u64 {
        self.word64(segment::BASE).load(Ordering::Relaxed)
    }

    /// Counts an event that found no room.
    pub(crate) fn count_dropped(self) {
        let dropped = self.word64(segment::DROPPED);
        // Only this thread writes the counter. A signal handler between the load and the store
        // makes it lose one count, which does not justify a locked instruction for every dropped
        // event.
        dropped.store(dropped.load(Ordering::Relaxed).wrapping_add(DROP), Ordering::Relaxed);
    }

    pub(crate) fn is_sealed(self) -> bool {
        self.word32(segment::SEALED).load(Ordering::Relaxed) != 0
    }

    /// Whether every slot before `cursor` has been filled.
    pub(crate) fn is_filled_to(self, cursor: usize) -> bool {
        (self.first_slot()..cursor).step_by(RECORD_BYTES).all(|at| Slot(at).is_filled())
    }

    /// Writes length and checksum, if every slot before `cursor` has been filled. Returns whether
    /// it did.
    ///
    /// An unfilled slot belongs to a stack frame that this call interrupted and that still holds
    /// its address: the segment then stays unsealed, and must stay mapped.
    pub(crate) fn seal(self, cursor: usize) -> bool {
        if !self.is_filled_to(cursor) {
            return false;
        }
        let first = self.first_slot();
        // SAFETY: the bytes lie in the live mapping, and all writers of slots before `cursor` are
        // done.
        let records = unsafe { core::slice::from_raw_parts(first as *const u8, cursor - first) };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(records);
        self.word32(segment::DATA_CRC).store(hasher.finalize(), Ordering::Relaxed);
        // Stores the length last: a segment with a length has its checksum.
        self.word32(segment::SEALED).store((cursor - self.0) as u32, Ordering::Release);
        true
    }

    /// # Safety
    /// All claimed slots of the segment are filled, and the caller does not use the segment again.
    pub(crate) unsafe fn unmap(self) {
        let len = self.end() - self.0;
        // SAFETY: guaranteed by the caller.
        unsafe { sys::unmap(self.0, len) };
    }
}

/// Writes to each page of a fresh mapping of zeros, so that page faults happen now, in the stamped
/// pause of the thread, and not between an acquisition and its release.
fn touch(at: usize, len: usize) {
    for page in (at + GRAIN..at + len).step_by(GRAIN) {
        // SAFETY: the word lies in a writable mapping that no other code knows yet, aligned to a
        // page. It already holds zero.
        unsafe { &*(page as *const AtomicU64) }.store(0, Ordering::Relaxed);
    }
}

impl Slot {
    /// Returns the slot `records` places after this one, in a claim of several.
    pub(crate) fn plus(self, records: usize) -> Slot {
        Slot(self.0 + records * RECORD_BYTES)
    }

    fn is_filled(self) -> bool {
        // SAFETY: a slot lies in a live mapping, aligned to 16 bytes.
        let word = unsafe { &*(self.0 as *const AtomicU64) };
        word.load(Ordering::Relaxed) & 0xff != 0
    }

    /// Returns the time of `ticks` relative to this slot's segment; more than 48 bits if it does
    /// not fit.
    #[inline(always)]
    pub(crate) fn time_of(self, ticks: u64) -> u64 {
        ticks.wrapping_sub(Segment::before(self.0 + 1).base()).wrapping_add(BACK)
    }

    /// Stores the record, the kind byte last.
    #[inline(always)]
    pub(crate) fn fill(self, time: u64, raw: Raw) {
        let words = raw.words(time);
        // SAFETY: the claim gave this slot of a live mapping to this stack frame alone.
        let (first, second) = unsafe { (&*(self.0 as *const AtomicU64), &*((self.0 + 8) as *const AtomicU64)) };
        second.store(words[1], Ordering::Relaxed);
        // The thread can be killed, or interrupted by a signal, between the stores; in its own
        // order the kind byte comes last.
        compiler_fence(Ordering::Release);
        first.store(words[0], Ordering::Release);
    }

    /// Stores 15 bytes of a definition's payload.
    pub(crate) fn fill_bytes(self, code: u8, payload: &[u8]) {
        let mut bytes = [0u8; RECORD_BYTES];
        bytes[0] = code;
        bytes[1..=payload.len()].copy_from_slice(payload);
        let word = |i: usize| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|j| bytes[i * 8 + j]));
        // SAFETY: the claim gave this slot of a live mapping to this stack frame alone.
        let (first, second) = unsafe { (&*(self.0 as *const AtomicU64), &*((self.0 + 8) as *const AtomicU64)) };
        second.store(word(1), Ordering::Relaxed);
        compiler_fence(Ordering::Release);
        first.store(word(0), Ordering::Release);
    }
}
