//! The files of a store, and what reading them gives.

use super::column::{self, Column};
use super::decode;
use super::error::StoreError;
use super::filter;
use super::journal::{self, Other};
use super::manifest::Manifest;
use super::table::Table;
use crate::expr::Expr;
use crate::hash::Key;
use std::collections::HashSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How the names of Parquet files with rows begin.
pub(crate) const ROWS: &str = "rows-";
pub(crate) const PARQUET: &str = ".parquet";
/// The file whose lock a process holds while it adds or removes files of the store, or claims a
/// point.
pub(crate) const LOCK: &str = "store.lock";

/// How often a reader starts again at most because another process merged files.
const AGAIN: usize = 20;

/// A store that was opened.
pub struct Store {
    pub(crate) folder: PathBuf,
    pub(crate) manifest: Manifest,
}

/// The files in `folder` whose names begin with `prefix` and end with `suffix`, in the order of
/// names.
pub(crate) fn files(folder: &Path, prefix: &str, suffix: &str) -> Result<Vec<PathBuf>, StoreError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(StoreError::io(folder, "read"))? {
        let path = entry.map_err(StoreError::io(folder, "read"))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(prefix) && name.ends_with(suffix) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

impl Store {
    /// Opens a store.
    ///
    /// # Errors
    /// The folder is no store or a store of another form, or `store.json` cannot be read.
    pub fn open(folder: &Path) -> Result<Store, StoreError> {
        let none = |why: &str| StoreError::NoStore { path: folder.to_owned(), why: why.to_owned() };
        if !folder.is_dir() {
            return Err(none("there is no such folder"));
        }
        let manifest = Manifest::read(folder)?.ok_or_else(|| none("it has no store.json"))?;
        Ok(Store { folder: folder.to_owned(), manifest })
    }

    /// What the store says about itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// All columns of the store.
    pub fn columns(&self) -> Vec<Column> {
        column::all(&self.manifest.columns)
    }

    /// The rows in which `condition` holds, or all rows; each key once. The table has the columns
    /// `names`, or all. Rows are ordered by coordinates, first those in `names`, and then by seed.
    ///
    /// # Errors
    /// An unknown column, a condition that cannot be computed, a file that cannot be read.
    pub fn table(&self, names: Option<&[&str]>, condition: Option<&Expr>) -> Result<Table, StoreError> {
        let all = self.columns();
        let find = |name: &str| {
            all.iter().find(|column| column.name == name).cloned().ok_or_else(|| StoreError::Column {
                path: self.folder.clone(),
                name: name.to_owned(),
                known: all.iter().map(|column| column.name.clone()).collect(),
            })
        };
        let mut wanted = match names {
            Some(names) => names.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?,
            None => all.clone(),
        };
        let shown = wanted.len();
        // Also needed: coordinates and seed to order rows, the key to drop copies, the condition's
        // names.
        let needed = condition.map(Expr::names).unwrap_or_default();
        let ordering =
            all.iter().filter(|column| column.role == column::Role::Coordinate || column.name == column::SEED);
        let mut more: Vec<Column> = ordering.cloned().collect();
        more.push(find(column::KEY)?);
        for name in needed {
            more.push(find(name)?);
        }
        for column in more {
            if !wanted.contains(&column) {
                wanted.push(column);
            }
        }
        let mut table = self.read(wanted)?;
        once(&mut table);
        if let Some(condition) = condition {
            filter::keep(&mut table, condition)?;
        }
        let order: Vec<usize> = ordering_columns(&table);
        table.sort(&order, false);
        table.select(&(0..shown).collect::<Vec<_>>());
        Ok(table)
    }

    /// All rows of all files; a row may come twice, from a journal and from the file made of it.
    fn read(&self, columns: Vec<Column>) -> Result<Table, StoreError> {
        let mut left = AGAIN;
        loop {
            let mut table = Table::new(columns.clone());
            match self.read_once(&mut table) {
                Ok(()) => return Ok(table),
                Err(StoreError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound && left > 0 => left -= 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn read_once(&self, table: &mut Table) -> Result<(), StoreError> {
        let contents = self.contents()?;
        // Journals come first: a journal that becomes a file meanwhile is then read twice, not
        // never.
        for path in files(&self.folder, journal::PREFIX, journal::SUFFIX)? {
            let rows = Other::default().catch_up(&path, &self.manifest.columns)?;
            let places: Vec<usize> = table.columns.iter().map(|column| self.place(column)).collect();
            for row in rows {
                for ((column, data), &at) in table.columns.iter().zip(&mut table.data).zip(&places) {
                    data.push(row.value(column, at));
                }
                table.rows += 1;
            }
        }
        files(&self.folder, ROWS, PARQUET)?.iter().try_for_each(|path| decode::append(path, table))?;
        if self.has(&contents)? {
            return Ok(());
        }
        // As if a file had vanished: `read` starts again.
        let error = io::Error::new(io::ErrorKind::NotFound, "other processes merged its files during each attempt");
        Err(StoreError::io(&self.folder, "read")(error))
    }

    /// The Parquet files, each with the inode that its name leads to: the inode stays while a merge
    /// prepares its links, and changes with the content.
    pub(super) fn contents(&self) -> Result<Vec<(PathBuf, u64)>, StoreError> {
        let inode = |path: PathBuf| {
            let inode = std::fs::metadata(&path).map_err(StoreError::io(&path, "read"))?.ino();
            Ok((path, inode))
        };
        files(&self.folder, ROWS, PARQUET)?.into_iter().map(inode).collect()
    }

    /// Whether the names lead to the same contents as before. Other files may have been added.
    pub(super) fn has(&self, contents: &[(PathBuf, u64)]) -> Result<bool, StoreError> {
        let now: HashSet<(PathBuf, u64)> = self.contents()?.into_iter().collect();
        Ok(contents.iter().all(|file| now.contains(file)))
    }

    /// The number of columns with the same role before this one.
    fn place(&self, column: &Column) -> usize {
        let same = self.manifest.columns.iter().filter(|other| other.role == column.role);
        same.take_while(|other| other.name != column.name).count()
    }

    /// The number of points that live processes have begun and not ended.
    ///
    /// # Errors
    /// A journal that cannot be read.
    pub fn running(&self) -> Result<usize, StoreError> {
        let mut running = 0;
        for path in files(&self.folder, journal::PREFIX, journal::SUFFIX)? {
            let mut other = Other::default();
            match journal::lives(&path).and_then(|lives| Ok((lives, other.catch_up(&path, &self.manifest.columns)?))) {
                Ok((lives, _)) => running += if lives { other.begun.len() } else { 0 },
                // The journal became a Parquet file meanwhile.
                Err(StoreError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(running)
    }
}

/// The columns by which rows are ordered.
fn ordering_columns(table: &Table) -> Vec<usize> {
    let by = |(place, column): (usize, &Column)| {
        (column.role == column::Role::Coordinate || column.name == column::SEED).then_some(place)
    };
    let all: Vec<usize> = table.columns.iter().enumerate().filter_map(by).collect();
    let seed = table.column(column::SEED);
    all.iter().copied().filter(|place| Some(*place) != seed).chain(seed).collect()
}

/// Keeps the first of all rows with the same key.
fn once(table: &mut Table) {
    let mut seen: HashSet<Key> = HashSet::with_capacity(table.rows);
    let keys = table.keys();
    let first = |(row, key): (usize, Option<Key>)| key.is_none_or(|key| seen.insert(key)).then_some(row);
    let kept: Vec<usize> = keys.into_iter().enumerate().filter_map(first).collect();
    if kept.len() < table.rows {
        table.keep(&kept);
    }
}
