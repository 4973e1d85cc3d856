//! Replaces several Parquet files by one. A program that reads all files `*.parquet` finds each row
//! once, also if the process that merges is killed at any moment.
//!
//! A rename changes the content behind one name, and a merge changes it behind several. So each
//! name becomes a symbolic link to the content that it had, all these links lead through the link
//! `now`, and one rename makes `now` lead to the new contents:
//!
//! ```text
//! rows-A.parquet -> .merge-M/now/rows-A.parquet      .merge-M/now -> before, then after
//! rows-B.parquet -> .merge-M/now/rows-B.parquet
//! rows-M.parquet -> .merge-M/now/rows-M.parquet
//!
//! .merge-M/before/rows-A.parquet  rows of A          .merge-M/after/rows-A.parquet  no rows
//! .merge-M/before/rows-B.parquet  rows of B          .merge-M/after/rows-B.parquet  no rows
//! .merge-M/before/rows-M.parquet  no rows            .merge-M/after/rows-M.parquet  all rows
//! ```
//!
//! Then the links without rows are removed, and the merged file takes the place of its link. The
//! next process that opens the store for rows ends a merge that was interrupted.

use super::error::StoreError;
use super::folder::{PARQUET, ROWS, files};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// How the names of folders of merges begin.
const FOLDER: &str = ".merge-";
const NOW: &str = "now";
const BEFORE: &str = "before";
const AFTER: &str = "after";

/// Replaces `sources`, files of the store in `store`, by the file `rows-NAME.parquet`. `write`
/// writes that file with all rows, or a file without rows. The caller holds the store's lock.
pub(super) fn replace(
    store: &Path,
    sources: &[PathBuf],
    name: &str,
    write: &dyn Fn(&Path, bool) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let folder = store.join(format!("{FOLDER}{name}"));
    let (before, after) = (folder.join(BEFORE), folder.join(AFTER));
    let merged = store.join(format!("{ROWS}{name}{PARQUET}"));
    for part in [&before, &after] {
        step(part, "made", || fs::create_dir_all(part))?;
    }
    write(&within(&before, &merged), false)?;
    write(&within(&after, &merged), true)?;
    for source in sources {
        link(source, &within(&before, source))?;
        link(&within(&before, &merged), &within(&after, source))?;
    }
    points_to(&folder.join(NOW), Path::new(BEFORE), &folder)?;
    // After a power failure, no link may lead to what is not on the disk.
    [before.as_path(), &after, &folder, store].into_iter().try_for_each(sync)?;
    for path in sources.iter().chain([&merged]) {
        let target = Path::new(folder.file_name().unwrap_or_default()).join(NOW);
        points_to(path, &within(&target, path), &folder)?;
    }
    // Nor may `now` lead to the new contents before all names lead through it.
    sync(store)?;
    points_to(&folder.join(NOW), Path::new(AFTER), &folder)?;
    end(store, &folder)
}

/// Ends merges that were interrupted: takes them back, or completes those whose link `now` leads to
/// the new contents. The caller holds the store's lock.
pub(super) fn settle(store: &Path) -> Result<(), StoreError> {
    files(store, FOLDER, "")?.iter().try_for_each(|folder| end(store, folder))
}

/// Puts plain files in the place of the links that lead into the folder of a merge, and removes the
/// folder.
fn end(store: &Path, folder: &Path) -> Result<(), StoreError> {
    sync(folder)?;
    let name = folder.file_name().unwrap_or_default();
    let merged = name.to_str().and_then(|name| name.strip_prefix(FOLDER)).unwrap_or_default();
    let merged = store.join(format!("{ROWS}{merged}{PARQUET}"));
    // Nothing leads into a folder without `now`.
    let is_after = fs::read_link(folder.join(NOW)).is_ok_and(|part| part == Path::new(AFTER));
    for path in files(store, ROWS, PARQUET)? {
        if !fs::read_link(&path).is_ok_and(|target| target.starts_with(name)) {
            continue;
        }
        if (path == merged) == is_after {
            let part = folder.join(if is_after { AFTER } else { BEFORE });
            let plain = within(&part, &path);
            step(&path, "written", || fs::rename(&plain, &path))?;
        } else {
            step(&path, "removed", || fs::remove_file(&path))?;
        }
    }
    sync(store)?;
    step(folder, "removed", || fs::remove_dir_all(folder))
}

/// The path of the file in `folder` that has the name of `path`.
fn within(folder: &Path, path: &Path) -> PathBuf {
    folder.join(path.file_name().unwrap_or(OsStr::new("")))
}

/// Makes `path` a symbolic link to `target`, in place of what `path` was.
fn points_to(path: &Path, target: &Path, folder: &Path) -> Result<(), StoreError> {
    let new = folder.join("new");
    step(path, "made a symbolic link", || symlink(target, &new))?;
    step(path, "made a symbolic link", || fs::rename(&new, path))
}

/// Gives a file a second name.
fn link(file: &Path, name: &Path) -> Result<(), StoreError> {
    step(name, "made a hard link", || fs::hard_link(file, name))
}

fn sync(folder: &Path) -> Result<(), StoreError> {
    step(folder, "written", || File::open(folder)?.sync_all())
}

/// Does a step, between which and the next the process may be killed.
fn step(path: &Path, done: &'static str, act: impl FnOnce() -> io::Result<()>) -> Result<(), StoreError> {
    #[cfg(test)]
    if tests::is_killed() {
        return Err(StoreError::io(path, done)(io::Error::other("killed by the test")));
    }
    act().map_err(StoreError::io(path, done))
}

#[cfg(test)]
mod tests {
    use super::super::{Column, Manifest, Role, Row, SpaceText, Store, Table};
    use super::*;
    use crate::hash::Key;
    use crate::store::{column, decode};
    use crate::value::{Kind, Value};
    use std::cell::Cell;

    thread_local! {
        /// Steps that this thread does before it is killed.
        static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    pub(super) fn is_killed() -> bool {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(1));
        left == 0
    }

    /// Calls `act`, which is killed after `steps` steps. Returns whether it came to its end.
    fn killed_after(steps: usize, act: impl FnOnce() -> Result<(), StoreError>) -> bool {
        LEFT.set(steps);
        let ended = act();
        LEFT.set(usize::MAX);
        if let Err(error) = &ended {
            assert!(error.to_string().ends_with("killed by the test"), "{error}");
        }
        ended.is_ok()
    }

    /// A store of three files, with the keys 1 and 2, 3, and 4 and 5.
    fn store(folder: &Path) -> Store {
        let column = |name: &str, role| Column {
            name: name.into(),
            role,
            kind: Kind::Whole,
            unit: String::new(),
            what: String::new(),
            source: String::new(),
        };
        let columns = vec![column("x", Role::Coordinate), column("sum", Role::Figure)];
        let manifest = Manifest::new("a test".into(), "toy", columns, SpaceText::default());
        manifest.write(folder).unwrap();
        let store = Store::open(folder).unwrap();
        for (name, keys) in [("rows-A.parquet", 1..3), ("rows-B.parquet", 3..4), ("rows-C.parquet", 4..6)] {
            let row = |key: i64| Row {
                key: Key(key as u128),
                coordinates: vec![Some(Value::Whole(key))],
                seed: 1,
                figures: vec![Some(Value::Whole(10 * key))],
                failure: None,
                command: "toy".into(),
            };
            store.write_rows(&folder.join(name), &keys.map(row).collect::<Vec<_>>()).unwrap();
        }
        store
    }

    /// The values of x that a program finds which reads all Parquet files.
    fn found(store: &Store) -> Vec<Value> {
        let x = store.columns().into_iter().find(|column| column.name == "x").unwrap();
        let mut table = Table::new(vec![x]);
        for path in files(&store.folder, "", PARQUET).unwrap() {
            decode::append(&path, &mut table).unwrap();
        }
        table.sort(&[0], false);
        (0..table.len()).map(|row| table.value(row, 0).unwrap()).collect()
    }

    fn values(keys: &[i64]) -> Vec<Value> {
        keys.iter().copied().map(Value::Whole).collect()
    }

    #[test]
    fn each_row_is_there_once_wherever_the_process_is_killed() {
        let (before, after) = (values(&[1, 2, 3, 4, 5]), values(&[1, 2, 3, 4]));
        let mut seen = Vec::new();
        for steps in 0.. {
            let folder = tempfile::tempdir().unwrap();
            let store = store(folder.path());
            let sources = files(folder.path(), ROWS, PARQUET).unwrap();
            let is_whole = killed_after(steps, || store.merge(&sources, &|row| row.key != Key(5)));
            let rows = found(&store);
            assert!(rows == before || rows == after, "killed after {steps} steps: {rows:?}");
            assert_eq!(store.table(Some(&[column::KEY]), None).unwrap().len(), rows.len(), "{steps}");
            // The next process may be killed as well.
            for again in 0.. {
                let is_settled = killed_after(again, || store.settle());
                assert_eq!(found(&store), rows, "killed after {steps} and {again} steps");
                if is_settled {
                    break;
                }
            }
            for entry in folder.path().read_dir().unwrap().map(Result::unwrap) {
                let is_plain = entry.file_type().unwrap().is_file();
                assert!(is_plain && !entry.file_name().to_str().unwrap().starts_with('.'), "{steps}: {entry:?}");
            }
            seen.push(rows == after);
            if is_whole {
                break;
            }
        }
        assert!(seen.len() > 20 && seen.is_sorted() && seen[seen.len() - 1] && !seen[0], "{seen:?}");
    }

    /// Readers do not take the store's lock: they read again if a file has other rows now.
    #[test]
    fn a_reader_notices_that_contents_were_exchanged() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        let contents = store.contents().unwrap();
        let sources = files(folder.path(), ROWS, PARQUET).unwrap();
        for steps in 0.. {
            killed_after(steps, || store.merge(&sources, &|_| true));
            let is_same = decode::rows(&sources[0]).is_ok_and(|rows| rows == 2);
            assert_eq!(store.has(&contents).unwrap(), is_same, "killed after {steps} steps");
            if !is_same {
                assert!(steps > 0);
                break;
            }
            store.settle().unwrap();
        }
    }
}
