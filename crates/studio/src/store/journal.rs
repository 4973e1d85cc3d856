//! A journal: what one process adds to a store, as a line for each point that it begins and for
//! each row, written as soon as it is known. A killed process leaves its journal; the next process
//! that opens the store to add rows turns it into Parquet. While a process lives, it holds the lock
//! of its journal.

use super::column::Column;
use super::error::StoreError;
use super::row::Row;
use crate::hash::Key;
use serde_json::{Value as Json, json};
use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How the names of journals begin.
pub(crate) const PREFIX: &str = "journal-";
pub(crate) const SUFFIX: &str = ".jsonl";

/// The time between two syncs to the disk. Until then a row is in the system's memory alone: it
/// survives the end of this process, but no power failure.
const SYNC: Duration = Duration::from_secs(5);

/// The journal of this process.
pub(crate) struct Own {
    pub(crate) path: PathBuf,
    file: File,
    /// The length of the whole lines.
    length: u64,
    synced: Instant,
    /// Whether lines were written after `synced`, the last sync.
    is_new: bool,
}

impl Own {
    /// Makes and locks the journal `name` in the store's folder.
    pub(crate) fn begin(folder: &Path, name: &str) -> Result<Own, StoreError> {
        let path = folder.join(format!("{PREFIX}{name}{SUFFIX}"));
        let open = || -> io::Result<File> {
            let file = OpenOptions::new().append(true).create_new(true).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        let file = open().map_err(StoreError::io(&path, "written"))?;
        Ok(Own { path, file, length: 0, synced: Instant::now(), is_new: false })
    }

    /// Adds a line. A line that cannot be written whole is cut off again.
    pub(crate) fn add(&mut self, line: &str) -> Result<(), StoreError> {
        let mut written = self.file.write_all(line.as_bytes());
        self.is_new = true;
        if written.is_ok() {
            written = self.flush();
        }
        if let Err(error) = written {
            // If this fails too, a reader leaves out the torn line, which has no end.
            let _ = self.file.set_len(self.length);
            return Err(StoreError::io(&self.path, "written")(error));
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// Syncs new lines to the disk, if the last sync is more than [`SYNC`] ago.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        self.flush().map_err(StoreError::io(&self.path, "written"))
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_new && self.synced.elapsed() > SYNC {
            self.file.sync_data()?;
            self.synced = Instant::now();
            self.is_new = false;
        }
        Ok(())
    }
}

/// The line of a point that a process begins.
pub(crate) fn claim(key: Key) -> String {
    format!("{}\n", json!({ "begun": key.to_string() }))
}

/// The journal of another process, as far as it was read.
#[derive(Default)]
pub(crate) struct Other {
    read: u64,
    /// Points that the process has begun and not ended.
    pub(crate) begun: HashSet<Key>,
}

impl Other {
    /// Reads the whole lines that were added since the last call. Returns their rows.
    pub(crate) fn catch_up(&mut self, path: &Path, columns: &[Column]) -> Result<Vec<Row>, StoreError> {
        let mut bytes = Vec::new();
        let mut read = || -> io::Result<()> {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(self.read))?;
            file.read_to_end(&mut bytes)?;
            // A line that is being written, or was torn, has no end, and is not read.
            bytes.truncate(bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1));
            Ok(())
        };
        read().map_err(StoreError::io(path, "read"))?;
        self.read += bytes.len() as u64;
        let mut rows = Vec::new();
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let damaged = || {
                let why = format!("not a line of a journal: {}", String::from_utf8_lossy(line).trim_end());
                StoreError::Damaged { path: path.to_owned(), why }
            };
            let json: Json = serde_json::from_slice(line).map_err(|_| damaged())?;
            if let Some(key) = json.get("begun").and_then(Json::as_str).and_then(Key::parse) {
                self.begun.insert(key);
            } else {
                let row = Row::of_line(&json, columns).ok_or_else(damaged)?;
                self.begun.remove(&row.key);
                rows.push(row);
            }
        }
        Ok(rows)
    }
}

/// Whether the process of a journal lives.
pub(crate) fn lives(path: &Path) -> Result<bool, StoreError> {
    let file = File::open(path).map_err(StoreError::io(path, "read"))?;
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(StoreError::io(path, "locked")(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_once_each_as_they_are_added() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal-a.jsonl");
        let (a, b) = (Key(1), Key(2));
        let mut other = Other::default();
        std::fs::write(&path, claim(a) + "{\"beg").unwrap();
        other.catch_up(&path, &[]).unwrap();
        std::fs::write(&path, claim(a) + &claim(b)).unwrap();
        other.catch_up(&path, &[]).unwrap();
        assert_eq!(other.begun, HashSet::from([a, b]));
    }

    /// If U+FFFD, which has three bytes, took the place of the damaged byte, the next call would
    /// begin at the wrong byte.
    #[test]
    fn a_line_that_is_not_utf8_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal-a.jsonl");
        let row = Row {
            key: Key(3),
            coordinates: Vec::new(),
            seed: 1,
            figures: Vec::new(),
            failure: None,
            command: "~".to_owned(),
        };
        let bytes: Vec<u8> = row.line().bytes().map(|byte| if byte == b'~' { 0xff } else { byte }).collect();
        std::fs::write(&path, bytes).unwrap();
        let error = Other::default().catch_up(&path, &[]).unwrap_err().to_string();
        assert!(error.contains("journal-a.jsonl: damaged: not a line of a journal: {"), "{error}");
    }
}
