//! Opens a trace directory: all files of one run become one trace.

use crate::clock::{Clock, Ticks};
use crate::event::ThreadIndex;
use crate::layout::FOREIGN_THREAD;
use crate::meta::{Meta, MetaError};
use crate::process::{Process, ProcessIndex, Thread};
use crate::reader::loss::{Loss, LossKind};
use crate::reader::merge::{Segments, StreamOf};
use crate::reader::scan::{Scan, scan};
use crate::trace::{Content, Trace};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Why a trace cannot be opened. If at least one events file can be used, the trace opens, with a
/// [`Loss`] for each fault of a file.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The directory cannot be listed.
    #[error("{path}: {source}")]
    Directory {
        /// Path of the directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The directory holds no usable events file.
    #[error("{path}: no events in this directory{}", reasons(.losses))]
    Empty {
        /// Path of the directory.
        path: PathBuf,
        /// What is wrong with the files in the directory.
        losses: Vec<Loss>,
    },
}

fn reasons(losses: &[Loss]) -> String {
    losses.iter().map(|loss| format!("; {loss}")).collect()
}

impl Trace {
    /// Reads the trace in `directory`: `meta.json`, and every file there whose name begins with
    /// `events.`
    ///
    /// # Errors
    /// Fails if the directory cannot be listed, or no events file in it can be used.
    pub fn open(directory: &Path) -> Result<Trace, ReadError> {
        let mut losses = Vec::new();
        let mut scans = Vec::new();
        // Lists the directory first: if it cannot be listed, there is no `meta.json` to read
        // either.
        let files = events_files(directory)?;
        let mut about_meta = None;
        let meta = Meta::read(directory).unwrap_or_else(|error| {
            let kind = match error {
                MetaError::Version { found, .. } => LossKind::NewerMeta(found),
                MetaError::Io { source, .. } if source.kind() == std::io::ErrorKind::InvalidInput => LossKind::NoFile,
                MetaError::Io { source, .. } => LossKind::Io(source.kind()),
                MetaError::Json { .. } => LossKind::Meta,
            };
            about_meta = Some(Loss { file: "meta.json".into(), offset: 0, bytes: 0, events: 0, kind });
            None
        });
        let elapsed_ns = meta.as_ref().map(|meta| meta.elapsed_ns).filter(|&ns| ns != 0);
        for path in files {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let unreadable = |error: std::io::Error| Loss {
                file: name.clone(),
                offset: 0,
                bytes: 0,
                events: 0,
                kind: LossKind::Io(error.kind()),
            };
            match File::open(&path).map_err(unreadable).and_then(|file| Ok((scan(&file, &name, elapsed_ns)?, file))) {
                Ok(scanned) => scans.push(scanned),
                Err(loss) => losses.push(loss),
            }
        }
        if scans.is_empty() {
            return Err(ReadError::Empty { path: directory.to_owned(), losses });
        }
        losses.extend(about_meta);
        // Sorts the files by the start of their process. Files that began at the same tick stay
        // sorted by name.
        scans.sort_by_key(|(scan, _)| scan.start.ticks);
        let mut trace = assemble(scans, losses);
        trace.meta = meta;
        trace.find_ends();
        Ok(trace)
    }
}

fn events_files(directory: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let error = |source| ReadError::Directory { path: directory.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("events.")) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Computes one clock for all files by a line through the two moments that lie farthest apart. All
/// files were written on one machine, so the clock is the same.
fn common_clock(scans: &[(Scan, File)]) -> Clock {
    let start = scans.iter().map(|(s, _)| s.start).min_by_key(|m| m.ticks).unwrap_or_default();
    let latest = scans.iter().map(|(s, _)| s.latest).max_by_key(|m| m.ticks).unwrap_or_default();
    let Some((first, _)) = scans.first() else { return Clock::nanoseconds() };
    // A file with a damaged header does not tell its clock's source. Its ticks are assumed to come
    // from the same source as those of the other files.
    let sound = scans.iter().find(|(s, _)| s.frequency > 0).map_or(first, |(s, _)| s);
    Clock::calibrated(sound.source, start, latest, sound.frequency)
}

fn assemble(scans: Vec<(Scan, File)>, mut losses: Vec<Loss>) -> Trace {
    let clock = common_clock(&scans);
    let since_origin = |raw: u64| Ticks(raw.saturating_sub(clock.origin));
    let mut trace = Trace {
        clock,
        meta: None,
        processes: Vec::new(),
        threads: Vec::new(),
        marker_names: BTreeMap::new(),
        object_names: BTreeMap::new(),
        losses: Vec::new(),
        content: Content::Memory(Vec::new()),
        kept: OnceLock::new(),
        loops: OnceLock::new(),
        flows: OnceLock::new(),
        exits: OnceLock::new(),
    };
    let mut segments = Segments::new(clock.origin);
    for (mut scan, file) in scans {
        let process = ProcessIndex(trace.processes.len() as u32);
        let mut definitions = std::mem::take(&mut scan.definitions);
        let first_thread = trace.threads.len() as u32;
        let mut numbers = BTreeMap::new();
        for seen in &scan.threads {
            if seen.number == FOREIGN_THREAD {
                continue;
            }
            numbers.insert(seen.number, ThreadIndex(first_thread + numbers.len() as u32));
            trace.threads.push(Thread {
                process,
                tid: seen.tid,
                name: definitions.thread_names.remove(&seen.number),
                first: since_origin(if seen.events > 0 { seen.first } else { 0 }),
                last: since_origin(seen.last),
                events: seen.events,
                dropped: seen.dropped,
            });
        }
        trace
            .marker_names
            .extend(std::mem::take(&mut definitions.marker_names).into_iter().map(|(n, t)| ((process, n), t)));
        trace
            .object_names
            .extend(std::mem::take(&mut definitions.object_names).into_iter().map(|(a, t)| ((process, a), t)));
        let mut entry = Process {
            pid: scan.pid,
            parent: scan.parent,
            stopped: scan.stopped.map(|(reason, at)| (reason, since_origin(at))),
            dropped: scan.dropped,
            finished: scan.finished,
            realtime_ns: scan.realtime_ns,
            started: since_origin(scan.start.ticks),
            end: scan.finished.then(|| since_origin(scan.latest.ticks)),
            ..Process::default()
        };
        definitions.give_to(&mut entry, since_origin);
        trace.processes.push(entry);
        losses.append(&mut scan.losses);
        segments.add(file, scan.segments, |number| match numbers.get(&number) {
            Some(thread) => StreamOf::Thread(*thread),
            None => StreamOf::Others,
        });
    }
    trace.losses = losses;
    // The kernel's context switches name their threads by the kernel's numbers, and may lie in
    // another file than the thread's own events.
    segments.attribute(&mut trace.threads, &mut trace.losses);
    trace.content = Content::Files(segments);
    trace
}
