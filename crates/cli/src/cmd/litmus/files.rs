//! Finds and reads the files of litmus tests.

use crate::error::BadInput;
use crate::ui;
use baton_litmus::Test;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A test that was read.
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// The name of the folder that holds the file.
    pub(super) suite: String,
    pub(super) test: Arc<Test>,
}

/// Largest number of errors that are shown when many files cannot be read.
const SHOWN: usize = 20;

/// Reads the files, and those below the folders, in the order of their paths.
pub(super) fn find(paths: &[PathBuf], skip: bool) -> anyhow::Result<Vec<Found>> {
    let mut files = Vec::new();
    for path in paths {
        let about = std::fs::metadata(path)
            .map_err(|error| BadInput::new(format_args!("cannot read `{}`: {error}", path.display())))?;
        if about.is_dir() {
            let before = files.len();
            search(path, &mut files)?;
            if files.len() == before {
                return Err(BadInput::new(format_args!("no *.litmus file in `{}` or below", path.display())).into());
            }
        } else {
            files.push(path.clone());
        }
    }
    files.sort();
    files.dedup();
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for path in files {
        match read(&path) {
            Ok(test) => found.push(Found { suite: suite(&path), test: Arc::new(test), path }),
            Err(message) if skip => ui::warn(format_args!("left out: {message}")),
            Err(message) => wrong.push(message),
        }
    }
    if !wrong.is_empty() {
        let more = wrong.len().saturating_sub(SHOWN);
        wrong.truncate(SHOWN);
        if more > 0 {
            wrong.push(format!("and {more} more files"));
        }
        return Err(BadInput::new(wrong.join("\n")).hint("--skip-unsupported leaves such files out").into());
    }
    if found.is_empty() {
        return Err(BadInput::new("no test is left").into());
    }
    Ok(found)
}

fn search(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), BadInput> {
    let failed = |error| BadInput::new(format_args!("cannot read `{}`: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        // A link to a folder is not followed, because it may lead back up.
        if entry.file_type().map_err(failed)?.is_dir() {
            search(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "litmus") && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// Bytes of the longest litmus test that is read.
const MOST_BYTES: u64 = 4 << 20;

fn read(path: &Path) -> Result<Test, String> {
    let name = path.display().to_string();
    let text = baton_trace::files::read(path, MOST_BYTES).map_err(|error| format!("{name}: {error}"))?;
    let text = String::from_utf8(text).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|c| **c == b'\n').count();
        format!("{name}:{line}: this is no text (UTF-8)")
    })?;
    Test::parse(&text, &name).map_err(|error| error.to_string())
}

fn suite(path: &Path) -> String {
    let folder = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    folder.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
