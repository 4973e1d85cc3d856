//! Scans one events file: finds out where its segments are, and what is wrong with it.

use super::definitions::{Collector, Definitions};
use super::loss::{Loss, LossKind};
use super::times::{Doubt, FREQUENCIES, agree};
use crate::clock::{Moment, Source};
use crate::event::What;
use crate::kinds::Kinds;
use crate::layout::{
    self, BACK, FILE_HEADER_BYTES, FILE_MAGIC, FORMAT_VERSION, GRAIN, SEGMENT_HEADER_BYTES, SegmentHeader, file,
    segment, u32_at, u64_at,
};
use crate::record::{RECORD_BYTES, Raw};
use crate::writer::StopReason;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Largest page size of any machine. A recorder always reserves the file's first page, even if its
/// limit is smaller.
const MOST_PAGE: u64 = 64 << 10;
/// How many ticks times may go back within a segment if the clock's rate is lost with the file
/// header: 10 ms at 3 GHz.
const UNKNOWN_SLACK: u64 = 30_000_000;

/// A segment that can be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentAt {
    /// Offset in the file where the segment's records begin.
    pub(crate) offset: u64,
    /// Number of bytes of records to read.
    pub(crate) bytes: u32,
    pub(crate) thread: u32,
    pub(crate) sequence: u32,
    pub(crate) base_ticks: u64,
    /// The segment's events, without those that the kernel reported about the thread.
    pub(crate) events: Part,
    /// The events that the kernel reported about the segment's thread, such as context switches.
    pub(crate) switches: Part,
    /// What is known about the records' times, if no checksum guarantees that the records are as
    /// they were written.
    pub(crate) doubt: Option<Doubt>,
}

impl SegmentAt {
    /// Returns the events that the kernel reported about the thread (`switches`), or all others.
    pub(crate) fn part(&self, switches: bool) -> &Part {
        if switches { &self.switches } else { &self.events }
    }
}

/// A part of a segment's events, as the reader needs it to skip the segment or read it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// When the part's earliest event happened, in raw ticks; `u64::MAX` if there is none.
    pub(crate) first: u64,
    /// When the part's latest event happened, in raw ticks; 0 if there is none.
    pub(crate) last: u64,
    /// Kinds of the part's events.
    pub(crate) kinds: Kinds,
}

impl Part {
    const NONE: Part = Part { first: u64::MAX, last: 0, kinds: Kinds::NONE };

    fn add(&mut self, ticks: u64, code: u8) {
        self.first = self.first.min(ticks);
        self.last = self.last.max(ticks);
        self.kinds.add(code);
    }
}

/// A thread as one file describes it.
#[derive(Clone, Debug)]
pub(crate) struct ThreadSeen {
    pub(crate) number: u32,
    pub(crate) tid: u32,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) events: u64,
    pub(crate) dropped: u64,
}

/// What the scan of one file found.
pub(crate) struct Scan {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) source: Source,
    pub(crate) frequency: u64,
    pub(crate) start: Moment,
    pub(crate) latest: Moment,
    pub(crate) realtime_ns: u64,
    pub(crate) finished: bool,
    pub(crate) stopped: Option<(StopReason, u64)>,
    pub(crate) dropped: u64,
    pub(crate) segments: Vec<SegmentAt>,
    pub(crate) threads: Vec<ThreadSeen>,
    pub(crate) definitions: Definitions,
    pub(crate) losses: Vec<Loss>,
    name: String,
    version: u16,
    doubt: Doubt,
}

/// Time (raw ticks), content and bytes of a record. The content is `None` if the record was never
/// written.
type Read<'a> = (u64, Option<Raw>, &'a [u8]);

/// Returns each record of a segment's `bytes`; `base` is the raw tick that the segment counts from.
pub(crate) fn records(bytes: &[u8], base: u64) -> impl Iterator<Item = Read<'_>> {
    bytes.as_chunks::<RECORD_BYTES>().0.iter().map(move |record| {
        let (time, raw) = Raw::from_words([u64_at(record, 0), u64_at(record, 8)]);
        let ticks = base.wrapping_add(time).wrapping_sub(BACK);
        // If the segment was created right after the machine's start, a stamp can lie before the
        // counter's zero; it counts as 0.
        let ticks = if ticks > i64::MAX as u64 { 0 } else { ticks };
        (ticks, (raw.code != 0).then_some(raw), &record[..])
    })
}

/// Like [`records`]; if the segment is in doubt, leaves out the records with an impossible time.
/// Also returns how many records that leaves out.
fn believed(bytes: &[u8], base: u64, doubt: Option<Doubt>) -> (u64, impl Iterator<Item = (usize, Read<'_>)>) {
    let impossible = doubt.map_or_else(Vec::new, |doubt| doubt.impossible(bytes, base));
    let count = impossible.len() as u64;
    let mut left = impossible.into_iter().peekable();
    (count, records(bytes, base).enumerate().filter(move |(place, _)| left.next_if_eq(place).is_none()))
}

/// Scans a file of a run that took `elapsed_ns`, if that is known. Fails if nothing in the file can
/// be used.
pub(crate) fn scan(file: &File, name: &str, elapsed_ns: Option<u64>) -> Result<Scan, Loss> {
    let whole = |kind| Loss { file: name.to_owned(), offset: 0, bytes: 0, events: 0, kind };
    let len = file.metadata().map_err(|error| whole(LossKind::Io(error.kind())))?.len();
    let mut head = [0u8; FILE_HEADER_BYTES];
    let got = read_at(file, &mut head, 0).map_err(|error| whole(LossKind::Io(error.kind())))?;
    let checked = got >= file::CRC + 4 && crc32fast::hash(&head[..file::CRC]) == u32_at(&head, file::CRC);
    if head[..8] != FILE_MAGIC && (got < 8 || len <= FILE_HEADER_BYTES as u64) {
        return Err(whole(LossKind::NotATrace));
    }
    let version = u16::from_le_bytes([head[file::VERSION], head[file::VERSION + 1]]);
    if checked && version > FORMAT_VERSION {
        return Err(whole(LossKind::NewerVersion(version)));
    }
    let sound = checked && FREQUENCIES.contains(&u64_at(&head, file::FREQUENCY));
    let mut scan = Scan::from_header(&head, sound, name);
    if !sound {
        scan.losses.push(whole(LossKind::FileHeader));
    }
    scan.close(&head, sound, elapsed_ns);
    // A recorder writes nothing beyond its own limit, except for the first page.
    let most = if sound { u64_at(&head, file::LIMIT).max(MOST_PAGE) } else { u64::MAX };
    if len > most {
        scan.lose(most, len - most, 0, LossKind::SegmentHeader);
    }
    scan.walk(file, len.min(most));
    if scan.segments.is_empty() && !sound {
        return Err(whole(LossKind::NotATrace));
    }
    scan.add_up();
    Ok(scan)
}

/// Returns the first multiple of the grain at or after `offset` at which the file has data; `None`
/// if there is no more data. What is skipped was never written.
fn next_data(file: &File, offset: u64) -> Option<u64> {
    let asked = libc::off_t::try_from(offset).ok()?;
    // SAFETY: lseek takes no pointer, and the descriptor is open. No code depends on the file's
    // position, because all reads name their offset.
    let found = unsafe { libc::lseek(file.as_raw_fd(), asked, libc::SEEK_DATA) };
    if found < 0 {
        // ENXIO means a hole up to the end. A file system that does not know holes reports another
        // error, or that everything is data.
        let hole = std::io::Error::last_os_error().raw_os_error() == Some(libc::ENXIO);
        return (!hole).then_some(offset);
    }
    Some((found as u64 / GRAIN as u64 * GRAIN as u64).max(offset))
}

/// Reads from `offset` on as many bytes as the file has, up to the buffer's length.
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read_at(&mut buffer[got..], offset + got as u64) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

impl Scan {
    fn from_header(head: &[u8], sound: bool, name: &str) -> Scan {
        let fixed = |at| if sound { u64_at(head, at) } else { 0 };
        let start = Moment { ticks: fixed(file::START_TICKS), monotonic_ns: fixed(file::START_MONOTONIC) };
        Scan {
            pid: fixed(file::PID) as u32,
            parent: fixed(file::PARENT) as u32,
            source: if sound { Source::from_number(u32_at(head, file::CLOCK)) } else { None }.unwrap_or(Source::Tsc),
            frequency: fixed(file::FREQUENCY),
            start,
            latest: start,
            realtime_ns: fixed(file::START_REALTIME),
            finished: false,
            stopped: None,
            dropped: 0,
            segments: Vec::new(),
            threads: Vec::new(),
            definitions: Definitions::default(),
            losses: Vec::new(),
            name: name.to_owned(),
            version: if sound {
                u16::from_le_bytes([head[file::VERSION], head[file::VERSION + 1]])
            } else {
                FORMAT_VERSION
            },
            doubt: Doubt { end: u64::MAX, slack: if sound { fixed(file::FREQUENCY) / 100 } else { UNKNOWN_SLACK } },
        }
    }

    /// Reads the end and the stop from the file header, as far as they can be believed.
    fn close(&mut self, head: &[u8], sound: bool, elapsed_ns: Option<u64>) {
        if !sound {
            return;
        }
        let end = Moment { ticks: u64_at(head, file::END_TICKS), monotonic_ns: u64_at(head, file::END_MONOTONIC) };
        let (reason, error) = (u32_at(head, file::STOP), u32_at(head, file::STOP_ERROR));
        let at = u64_at(head, file::STOP_TICKS);
        // Fields that are all zero were never written. The recorder writes the end's checksum
        // before the mark that the end is complete, so a matching checksum suffices.
        let (end_told, end_checks) = match self.version {
            1 => (u32_at(head, file::FINISHED) == 1, true),
            _ => (
                end != Moment::default() || u32_at(head, file::END_CRC) != 0,
                layout::end_crc(end) == u32_at(head, file::END_CRC),
            ),
        };
        self.finished = end_told && end_checks && agree(self.source, self.frequency, self.start, end);
        if self.finished {
            self.latest = end;
            self.doubt.end = end.ticks;
        } else if let Some(ns) = elapsed_ns {
            let ticks = u128::from(ns) * u128::from(self.frequency) / 1_000_000_000;
            self.doubt.end = self.start.ticks.saturating_add(u64::try_from(ticks).unwrap_or(u64::MAX));
        }
        let stop_checks = self.version < 2 || layout::stop_crc(reason, error, at) == u32_at(head, file::STOP_CRC);
        let stop_told = (reason, error, at) != (0, 0, 0) || (self.version > 1 && u32_at(head, file::STOP_CRC) != 0);
        let fits = at >= self.start.ticks && at <= self.doubt.end.saturating_add(self.doubt.slack);
        if stop_told && stop_checks && fits {
            self.stopped = StopReason::from_number(reason).map(|reason| (reason, at));
        }
        if end_told && !self.finished || stop_told && self.stopped.is_none() {
            self.lose(0, 0, 0, LossKind::Closing);
        }
        self.dropped = self.count(0, u64_at(head, file::DROPPED));
    }

    /// Decodes a count of dropped events; 0 if the count is damaged.
    fn count(&mut self, offset: u64, counter: u64) -> u64 {
        let believed = layout::dropped(self.version, counter);
        if believed.is_none() {
            self.lose(offset, 0, 0, LossKind::Count);
        }
        believed.unwrap_or(0)
    }

    fn lose(&mut self, offset: u64, bytes: u64, events: u64, kind: LossKind) {
        // Pieces of rubbish that follow one another count as one loss.
        if let Some(last) = self.losses.last_mut()
            && last.kind == kind
            && kind == LossKind::SegmentHeader
            && last.offset + last.bytes == offset
        {
            last.bytes += bytes;
            return;
        }
        self.losses.push(Loss { file: self.name.clone(), offset, bytes, events, kind });
    }

    /// Walks from segment to segment. Where no segment begins, continues at the next multiple of
    /// the grain.
    fn walk(&mut self, file: &File, len: u64) {
        let mut offset = FILE_HEADER_BYTES as u64;
        let mut buffer = vec![0u8; layout::SPAN];
        while offset < len {
            let got = match read_at(file, &mut buffer[..GRAIN], offset) {
                Ok(got) => got,
                Err(error) => {
                    self.lose(offset, GRAIN as u64, 0, LossKind::Io(error.kind()));
                    offset += GRAIN as u64;
                    continue;
                }
            };
            match SegmentHeader::from_bytes(&buffer[..got]) {
                Some(header) => {
                    let bytes = header.bytes as usize;
                    let got = read_at(file, &mut buffer[..bytes], offset).unwrap_or(got);
                    if got < bytes {
                        self.lose(offset, (bytes - got) as u64, 0, LossKind::Truncated);
                    }
                    self.segment(offset, header, &buffer[..got]);
                    offset += bytes as u64;
                }
                None => {
                    // Space that was reserved and never used is zero, and counts as no loss.
                    if buffer[..got].iter().any(|b| *b != 0) {
                        self.lose(offset, got as u64, 0, LossKind::SegmentHeader);
                    }
                    offset = next_data(file, offset + GRAIN as u64).unwrap_or(len);
                }
            }
        }
    }

    fn segment(&mut self, offset: u64, header: SegmentHeader, bytes: &[u8]) {
        if bytes.len() < SEGMENT_HEADER_BYTES {
            return;
        }
        if self.pid == 0 {
            self.pid = header.pid;
        }
        if header.base.monotonic_ns > 0 {
            if self.start.monotonic_ns == 0 || header.base.ticks < self.start.ticks {
                self.start = header.base;
            }
            let fits = self.frequency == 0 || agree(self.source, self.frequency, self.start, header.base);
            if header.base.ticks > self.latest.ticks && fits {
                self.latest = header.base;
            }
        }
        let sealed = u32_at(bytes, segment::SEALED) as usize;
        let plausible = (SEGMENT_HEADER_BYTES..=bytes.len()).contains(&sealed) && sealed.is_multiple_of(RECORD_BYTES);
        let sound =
            plausible && crc32fast::hash(&bytes[SEGMENT_HEADER_BYTES..sealed]) == u32_at(bytes, segment::DATA_CRC);
        let truncated = bytes.len() < header.bytes as usize;
        if sealed != 0 && !sound && !truncated {
            self.lose(offset, bytes.len() as u64, 0, LossKind::Checksum);
        }
        let data = if sound { &bytes[SEGMENT_HEADER_BYTES..sealed] } else { &bytes[SEGMENT_HEADER_BYTES..] };
        let dropped = self.count(offset, u64_at(bytes, segment::DROPPED));
        self.content(offset, header, data, dropped, (!sound).then_some(self.doubt));
    }

    fn content(&mut self, offset: u64, header: SegmentHeader, data: &[u8], dropped: u64, doubt: Option<Doubt>) {
        let mut definitions = std::mem::take(&mut self.definitions);
        let mut collector = Collector::new();
        let (mut events, mut unknown, mut holes, mut trailing) = (0, 0, 0, 0);
        let (mut others, mut switches) = (Part::NONE, Part::NONE);
        let mut used = 0;
        let (impossible, records) = believed(data, header.base.ticks, doubt);
        for (i, (ticks, raw, bytes)) in records {
            let Some(raw) = raw else {
                trailing += 1;
                continue;
            };
            // Empty slots count as unfinished records if a record follows them; otherwise they are
            // the segment's unused end.
            holes += trailing;
            trailing = 0;
            used = (i + 1) * RECORD_BYTES;
            if collector.take(raw, ticks, bytes, header.thread, &mut definitions) {
                continue;
            }
            let Some(what) = What::decode(raw) else {
                unknown += 1;
                continue;
            };
            if let What::Unloaded { start, pages } = what {
                definitions.unload(ticks, start, pages);
            }
            events += 1;
            let part = if what.is_reported() { &mut switches } else { &mut others };
            part.add(ticks, raw.code);
        }
        collector.abandon(&mut definitions);
        self.definitions = definitions;
        for (count, kind) in [
            (holes, LossKind::Unfinished),
            (unknown, LossKind::UnknownRecord),
            (collector.cut, LossKind::CutDefinition),
            (impossible, LossKind::Time),
        ] {
            if count > 0 {
                self.lose(offset, count * RECORD_BYTES as u64, count, kind);
            }
        }
        let (first, last) = (others.first.min(switches.first), others.last.max(switches.last));
        self.threads.push(ThreadSeen { number: header.thread, tid: header.tid, first, last, events, dropped });
        if events > 0 {
            self.segments.push(SegmentAt {
                offset: offset + SEGMENT_HEADER_BYTES as u64,
                bytes: used as u32,
                thread: header.thread,
                sequence: header.sequence,
                base_ticks: header.base.ticks,
                events: others,
                switches,
                doubt,
            });
        }
    }

    /// Merges the entries of each thread, one per segment, into one, and sums the dropped events.
    fn add_up(&mut self) {
        self.threads.sort_by_key(|t| t.number);
        self.threads.dedup_by(|next, kept| {
            let same = next.number == kept.number;
            if same {
                kept.first = kept.first.min(next.first);
                kept.last = kept.last.max(next.last);
                kept.events += next.events;
                kept.dropped = kept.dropped.saturating_add(next.dropped);
            }
            same
        });
        let dropped = self.threads.iter().fold(self.dropped, |sum, thread| sum.saturating_add(thread.dropped));
        self.dropped = dropped;
        if let Some((reason, _)) = self.stopped {
            self.lose(0, 0, dropped, LossKind::Dropped(reason));
        }
    }
}
