//! pprof's `profile.proto`, gzipped: contention by call stack, as `go tool pprof` and speedscope open it.
//!
//! Each sample has four values: the number of waits at this stack, their time, the time for which
//! the lock was held from here, and the time that others waited meanwhile, weighted by their number
//! (the blame, which the mutex profiles of Go and Abseil call delay). Field numbers are those of
//! `profile.proto` in the pprof project. The outermost frame of each stack is the class of the
//! lock, or the other object that threads wait for, so that one lock can be viewed alone.

use super::proto::Message;
use crate::model::{Report, Site};
use crate::symbols::Frame;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Names and units of a sample's values.
const VALUES: [(&str, &str); 4] =
    [("contentions", "count"), ("wait", "nanoseconds"), ("hold", "nanoseconds"), ("blame", "nanoseconds")];
/// The value that pprof shows by default.
const DEFAULT: &str = "wait";

/// Strings by number; number 0 is the empty string.
struct Strings {
    numbers: BTreeMap<String, u64>,
    texts: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u64;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

struct Profile<'a> {
    report: &'a Report,
    strings: Strings,
    /// Functions by name and file.
    functions: BTreeMap<(u64, u64), u64>,
    /// Locations by their lines: pairs of function and line, innermost first.
    locations: BTreeMap<Vec<(u64, u32)>, u64>,
    samples: Message,
}

/// Writes the profile of a report.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(report: &Report, out: impl Write) -> io::Result<()> {
    let mut zip = GzEncoder::new(out, Compression::default());
    zip.write_all(&encode(report))?;
    zip.finish()?.flush()
}

/// The profile, before compression.
pub(crate) fn encode(report: &Report) -> Vec<u8> {
    let strings = Strings { numbers: BTreeMap::from([(String::new(), 0)]), texts: vec![String::new()] };
    let mut profile =
        Profile { report, strings, functions: BTreeMap::new(), locations: BTreeMap::new(), samples: Message::new() };
    for site in &report.sites {
        profile.sample(site);
    }
    profile.finish()
}

impl Profile<'_> {
    fn sample(&mut self, site: &Site) {
        let values = [site.contended, site.wait_ns.0, site.hold_ns.0, site.blame_ns.0];
        if values.iter().all(|v| *v == 0) {
            return;
        }
        let mut stack: Vec<u64> = physical(&site.frames).map(|frames| self.location(frames)).collect();
        let class = site.class.and_then(|c| self.report.classes.get(c as usize));
        let waitable = site.waitable.and_then(|w| self.report.waitables.get(w as usize));
        let object = class.map(|c| (&c.name, &c.kind)).or(waitable.map(|w| (&w.name, &w.kind)));
        if let Some((name, kind)) = object {
            stack.push(self.location(&[Frame::named(format!("{kind} {name}"))]));
        }
        let mut sample = Message::new();
        sample.packed(1, stack).packed(2, values);
        if let Some((name, kind)) = object {
            for (key, text) in [("object", name), ("kind", kind)] {
                let mut label = Message::new();
                label.uint(1, self.strings.number(key)).uint(2, self.strings.number(text));
                sample.message(3, &label);
            }
        }
        self.samples.message(2, &sample);
    }

    /// A location: one address, whose inlined calls are further lines of the same location.
    fn location(&mut self, frames: &[Frame]) -> u64 {
        let lines = frames.iter().map(|f| (self.function(f), f.line.unwrap_or(0))).collect();
        let next = self.locations.len() as u64 + 1;
        *self.locations.entry(lines).or_insert(next)
    }

    fn function(&mut self, frame: &Frame) -> u64 {
        let key = (self.strings.number(&frame.function), self.strings.number(frame.file.as_deref().unwrap_or("")));
        let next = self.functions.len() as u64 + 1;
        *self.functions.entry(key).or_insert(next)
    }

    fn finish(mut self) -> Vec<u8> {
        let mut out = Message::new();
        for (name, unit) in VALUES {
            let mut value = Message::new();
            value.uint(1, self.strings.number(name)).uint(2, self.strings.number(unit));
            out.message(1, &value);
        }
        let mut bytes = out.as_bytes().to_vec();
        bytes.extend_from_slice(self.samples.as_bytes());
        let mut out = Message::new();
        for (lines, id) in by_number(&self.locations) {
            let mut location = Message::new();
            location.uint(1, id);
            for (function, line) in lines {
                let mut entry = Message::new();
                entry.uint(1, *function).uint(2, u64::from(*line));
                location.message(4, &entry);
            }
            out.message(4, &location);
        }
        for ((name, file), id) in by_number(&self.functions) {
            let mut function = Message::new();
            function.uint(1, id).uint(2, *name).uint(3, *name).uint(4, *file);
            out.message(5, &function);
        }
        let comment = self
            .strings
            .number(format!("recorded by baton: {}", self.report.run.command.join(" ")).trim_end_matches([':', ' ']));
        let default = self.strings.number(DEFAULT);
        for text in &self.strings.texts {
            out.string(6, text);
        }
        out.uint(9, self.report.run.started_realtime_ns.0).uint(10, self.report.totals.span_ns.0);
        out.uint(13, comment).uint(14, default);
        bytes.extend_from_slice(out.as_bytes());
        bytes
    }
}

fn by_number<K>(map: &BTreeMap<K, u64>) -> Vec<(&K, u64)> {
    let mut all: Vec<(&K, u64)> = map.iter().map(|(k, v)| (k, *v)).collect();
    all.sort_by_key(|(_, number)| *number);
    all
}

/// Groups frames by real call: inlined frames belong to the next frame that is not inlined.
fn physical(frames: &[Frame]) -> impl Iterator<Item = &[Frame]> {
    frames.split_inclusive(|f| !f.inlined)
}
