//! Merges all threads' events in the order of time, with one segment of each stream in memory.

use super::loss::{Loss, LossKind};
use super::scan::{SegmentAt, records};
use crate::clock::Ticks;
use crate::event::{Event, ThreadIndex, What};
use crate::kinds::Kinds;
use crate::process::Thread;
use crate::record::RECORD_BYTES;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Whether a stream contains the events of one thread, or the context switches of any thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StreamOf {
    /// The events belong to one thread.
    Thread(ThreadIndex),
    /// The events are context switches that name their threads by the kernel's numbers.
    Others,
}

/// Where all events of a trace lie: their files, streams and segments.
pub(crate) struct Segments {
    origin: u64,
    files: Vec<File>,
    streams: Vec<Stream>,
    /// For each thread number of the kernel: the threads that had it one after the other, by the
    /// times of their first events.
    bearers: BTreeMap<u32, Vec<(Ticks, ThreadIndex)>>,
}

struct Stream {
    of: StreamOf,
    /// Whether the stream contains only the events that the kernel reported about its thread (such
    /// as context switches), or only the others. Reported events are written late, so they are in
    /// the order of time only among themselves.
    switches: bool,
    file: usize,
    segments: Vec<SegmentAt>,
}

impl Segments {
    pub(crate) fn new(origin: u64) -> Segments {
        Segments { origin, files: Vec::new(), streams: Vec::new(), bearers: BTreeMap::new() }
    }

    /// Adds a file's segments; `whose` tells which stream the segments of a thread number of this
    /// file belong to.
    pub(crate) fn add(&mut self, file: File, segments: Vec<SegmentAt>, whose: impl Fn(u32) -> StreamOf) {
        let number = self.files.len();
        self.files.push(file);
        let mut streams: BTreeMap<StreamOf, Vec<SegmentAt>> = BTreeMap::new();
        for segment in segments {
            streams.entry(whose(segment.thread)).or_default().push(segment);
        }
        for (of, all) in streams {
            for switches in [false, true] {
                let first = |s: &SegmentAt| s.part(switches).first;
                let mut segments: Vec<_> = all.iter().copied().filter(|s| first(s) != u64::MAX).collect();
                // Sorts the segments by their first events' times, because a spare segment is
                // numbered early and used late.
                segments.sort_by_key(|s| (first(s), s.sequence));
                if !segments.is_empty() {
                    self.streams.push(Stream { of, switches, file: number, segments });
                }
            }
        }
    }

    /// Finds the threads that the kernel's context switches belong to, and counts the switches as
    /// events of these threads.
    pub(crate) fn attribute(&mut self, threads: &mut [Thread], losses: &mut Vec<Loss>) {
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
                for (time, what) in self.load(stream.file, segment, Kinds::ALL, &mut buffer) {
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

    /// Returns the thread that had the kernel's number in a context switch at that time.
    fn subject(&self, what: What, time: Ticks) -> Option<ThreadIndex> {
        let (What::OffCpu { tid, .. } | What::OnCpu { tid, .. }) = what else { return None };
        let bearers = self.bearers.get(&tid)?;
        let begun = bearers.partition_point(|(first, _)| *first <= time);
        Some(bearers[begun.saturating_sub(1)].1)
    }

    /// Reads a segment's events of some kinds, in the order in which they were written. If the
    /// segment can no longer be read, there are none.
    fn load<'b>(
        &self,
        file: usize,
        segment: &SegmentAt,
        kinds: Kinds,
        buffer: &'b mut Vec<u8>,
    ) -> impl Iterator<Item = (Ticks, What)> + use<'b> {
        buffer.resize(segment.bytes as usize, 0);
        if self.files[file].read_exact_at(buffer, segment.offset).is_err() {
            // The file was complete when the trace was opened, but has been truncated since.
            buffer.clear();
        }
        let impossible = segment.doubt.map(|doubt| doubt.impossible(buffer, segment.base_ticks));
        for place in impossible.into_iter().flatten() {
            // Sets the record's kind to 0, so that it counts as never written.
            buffer[place * RECORD_BYTES] = 0;
        }
        let origin = self.origin;
        records(buffer, segment.base_ticks).filter_map(move |(ticks, raw, _)| {
            let raw = raw.filter(|raw| kinds.has(raw.code))?;
            Some((Ticks(ticks.saturating_sub(origin)), What::decode(raw)?))
        })
    }
}

/// Merges the streams' events of some kinds by time; may return events of other kinds too.
pub(crate) struct Merge<'a> {
    segments: &'a Segments,
    kinds: Kinds,
    cursors: Vec<Cursor>,
    /// The stream that has the next event, if any stream has one.
    current: usize,
    /// The other streams that have events left, ordered by the keys of their next events.
    others: BinaryHeap<Reverse<Key>>,
    /// The smallest key in `others`: the current stream continues while its keys are smaller.
    until: Key,
    buffer: Vec<u8>,
}

/// Orders the streams' next events by time, thread and stream. A single number, because keys are
/// compared for each event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    const LAST: Key = Key(u128::MAX);

    #[inline]
    fn of(event: &Event, stream: usize) -> Key {
        Key(u128::from(event.time.0) << 64 | u128::from(event.thread.0) << 32 | stream as u128)
    }

    fn stream(self) -> usize {
        self.0 as u32 as usize
    }
}

struct Cursor {
    next_segment: usize,
    events: Vec<Event>,
    next_event: usize,
    /// Time of the stream's latest event so far. A signal handler's event in a later segment can be
    /// older than that; it then gets this time.
    latest: Ticks,
}

impl<'a> Merge<'a> {
    pub(crate) fn new(segments: &'a Segments, kinds: Kinds) -> Merge<'a> {
        let fresh = || Cursor { next_segment: 0, events: Vec::new(), next_event: 0, latest: Ticks(0) };
        let count = segments.streams.len();
        let mut merge = Merge {
            segments,
            kinds,
            cursors: (0..count).map(|_| fresh()).collect(),
            current: 0,
            others: BinaryHeap::with_capacity(count),
            until: Key::LAST,
            buffer: Vec::new(),
        };
        for stream in 1..count {
            let key = merge.peek(stream);
            merge.others.extend(key.map(Reverse));
        }
        if count != 0 {
            merge.turn();
        }
        merge
    }

    /// Finds the stream with the next event, and the key up to which that stream continues.
    #[inline(never)]
    fn turn(&mut self) {
        match (self.peek(self.current), self.others.peek_mut()) {
            (Some(own), Some(mut least)) if least.0 < own => {
                self.current = least.0.stream();
                *least = Reverse(own);
            }
            (None, Some(least)) => self.current = PeekMut::pop(least).0.stream(),
            // The current stream has the next event, or no stream has one.
            _ => {}
        }
        self.until = self.others.peek().map_or(Key::LAST, |least| least.0);
    }

    /// Returns the key of a stream's next event; reads the stream's next segment if necessary.
    #[inline]
    fn peek(&mut self, stream: usize) -> Option<Key> {
        let cursor = &self.cursors[stream];
        if cursor.next_event == cursor.events.len() {
            self.fill(stream);
        }
        let cursor = &self.cursors[stream];
        cursor.events.get(cursor.next_event).map(|event| Key::of(event, stream))
    }

    /// Reads the stream's next segment that has events of the wanted kinds. Not marked cold, so
    /// that the compiler inlines the code for each event.
    #[inline(never)]
    fn fill(&mut self, stream: usize) {
        let of = &self.segments.streams[stream];
        let cursor = &mut self.cursors[stream];
        cursor.next_event = 0;
        cursor.events.clear();
        while cursor.events.is_empty()
            && let Some(segment) = of.segments.get(cursor.next_segment)
        {
            cursor.next_segment += 1;
            let part = segment.part(of.switches);
            let kinds = part.kinds.and(self.kinds);
            if kinds != Kinds::NONE {
                let (events, latest) = (&mut cursor.events, cursor.latest);
                self.segments.load(of.file, segment, kinds, &mut self.buffer).for_each(|(time, what)| {
                    let thread = match of.of {
                        _ if what.is_reported() != of.switches => None,
                        StreamOf::Thread(thread) => Some(thread),
                        StreamOf::Others => self.segments.subject(what, time),
                    };
                    if let Some(thread) = thread {
                        events.push(Event { time: time.max(latest), thread, what });
                    }
                });
                // The sort is stable: of events with equal times, the one that was written first
                // comes first. The events are almost sorted, so the sort is fast.
                events.sort_by_key(|e| e.time);
            }
            cursor.latest = match of.of {
                // Uses the latest time of all kinds in the segment, so that an event gets the same
                // time whatever kinds are read.
                StreamOf::Thread(_) => cursor.latest.max(Ticks(part.last.saturating_sub(self.segments.origin))),
                // Events of unknown threads have been dropped. The stream has only context
                // switches, which are either all read or none.
                StreamOf::Others => cursor.events.last().map_or(cursor.latest, |e| e.time),
            };
        }
    }
}

impl Iterator for Merge<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        let cursor = self.cursors.get_mut(self.current)?;
        let event = *cursor.events.get(cursor.next_event)?;
        cursor.next_event += 1;
        let goes_on = cursor.events.get(cursor.next_event).is_some_and(|next| Key::of(next, self.current) < self.until);
        if !goes_on {
            self.turn();
        }
        Some(event)
    }
}
