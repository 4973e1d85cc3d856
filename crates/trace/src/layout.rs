//! Offsets of all fields in an events file: the file header and the segment header.
//! `docs/reference/trace-format.md` describes the same layout in prose. All numbers are
//! little-endian.

use crate::clock::{Moment, Source};

/// First bytes of an events file.
pub(crate) const FILE_MAGIC: [u8; 8] = *b"BATONTRC";
/// The first bytes of each segment in an events file.
pub(crate) const SEGMENT_MAGIC: [u8; 8] = *b"BTNSEGMT";
/// Version of the file format. A reader refuses files of a later version. Version 1 had no
/// checksums over the end times and over the stop.
pub const FORMAT_VERSION: u16 = 2;
/// Bytes of the file header; segments begin after it.
pub(crate) const FILE_HEADER_BYTES: usize = 4096;
/// Bytes of a segment's header, the size of four records.
pub(crate) const SEGMENT_HEADER_BYTES: usize = 64;
/// Segments begin and end at multiples of this many bytes, in the file and in memory.
pub(crate) const GRAIN: usize = 4096;
/// Size of the largest segment, and alignment of every segment in memory.
pub(crate) const SPAN: usize = 256 << 10;
/// Thread number of a segment with events about other threads than the writing one (see `OffCpu`,
/// `OnCpu`).
pub(crate) const FOREIGN_THREAD: u32 = u32::MAX;

/// The time of a record counts from this many ticks before its segment's base, so that stamps taken
/// a while before the segment was created fit too.
pub(crate) const BACK: u64 = 1 << 36;

/// Offsets in the file header.
pub(crate) mod file {
    pub(crate) const VERSION: usize = 8;
    pub(crate) const HEADER_BYTES: usize = 12;
    pub(crate) const PID: usize = 16;
    pub(crate) const PARENT: usize = 20;
    pub(crate) const CLOCK: usize = 24;
    pub(crate) const FREQUENCY: usize = 32;
    pub(crate) const START_TICKS: usize = 40;
    pub(crate) const START_MONOTONIC: usize = 48;
    pub(crate) const START_REALTIME: usize = 56;
    pub(crate) const LIMIT: usize = 64;
    /// CRC-32 of all bytes before this field.
    pub(crate) const CRC: usize = 72;
    // The header's checksum does not cover the fields below: they change while the program runs,
    // and have a cache line of their own. Each field that a reader uses has a check of its own.
    pub(crate) const NEXT: usize = 128;
    pub(crate) const THREADS: usize = 136;
    pub(crate) const STOP: usize = 140;
    pub(crate) const STOP_ERROR: usize = 144;
    pub(crate) const FINISHED: usize = 148;
    pub(crate) const DROPPED: usize = 152;
    pub(crate) const END_TICKS: usize = 160;
    pub(crate) const END_MONOTONIC: usize = 168;
    /// Raw ticks from which on events may be missing.
    pub(crate) const STOP_TICKS: usize = 176;
    /// CRC-32 of the two end times.
    pub(crate) const END_CRC: usize = 184;
    /// CRC-32 of the stop's reason, its error number and its time.
    pub(crate) const STOP_CRC: usize = 188;
}

/// Offsets in a segment's header.
pub(crate) mod segment {
    pub(crate) const PID: usize = 8;
    pub(crate) const TID: usize = 12;
    pub(crate) const THREAD: usize = 16;
    pub(crate) const SEQUENCE: usize = 20;
    pub(crate) const BASE: usize = 24;
    pub(crate) const MONOTONIC: usize = 32;
    pub(crate) const BYTES: usize = 40;
    /// CRC-32 of all bytes before this field.
    pub(crate) const CRC: usize = 44;
    // The checksum does not cover the fields below: they are written when the segment is full, or
    // when events find no room.
    pub(crate) const SEALED: usize = 48;
    pub(crate) const DATA_CRC: usize = 52;
    pub(crate) const DROPPED: usize = 56;
}

/// Each dropped event adds this number to a counter, modulo 2⁶⁴: a single addition, so the counter
/// needs no lock. The number is odd and its bits are well mixed, so that a counter with one damaged
/// bit is not a plausible count times this number.
pub(crate) const DROP: u64 = 0x9e37_79b9_7f4a_7c15;
/// A count of dropped events from here on is not plausible.
const MOST_DROPPED: u64 = 1 << 40;

/// The inverse of `DROP` modulo 2⁶⁴. Each step of Newton's iteration doubles the number of correct
/// bits, which is three at first.
const INVERSE: u64 = {
    let (mut inverse, mut step) = (DROP, 0);
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(DROP.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
};

/// Decodes a counter of dropped events; `None` if no plausible count gives this value.
pub(crate) fn dropped(version: u16, counter: u64) -> Option<u64> {
    if version < 2 {
        return Some(counter);
    }
    Some(counter.wrapping_mul(INVERSE)).filter(|&count| count < MOST_DROPPED)
}

/// Returns the checksum of a session's end: its ticks and its nanoseconds.
pub(crate) fn end_crc(end: Moment) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&end.ticks.to_le_bytes());
    hasher.update(&end.monotonic_ns.to_le_bytes());
    hasher.finalize()
}

/// Returns the checksum of a session's stop: its reason, the system's error number, and its time in
/// raw ticks.
pub(crate) fn stop_crc(reason: u32, error: u32, ticks: u64) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&reason.to_le_bytes());
    hasher.update(&error.to_le_bytes());
    hasher.update(&ticks.to_le_bytes());
    hasher.finalize()
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// The header of a segment, which tells whose records follow and from which time they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) thread: u32,
    pub(crate) sequence: u32,
    pub(crate) base: Moment,
    pub(crate) bytes: u32,
}

impl SegmentHeader {
    /// Encodes the header up to its checksum, which it appends.
    pub(crate) fn to_bytes(self) -> [u8; segment::SEALED] {
        let mut out = [0; segment::SEALED];
        out[..8].copy_from_slice(&SEGMENT_MAGIC);
        for (at, value) in [
            (segment::PID, self.pid),
            (segment::TID, self.tid),
            (segment::THREAD, self.thread),
            (segment::SEQUENCE, self.sequence),
            (segment::BYTES, self.bytes),
        ] {
            out[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        out[segment::BASE..][..8].copy_from_slice(&self.base.ticks.to_le_bytes());
        out[segment::MONOTONIC..][..8].copy_from_slice(&self.base.monotonic_ns.to_le_bytes());
        let crc = crc32fast::hash(&out[..segment::CRC]);
        out[segment::CRC..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Decodes a header; `None` if the bytes are not a valid segment header.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<SegmentHeader> {
        let checked = bytes.get(..segment::CRC)?;
        if checked[..8] != SEGMENT_MAGIC || crc32fast::hash(checked) != u32_at(bytes, segment::CRC) {
            return None;
        }
        let header = SegmentHeader {
            pid: u32_at(bytes, segment::PID),
            tid: u32_at(bytes, segment::TID),
            thread: u32_at(bytes, segment::THREAD),
            sequence: u32_at(bytes, segment::SEQUENCE),
            base: Moment { ticks: u64_at(bytes, segment::BASE), monotonic_ns: u64_at(bytes, segment::MONOTONIC) },
            bytes: u32_at(bytes, segment::BYTES),
        };
        let len = header.bytes as usize;
        (len.is_multiple_of(GRAIN) && (GRAIN..=SPAN).contains(&len)).then_some(header)
    }
}

/// The part of a file's header that does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) source: Source,
    pub(crate) frequency: u64,
    pub(crate) start: Moment,
    pub(crate) realtime_ns: u64,
    pub(crate) limit: u64,
}

impl FileHeader {
    /// Encodes the header up to its checksum, which it appends.
    pub(crate) fn to_bytes(self) -> [u8; file::CRC + 4] {
        let mut out = [0; file::CRC + 4];
        out[..8].copy_from_slice(&FILE_MAGIC);
        out[file::VERSION..][..2].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        for (at, value) in [
            (file::HEADER_BYTES, FILE_HEADER_BYTES as u32),
            (file::PID, self.pid),
            (file::PARENT, self.parent),
            (file::CLOCK, self.source as u32),
        ] {
            out[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        for (at, value) in [
            (file::FREQUENCY, self.frequency),
            (file::START_TICKS, self.start.ticks),
            (file::START_MONOTONIC, self.start.monotonic_ns),
            (file::START_REALTIME, self.realtime_ns),
            (file::LIMIT, self.limit),
        ] {
            out[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let crc = crc32fast::hash(&out[..file::CRC]);
        out[file::CRC..].copy_from_slice(&crc.to_le_bytes());
        out
    }
}
