//! The cache of finished runs. The file of a run is named by the hash of the study's version and
//! the run's inputs, and holds these two, the figures and a hash over all three. A file whose
//! content does not match its name, or that was cut off or changed, is not used: the run is done
//! again.

use crate::{StudyError, hash};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The cache: a folder with a file for each finished run.
pub struct Cache {
    folder: PathBuf,
    version: String,
    damaged: AtomicU64,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    version: String,
    inputs: String,
    figures: String,
    hash: String,
}

impl Entry {
    fn hash_of(version: &str, inputs: &str, figures: &str) -> String {
        hash::of(version).and(inputs).and(figures).text()
    }
}

impl Cache {
    /// Opens the cache in `folder`, which is made if it does not exist. `version` is part of every
    /// address.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(folder: &Path, version: &str) -> Result<Cache, StudyError> {
        std::fs::create_dir_all(folder)
            .map_err(|error| StudyError::Folder { path: folder.display().to_string(), error })?;
        Ok(Cache { folder: folder.to_owned(), version: version.to_owned(), damaged: AtomicU64::new(0) })
    }

    fn path(&self, inputs: &str) -> PathBuf {
        self.folder.join(format!("{}.json", hash::of(&self.version).and(inputs).text()))
    }

    /// Returns the figures of a run with these inputs; `None` if the cache has no undamaged file
    /// for them.
    pub fn get<T: DeserializeOwned>(&self, inputs: &str) -> Option<T> {
        let text = std::fs::read_to_string(self.path(inputs)).ok()?;
        let whole = || {
            let entry: Entry = serde_json::from_str(&text).ok()?;
            let right = entry.version == self.version
                && entry.inputs == inputs
                && entry.hash == Entry::hash_of(&entry.version, &entry.inputs, &entry.figures);
            if right { serde_json::from_str(&entry.figures).ok() } else { None }
        };
        let found = whole();
        if found.is_none() {
            self.damaged.fetch_add(1, Relaxed);
        }
        found
    }

    /// Stores the figures of a run. The file appears whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put<T: Serialize>(&self, inputs: &str, figures: &T) -> Result<(), StudyError> {
        let path = self.path(inputs);
        let failed = |error| StudyError::Folder { path: path.display().to_string(), error };
        let figures = serde_json::to_string(figures).map_err(|error| failed(error.into()))?;
        let hash = Entry::hash_of(&self.version, inputs, &figures);
        let entry = Entry { version: self.version.clone(), inputs: inputs.to_owned(), figures, hash };
        let text = serde_json::to_string(&entry).map_err(|error| failed(error.into()))?;
        let partial = path.with_extension(format!("partial-{}", std::process::id()));
        std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, &path)).map_err(failed)
    }

    /// Returns how often [`Cache::get`] found a file that it could not use.
    pub fn damaged(&self) -> u64 {
        self.damaged.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("baton-studies-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn what_was_put_comes_back_and_what_was_damaged_does_not() {
        let folder = folder("cache");
        let cache = Cache::open(&folder, "1").unwrap();
        assert_eq!(cache.get::<u64>("a"), None);
        cache.put("a", &7u64).unwrap();
        assert_eq!((cache.get::<u64>("a"), cache.get::<u64>("b"), cache.damaged()), (Some(7), None, 0));
        // The version is part of the address, so version "2" does not find the run of version "1".
        assert_eq!(Cache::open(&folder, "2").unwrap().get::<u64>("a"), None);
        let path = cache.path("a");
        let text = std::fs::read_to_string(&path).unwrap();
        for bad in
            [text.replace('7', "8"), text[..text.len() / 2].to_owned(), String::new(), text.replace("\"a\"", "\"b\"")]
        {
            std::fs::write(&path, bad).unwrap();
            assert_eq!(cache.get::<u64>("a"), None);
        }
        assert_eq!(cache.damaged(), 4);
        cache.put("a", &7u64).unwrap();
        assert_eq!(cache.get::<u64>("a"), Some(7));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
