//! What a sweep adds to a store. Several processes may add at the same time: each has a journal of
//! its own, and sees in the journals of the others which points are begun or done.

use super::column::{self, Column, Role};
use super::decode;
use super::encode;
use super::error::StoreError;
use super::folder::{LOCK, PARQUET, ROWS, Store, files};
use super::journal::{self, Other, Own};
use super::manifest::{self, Manifest};
use super::merge;
use super::row::Row;
use super::table::Table;
use super::whole::{self, write_whole};
use crate::hash::Key;
use crate::value::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The number of rows at which a journal becomes a Parquet file.
const FULL: usize = 1 << 14;
/// Opening a store for rows merges its Parquet files with fewer than `SMALL` rows, if there are
/// `MANY`.
const SMALL: u64 = 1 << 14;
const MANY: usize = 16;

/// Whether a point may be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// This process may run the point, and no other process will run it while this process lives.
    Mine,
    /// The point need not run, because it has its row.
    Done,
    /// Not now: another live process has begun the point, or this process has begun another
    /// combination that expands to the same configuration.
    Theirs,
}

/// A store to which this process adds rows.
pub struct Writer {
    store: Store,
    lock: File,
    /// Points that have their rows.
    done: HashSet<Key>,
    /// The figures that were asked for, of points that have their rows.
    kept: HashMap<Key, Vec<Option<f64>>>,
    /// The figures to keep in memory, as indices among the store's figures.
    wanted: Vec<usize>,
    /// For each coordinate of the store, and below for each figure: its index among those of the
    /// rows that [`Writer::record`] gets.
    coordinates: Vec<usize>,
    figures: Vec<usize>,
    own: Option<Own>,
    /// Points that this process has begun and that have no row yet.
    begun: HashSet<Key>,
    /// The rows in the journal of this process.
    rows: Vec<Row>,
    others: BTreeMap<PathBuf, Other>,
    seen: HashSet<PathBuf>,
}

impl Writer {
    /// Opens the store in `folder`, or makes one, for rows of this manifest. The figures named by
    /// `kept` stay in memory, for [`Writer::figures`].
    ///
    /// # Errors
    /// The folder holds other things, or a store of another version or space; a file cannot be read
    /// or written.
    pub fn open(folder: &Path, wanted: &Manifest, kept: &[&str]) -> Result<Writer, StoreError> {
        std::fs::create_dir_all(folder).map_err(StoreError::io(folder, "made"))?;
        // The manifest is checked before the lock is made: a folder that is refused gets no file.
        joined(folder, wanted)?;
        let lock = locked(folder)?;
        let manifest = joined(folder, wanted)?;
        if Manifest::read(folder)?.as_ref() != Some(&manifest) {
            manifest.write(folder)?;
        }
        let figures: Vec<&Column> = manifest.columns.iter().filter(|column| column.role == Role::Figure).collect();
        let place = |name: &&str| figures.iter().position(|column| column.name == *name);
        let kept = kept.iter().filter_map(place).collect();
        let coordinates = places(&manifest, wanted, Role::Coordinate);
        let figures = places(&manifest, wanted, Role::Figure);
        let store = Store { folder: folder.to_owned(), manifest };
        let mut writer = Writer {
            store,
            lock,
            done: HashSet::new(),
            kept: HashMap::new(),
            wanted: kept,
            coordinates,
            figures,
            own: None,
            begun: HashSet::new(),
            rows: Vec::new(),
            others: BTreeMap::new(),
            seen: HashSet::new(),
        };
        writer.store.settle()?;
        writer.look_around()?;
        writer.own = Some(Own::begin(folder, &unique_name())?);
        writer.unlock()?;
        Ok(writer)
    }

    /// The store, for reading.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The number of rows, as far as this process knows.
    pub fn len(&self) -> usize {
        self.done.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// Whether the point has its row.
    pub fn has(&self, key: Key) -> bool {
        self.done.contains(&key)
    }

    /// The figures that [`Writer::open`] was asked to keep, of a point that has its row.
    pub fn figures(&self, key: Key) -> Option<&[Option<f64>]> {
        self.kept.get(&key).map(Vec::as_slice)
    }

    /// Asks for the right to run a point.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn claim(&mut self, key: Key) -> Result<Claim, StoreError> {
        self.relock()?;
        let claimed = self.look_around().and_then(|()| {
            if self.done.contains(&key) {
                return Ok(Claim::Done);
            }
            if self.begun.contains(&key) || self.others.values().any(|other| other.begun.contains(&key)) {
                return Ok(Claim::Theirs);
            }
            self.add(&journal::claim(key))?;
            self.begun.insert(key);
            Ok(Claim::Mine)
        });
        self.unlock()?;
        claimed
    }

    /// Adds a row, whose coordinates and figures stand in the order of the manifest that
    /// [`Writer::open`] was given.
    ///
    /// # Errors
    /// The row cannot be written; then it is not in the store, and all earlier ones are.
    pub fn record(&mut self, row: Row) -> Result<(), StoreError> {
        let in_order = |values: &[Option<Value>], places: &[usize]| -> Vec<Option<Value>> {
            places.iter().map(|&place| values.get(place).cloned().flatten()).collect()
        };
        let (coordinates, figures) =
            (in_order(&row.coordinates, &self.coordinates), in_order(&row.figures, &self.figures));
        let row = Row { coordinates, figures, ..row };
        self.add(&row.line())?;
        self.begun.remove(&row.key);
        self.know(&row);
        self.rows.push(row);
        if self.rows.len() >= FULL { self.seal(true) } else { Ok(()) }
    }

    /// Syncs new rows to the disk if the last sync is more than five seconds ago. The sweep calls
    /// this again and again.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.own.as_mut().map_or(Ok(()), Own::sync)
    }

    /// Turns the journal into a Parquet file.
    ///
    /// # Errors
    /// The file cannot be written; then the journal stays.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.seal(false)
    }

    fn add(&mut self, line: &str) -> Result<(), StoreError> {
        match &mut self.own {
            Some(own) => own.add(line),
            None => Err(StoreError::io(&self.store.folder, "written")(io::Error::other("the store was closed"))),
        }
    }

    fn know(&mut self, row: &Row) {
        self.done.insert(row.key);
        if !self.wanted.is_empty() {
            let number = |place: &usize| row.figures.get(*place)?.as_ref()?.number();
            self.kept.insert(row.key, self.wanted.iter().map(number).collect());
        }
    }

    fn seal(&mut self, goes_on: bool) -> Result<(), StoreError> {
        self.relock()?;
        let sealed = self.seal_locked(goes_on);
        self.unlock()?;
        sealed
    }

    fn seal_locked(&mut self, goes_on: bool) -> Result<(), StoreError> {
        let Some(own) = &self.own else { return Ok(()) };
        if !self.rows.is_empty() {
            let path = parquet_of(&own.path);
            self.store.write_rows(&path, &self.rows)?;
            self.seen.insert(path);
        }
        let begun = self.own.take().map(|own| own.path);
        if goes_on {
            // Points that run now have to be claimed in the new journal before the old one goes.
            let mut next = Own::begin(&self.store.folder, &unique_name())?;
            let mut old = Other::default();
            if let Some(path) = &begun {
                old.catch_up(path, &self.store.manifest.columns)?;
            }
            old.begun.iter().try_for_each(|key| next.add(&journal::claim(*key)))?;
            self.own = Some(next);
        }
        self.rows.clear();
        begun.map_or(Ok(()), |path| std::fs::remove_file(&path).map_err(StoreError::io(&path, "removed")))
    }

    /// Reads which points other processes have begun and ended. The caller holds the store's lock.
    fn look_around(&mut self) -> Result<(), StoreError> {
        let folder = self.store.folder.clone();
        let own = self.own.as_ref().map(|own| own.path.clone());
        let journals = files(&folder, journal::PREFIX, journal::SUFFIX)?;
        self.others.retain(|path, _| journals.contains(path));
        for path in journals.into_iter().filter(|path| Some(path) != own.as_ref()) {
            let lives = journal::lives(&path)?;
            let other = self.others.entry(path.clone()).or_default();
            let rows = other.catch_up(&path, &self.store.manifest.columns)?;
            if !lives {
                // Another process may run what this one had begun when it ended.
                other.begun.clear();
            }
            rows.iter().for_each(|row| self.know(row));
        }
        for path in files(&folder, ROWS, PARQUET)? {
            if !self.seen.contains(&path) {
                self.read_keys(&path)?;
                self.seen.insert(path);
            }
        }
        Ok(())
    }

    fn read_keys(&mut self, path: &Path) -> Result<(), StoreError> {
        let all = column::all(&self.store.manifest.columns);
        let figures: Vec<&Column> = all.iter().filter(|column| column.role == Role::Figure).collect();
        let mut columns: Vec<Column> = all.iter().filter(|column| column.name == column::KEY).cloned().collect();
        columns.extend(self.wanted.iter().map(|&place| figures[place].clone()));
        let mut table = Table::new(columns);
        decode::append(path, &mut table)?;
        self.done.reserve(table.len());
        for (row, key) in table.keys().into_iter().enumerate() {
            let Some(key) = key else { continue };
            self.done.insert(key);
            if !self.wanted.is_empty() {
                let number = |at: usize| table.value(row, at).and_then(|value| value.number());
                self.kept.insert(key, (1..=self.wanted.len()).map(number).collect());
            }
        }
        Ok(())
    }

    fn relock(&self) -> Result<(), StoreError> {
        self.lock.lock().map_err(StoreError::io(&self.store.folder.join(LOCK), "locked"))
    }

    fn unlock(&self) -> Result<(), StoreError> {
        self.lock.unlock().map_err(StoreError::io(&self.store.folder.join(LOCK), "unlocked"))
    }
}

impl Store {
    /// Ends a merge that was interrupted, turns journals of processes that ended into Parquet files,
    /// and merges small files. The caller holds the store's lock.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        merge::settle(&self.folder)?;
        for path in files(&self.folder, whole::PARTIAL, "")? {
            std::fs::remove_file(&path).map_err(StoreError::io(&path, "removed"))?;
        }
        for path in files(&self.folder, journal::PREFIX, journal::SUFFIX)? {
            if journal::lives(&path)? {
                continue;
            }
            let rows = Other::default().catch_up(&path, &self.manifest.columns)?;
            if !rows.is_empty() {
                self.write_rows(&parquet_of(&path), &rows)?;
            }
            std::fs::remove_file(&path).map_err(StoreError::io(&path, "removed"))?;
        }
        let mut small = Vec::new();
        for path in files(&self.folder, ROWS, PARQUET)? {
            if decode::rows(&path)? < SMALL {
                small.push(path);
            }
        }
        if small.len() < MANY { Ok(()) } else { self.merge(&small, &|_| true) }
    }

    pub(super) fn write_rows(&self, path: &Path, rows: &[Row]) -> Result<(), StoreError> {
        let columns = self.columns();
        write_whole(path, &mut |file| encode::write(&mut *file, &columns, rows).map_err(io_error))
    }

    /// Replaces several files by one, with each row once for which `keeps` is true. The caller
    /// holds the store's lock.
    pub(super) fn merge(&self, paths: &[PathBuf], keeps: &dyn Fn(&Row) -> bool) -> Result<(), StoreError> {
        let mut table = Table::new(self.columns());
        paths.iter().try_for_each(|path| decode::append(path, &mut table))?;
        let mut seen = HashSet::new();
        let rows: Vec<Row> = table.rows().into_iter().filter(|row| seen.insert(row.key) && keeps(row)).collect();
        let write = |path: &Path, with_rows: bool| self.write_rows(path, if with_rows { &rows[..] } else { &[] });
        merge::replace(&self.folder, paths, &unique_name(), &write)
    }

    /// Removes the rows of points that failed, so that the next sweep, for rows of the manifest
    /// `wanted`, runs these points again. Returns the number of removed rows.
    ///
    /// # Errors
    /// The store is of another version or space, another process adds to it, or a file cannot be
    /// read or written.
    pub fn forget_failures(&self, wanted: &Manifest) -> Result<usize, StoreError> {
        self.manifest.takes(wanted).map_err(|why| StoreError::Other { path: self.folder.clone(), why })?;
        let lock = locked(&self.folder)?;
        for path in files(&self.folder, journal::PREFIX, journal::SUFFIX)? {
            if journal::lives(&path)? {
                let why = "a sweep is running in it; expected none while rows are removed".to_owned();
                return Err(StoreError::Other { path: self.folder.clone(), why });
            }
        }
        let failed = self.table(Some(&[column::FAILURE]), None)?;
        let failed = (0..failed.len()).filter(|&row| failed.value(row, 0).is_some()).count();
        if failed > 0 {
            self.settle()?;
            let paths = files(&self.folder, ROWS, PARQUET)?;
            self.merge(&paths, &|row| row.failure.is_none())?;
        }
        drop(lock);
        Ok(failed)
    }
}

fn io_error(error: parquet::errors::ParquetError) -> io::Error {
    match error {
        parquet::errors::ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    }
}

/// The manifest of the store in `folder` once rows of `wanted` stand in it.
fn joined(folder: &Path, wanted: &Manifest) -> Result<Manifest, StoreError> {
    let Some(found) = Manifest::read(folder)? else {
        foreign(folder)?;
        return Ok(wanted.clone());
    };
    found.takes(wanted).map_err(|why| StoreError::Other { path: folder.to_owned(), why })?;
    Ok(Manifest { space: wanted.space.clone(), ..found })
}

/// For each column of the store with this role: its index among those of `added` with this role.
fn places(store: &Manifest, added: &Manifest, role: Role) -> Vec<usize> {
    let of = |manifest: &Manifest| -> Vec<String> {
        let columns = manifest.columns.iter().filter(|column| column.role == role);
        columns.map(|column| column.name.clone()).collect()
    };
    let added = of(added);
    // `takes` has seen that both have the same names.
    of(store).iter().filter_map(|name| added.iter().position(|other| other == name)).collect()
}

/// Takes the lock of the store in `folder`; waits while another process has it. The lock is held
/// until the file is unlocked or dropped.
fn locked(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(LOCK);
    let open = || -> io::Result<File> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path)?;
        file.flush()?;
        file.lock()?;
        Ok(file)
    };
    open().map_err(StoreError::io(&path, "locked"))
}

/// Refuses a folder with files other than the lock, `store.json` and partial files.
fn foreign(folder: &Path) -> Result<(), StoreError> {
    let known = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name == LOCK || name == manifest::FILE || name.starts_with(whole::PARTIAL)
    };
    match files(folder, "", "")?.iter().find(|path| !known(path)) {
        Some(other) => {
            let why = format!("it holds {}, and no store.json", other.file_name().unwrap_or_default().display());
            Err(StoreError::NoStore { path: folder.to_owned(), why })
        }
        None => Ok(()),
    }
}

/// The Parquet file that a journal becomes.
fn parquet_of(journal: &Path) -> PathBuf {
    let name = journal.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.trim_start_matches(journal::PREFIX).trim_end_matches(journal::SUFFIX);
    journal.with_file_name(format!("{ROWS}{name}{PARQUET}"))
}

/// A name that no other process has given, on this machine or another.
fn unique_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host.trim().chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{now:x}-{host}-{}", std::process::id())
}
