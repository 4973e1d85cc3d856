//! All threads' events in the order of time, with one segment a thread in memory.

use super::loss::{Loss, LossKind};
use super::scan::{SegmentAt, believed};
use crate::clock::Ticks;
use crate::event::{Event, ThreadIndex, What};
use crate::record::definition;
use crate::trace::Thread;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Whose events a stream holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StreamOf {
    /// One thread's own.
    Thread(ThreadIndex),
    /// Context switches that name their thread by the kernel's number.
    Others,
}

/// Where all events of a trace lie.
pub(crate) struct Segments {
    origin: u64,
    files: Vec<File>,
    streams: Vec<Stream>,
    /// The kernel's thread numbers may be used again: all bearers of each, by their first event.
    bearers: BTreeMap<u32, Vec<(Ticks, ThreadIndex)>>,
}

struct Stream {
    of: StreamOf,
    /// Only the thread's own context switches, or all but these: they are written late, so that they are in order among
    /// themselves only.
    switches: bool,
    file: usize,
    segments: Vec<SegmentAt>,
}

impl Segments {
    pub(super) fn new(origin: u64) -> Segments {
        Segments { origin, files: Vec::new(), streams: Vec::new(), bearers: BTreeMap::new() }
    }

    /// Adds a file's segments; `whose` says to whom a thread number of this file belongs.
    pub(super) fn add(&mut self, file: File, segments: Vec<SegmentAt>, whose: impl Fn(u32) -> StreamOf) {
        let number = self.files.len();
        self.files.push(file);
        let mut streams: BTreeMap<StreamOf, Vec<SegmentAt>> = BTreeMap::new();
        for segment in segments {
            streams.entry(whose(segment.thread)).or_default().push(segment);
        }
        for (of, all) in streams {
            for switches in [false, true] {
                let first = |s: &SegmentAt| if switches { s.first_switch } else { s.first };
                let mut segments: Vec<_> = all.iter().copied().filter(|s| first(s) != u64::MAX).collect();
                // A spare segment is numbered early and used late, so time decides.
                segments.sort_by_key(|s| (first(s), s.sequence));
                if !segments.is_empty() {
                    self.streams.push(Stream { of, switches, file: number, segments });
                }
            }
        }
    }

    /// Finds the threads that context switches speak of, and counts these as theirs.
    pub(super) fn attribute(&mut self, threads: &mut [Thread], losses: &mut Vec<Loss>) {
        for (i, thread) in threads.iter().enumerate().filter(|(_, t)| t.events > 0) {
            self.bearers.entry(thread.tid).or_default().push((thread.first, ThreadIndex(i as u32)));
        }
        for bearers in self.bearers.values_mut() {
            bearers.sort_unstable();
        }
        let mut unknown = 0;
        let mut buffer = Vec::new();
        for stream in self.streams.iter().filter(|s| s.of == StreamOf::Others && !s.switches) {
            for segment in &stream.segments {
                for (time, what) in self.load(stream.file, segment, &mut buffer) {
                    match self.subject(what, time) {
                        Some(thread) => threads[thread.index()].events += 1,
                        None => unknown += 1,
                    }
                }
            }
        }
        if unknown > 0 {
            let kind = LossKind::UnknownThread;
            losses.push(Loss { file: "context switches".into(), offset: 0, bytes: 0, events: unknown, kind });
        }
    }

    /// The thread that had the event's kernel number at that time.
    fn subject(&self, what: What, time: Ticks) -> Option<ThreadIndex> {
        let (What::OffCpu { tid, .. } | What::OnCpu { tid, .. }) = what else { return None };
        let bearers = self.bearers.get(&tid)?;
        let begun = bearers.partition_point(|(first, _)| *first <= time);
        Some(bearers[begun.saturating_sub(1)].1)
    }

    /// A segment's events in its own order. What cannot be read any more is left out.
    fn load<'b>(
        &self,
        file: usize,
        segment: &SegmentAt,
        buffer: &'b mut Vec<u8>,
    ) -> impl Iterator<Item = (Ticks, What)> + use<'b> {
        buffer.resize(segment.bytes as usize, 0);
        if self.files[file].read_exact_at(buffer, segment.offset).is_err() {
            // The file was whole when it was opened; it has been cut since.
            buffer.clear();
        }
        let origin = self.origin;
        believed(buffer, segment.base_ticks, segment.doubt).1.filter_map(move |(_, (ticks, raw, bytes))| {
            let raw = raw.filter(|_| bytes[0] != definition::BYTES)?;
            Some((Ticks(ticks.saturating_sub(origin)), What::decode(raw)?))
        })
    }
}

/// The merging iterator.
pub(crate) struct Merge<'a> {
    segments: &'a Segments,
    cursors: Vec<Cursor>,
    /// Next event of each stream: time, thread, stream.
    heap: BinaryHeap<Reverse<(Ticks, ThreadIndex, usize)>>,
    buffer: Vec<u8>,
}

struct Cursor {
    next_segment: usize,
    events: Vec<Event>,
    next_event: usize,
    /// A signal handler's event can stand in a later segment with an earlier time; it then counts as simultaneous.
    latest: Ticks,
}

impl<'a> Merge<'a> {
    pub(crate) fn new(segments: &'a Segments) -> Merge<'a> {
        let fresh = || Cursor { next_segment: 0, events: Vec::new(), next_event: 0, latest: Ticks(0) };
        let mut merge = Merge {
            segments,
            cursors: segments.streams.iter().map(|_| fresh()).collect(),
            heap: BinaryHeap::with_capacity(segments.streams.len()),
            buffer: Vec::new(),
        };
        for stream in 0..merge.cursors.len() {
            if let Some(event) = merge.peek(stream) {
                merge.heap.push(Reverse((event.time, event.thread, stream)));
            }
        }
        merge
    }

    /// A stream's next event, from its next segment if need be.
    #[inline]
    fn peek(&mut self, stream: usize) -> Option<Event> {
        loop {
            let cursor = &self.cursors[stream];
            if let Some(event) = cursor.events.get(cursor.next_event) {
                return Some(*event);
            }
            let segment = *self.segments.streams[stream].segments.get(cursor.next_segment)?;
            self.fill(stream, segment);
        }
    }

    #[cold]
    fn fill(&mut self, stream: usize, segment: SegmentAt) {
        let Segments { streams, .. } = self.segments;
        let cursor = &mut self.cursors[stream];
        cursor.next_segment += 1;
        cursor.next_event = 0;
        cursor.events.clear();
        for (time, what) in self.segments.load(streams[stream].file, &segment, &mut self.buffer) {
            if what.is_own_switch() != streams[stream].switches {
                continue;
            }
            let thread = match streams[stream].of {
                StreamOf::Thread(thread) => Some(thread),
                StreamOf::Others => self.segments.subject(what, time),
            };
            if let Some(thread) = thread {
                cursor.events.push(Event { time: time.max(cursor.latest), thread, what });
            }
        }
        // Stable: what was written first comes first. All but sorted already, which the sort makes use of.
        cursor.events.sort_by_key(|e| e.time);
        cursor.latest = cursor.events.last().map_or(cursor.latest, |e| e.time);
    }
}

impl Iterator for Merge<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let Reverse((.., stream)) = *self.heap.peek()?;
        let event = self.peek(stream)?;
        self.cursors[stream].next_event += 1;
        match self.peek(stream) {
            Some(next) => {
                if let Some(mut top) = self.heap.peek_mut() {
                    *top = Reverse((next.time, next.thread, stream));
                }
            }
            None => {
                self.heap.pop();
            }
        }
        Some(event)
    }
}
