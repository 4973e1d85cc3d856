//! A mapped segment: finding its header from any address inside it, filling a slot, sealing it.
//!
//! Segments are aligned to [`SPAN`] in memory, so masking any address inside a segment gives the
//! address of the segment's header. A thread's whole state therefore fits into one word, the
//! cursor, which a signal handler cannot see half-changed.

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
    /// Maps `header.bytes` bytes of the file at `offset` into memory, and writes the header there.
    pub(crate) fn map(fd: i32, offset: u64, header: SegmentHeader) -> Result<Segment, Errno> {
        let len = header.bytes as usize;
        let reserved = sys::map_nothing(SPAN + len)?;
        let at = reserved.next_multiple_of(SPAN);
        // SAFETY: the range [at, at + len) lies inside the address space reserved above, which no
        // other code knows.
        let mapped = unsafe { sys::map_file(fd, offset, len, Some(at)) };
        let keep = if mapped.is_ok() { len } else { 0 };
        // SAFETY: nothing uses the rest of the reserved address space, before and after the
        // mapping.
        unsafe {
            sys::unmap(reserved, at - reserved);
            sys::unmap(at + keep, reserved + SPAN + len - (at + keep));
        }
        mapped?;
        let bytes = header.to_bytes();
        // SAFETY: `at` is the start of a writable mapping of at least a page, longer than `bytes`,
        // that no other code knows yet.
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

    /// Returns the slot at three quarters of the segment. When the cursor has passed it, the next
    /// segment is created in advance.
    pub(crate) fn nearly_full(self) -> usize {
        self.0 + (self.end() - self.0) / 4 * 3
    }

    #[inline(always)]
    fn word32(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: a `Segment` is only made of a live mapping; the header's field at `offset` is
        // aligned, and only this thread and its signal handlers access it, as an atomic.
        unsafe { &*((self.0 + offset) as *const AtomicU32) }
    }

    #[inline(always)]
    fn word64(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the field at `offset` is an aligned part of a live mapping, as in `word32`.
        unsafe { &*((self.0 + offset) as *const AtomicU64) }
    }

    #[inline(always)]
    pub(crate) fn base(self) -> u64 {
        self.word64(segment::BASE).load(Ordering::Relaxed)
    }

    /// Counts an event that found no room.
    pub(crate) fn count_dropped(self) {
        let dropped = self.word64(segment::DROPPED);
        // Only this thread writes the counter. A signal handler that runs between the load and the
        // store can make the counter lose one event, which does not justify a locked instruction
        // for each event that is dropped.
        dropped.store(dropped.load(Ordering::Relaxed).wrapping_add(DROP), Ordering::Relaxed);
    }

    pub(crate) fn is_sealed(self) -> bool {
        self.word32(segment::SEALED).load(Ordering::Relaxed) != 0
    }

    /// Whether every slot before `cursor` has been filled.
    pub(crate) fn is_filled_to(self, cursor: usize) -> bool {
        (self.first_slot()..cursor).step_by(RECORD_BYTES).all(|at| Slot(at).is_filled())
    }

    /// Writes the segment's length and checksum, if every slot before `cursor` has been filled.
    /// Returns whether it did so.
    ///
    /// An unfilled slot belongs to code that this call interrupted, and that still holds the slot's
    /// address: the segment then stays unsealed, and must stay mapped.
    pub(crate) fn seal(self, cursor: usize) -> bool {
        if !self.is_filled_to(cursor) {
            return false;
        }
        let first = self.first_slot();
        // SAFETY: the bytes lie in the segment's live mapping, and all code that writes to slots
        // before `cursor` is done.
        let records = unsafe { core::slice::from_raw_parts(first as *const u8, cursor - first) };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(records);
        self.word32(segment::DATA_CRC).store(hasher.finalize(), Ordering::Relaxed);
        // Stores the length last: a segment that has a length also has its checksum.
        self.word32(segment::SEALED).store((cursor - self.0) as u32, Ordering::Release);
        true
    }

    /// # Safety
    /// All claimed slots of the segment are filled, and the caller does not use the segment again.
    pub(crate) unsafe fn unmap(self) {
        let len = self.end() - self.0;
        // SAFETY: the caller guarantees that nothing refers to the segment any more.
        unsafe { sys::unmap(self.0, len) };
    }
}

/// Writes to each page of a fresh mapping of zeros. So page faults happen now, in the pause that
/// the thread records, and not between an acquisition and its release.
fn touch(at: usize, len: usize) {
    for page in (at + GRAIN..at + len).step_by(GRAIN) {
        // SAFETY: the word lies in a writable mapping that no other code knows yet, and is aligned
        // to a page. It holds zero already.
        unsafe { &*(page as *const AtomicU64) }.store(0, Ordering::Relaxed);
    }
}

impl Slot {
    /// Returns the slot `records` places after this one; both belong to one claim.
    pub(crate) fn plus(self, records: usize) -> Slot {
        Slot(self.0 + records * RECORD_BYTES)
    }

    fn is_filled(self) -> bool {
        // SAFETY: the slot lies in a live mapping, and is aligned to 16 bytes.
        let word = unsafe { &*(self.0 as *const AtomicU64) };
        word.load(Ordering::Relaxed) & 0xff != 0
    }

    /// Returns the time `ticks` as a record in this slot holds it: relative to the segment's base;
    /// more than 48 bits if it does not fit.
    #[inline(always)]
    pub(crate) fn time_of(self, ticks: u64) -> u64 {
        ticks.wrapping_sub(Segment::before(self.0 + 1).base()).wrapping_add(BACK)
    }

    /// Stores a record in the slot, its kind byte last.
    #[inline(always)]
    pub(crate) fn fill(self, time: u64, raw: Raw) {
        let words = raw.words(time);
        // SAFETY: the slot lies in a live mapping, and was claimed for this call alone.
        let (first, second) = unsafe { (&*(self.0 as *const AtomicU64), &*((self.0 + 8) as *const AtomicU64)) };
        second.store(words[1], Ordering::Relaxed);
        // The thread can be killed, or interrupted by a signal, between the two stores; in the
        // thread's own order the word with the kind byte comes last.
        compiler_fence(Ordering::Release);
        first.store(words[0], Ordering::Release);
    }

    /// Stores a record with up to 15 bytes of a definition's payload in the slot.
    pub(crate) fn fill_bytes(self, code: u8, payload: &[u8]) {
        let mut bytes = [0u8; RECORD_BYTES];
        bytes[0] = code;
        bytes[1..=payload.len()].copy_from_slice(payload);
        let word = |i: usize| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|j| bytes[i * 8 + j]));
        // SAFETY: the slot lies in a live mapping, and was claimed for this call alone.
        let (first, second) = unsafe { (&*(self.0 as *const AtomicU64), &*((self.0 + 8) as *const AtomicU64)) };
        second.store(word(1), Ordering::Relaxed);
        compiler_fence(Ordering::Release);
        first.store(word(0), Ordering::Release);
    }
}
