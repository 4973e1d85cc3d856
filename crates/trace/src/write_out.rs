//! Has the kernel write out the pages of a recording while it is being made.
//!
//! A program that records fills pages of its events file. The kernel writes such dirty pages out
//! when it decides to; if too many are dirty, it stops the threads that make more of them, which are
//! the program's. So a thread of another process (of `baton profile`) looks at the files again and
//! again, and has the kernel start to write out each segment that is full. A full segment does not
//! change any more.

use crate::layout::{FILE_HEADER_BYTES, FILE_MAGIC, SEGMENT_HEADER_BYTES, SegmentHeader, segment, u32_at};
use crate::sys;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Looks at a recording that is being made.
pub struct WriteOut {
    directory: PathBuf,
    files: BTreeMap<PathBuf, Events>,
}

/// An events file, and how far it has been looked at.
struct Events {
    file: File,
    /// Where the first segment begins that has not been seen.
    next: u64,
    /// The places of the segments that were seen before they were full.
    filling: BTreeSet<u64>,
}

impl WriteOut {
    /// Begins to look at the recording in `directory`, which has no file yet.
    pub fn of(directory: &Path) -> WriteOut {
        WriteOut { directory: directory.to_owned(), files: BTreeMap::new() }
    }

    /// Has the kernel start to write out the segments that have become full since the last look.
    /// Returns the number of their bytes.
    pub fn look(&mut self) -> u64 {
        self.find();
        self.files.values_mut().map(Events::look).sum()
    }

    /// Opens the events files that are new. A file that cannot be read yet is tried again.
    fn find(&mut self) {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            let is_events = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("events."));
            if is_events
                && !self.files.contains_key(&path)
                && let Some(events) = Events::open(&path)
            {
                self.files.insert(path, events);
            }
        }
    }
}

impl Events {
    fn open(path: &Path) -> Option<Events> {
        let file = File::open(path).ok()?;
        let mut magic = [0; FILE_MAGIC.len()];
        file.read_exact_at(&mut magic, 0).ok()?;
        let next = sys::page_size().max(FILE_HEADER_BYTES) as u64;
        (magic == FILE_MAGIC).then(|| Events { file, next, filling: BTreeSet::new() })
    }

    fn look(&mut self) -> u64 {
        let mut full = Vec::new();
        for at in std::mem::take(&mut self.filling) {
            self.sort(at, &mut full);
        }
        while let Some(bytes) = self.sort(self.next, &mut full) {
            self.next += bytes;
        }
        full.sort_unstable();
        // Neighbours are written out in one call.
        full.dedup_by(|next, kept| {
            let follows = kept.0 + kept.1 == next.0;
            kept.1 += if follows { next.1 } else { 0 };
            follows
        });
        full.iter().filter(|(at, bytes)| start(&self.file, *at, *bytes)).map(|(_, bytes)| bytes).sum()
    }

    /// Puts the segment at `at` to those that are full, or to those that are filling. Returns its
    /// size; `None` if there is no segment yet.
    fn sort(&mut self, at: u64, full: &mut Vec<(u64, u64)>) -> Option<u64> {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        let size = u64::from(SegmentHeader::from_bytes(&bytes)?.bytes);
        match u32_at(&bytes, segment::SEALED) {
            0 => drop(self.filling.insert(at)),
            _ => full.push((at, size)),
        }
        Some(size)
    }
}

/// Has the kernel start to write out a part of a file, without waiting for the end of that. Returns
/// whether it does so.
fn start(file: &File, at: u64, bytes: u64) -> bool {
    // SAFETY: the call gets no pointer, and the file is open.
    unsafe { libc::sync_file_range(file.as_raw_fd(), at as i64, bytes as i64, libc::SYNC_FILE_RANGE_WRITE) == 0 }
}
