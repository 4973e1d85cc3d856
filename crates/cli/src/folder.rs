//! The directory into which a profile is written. The directory gets its name only when it is
//! complete: until then it has another name, in the same place, so that no reader sees a
//! half-written profile.

use crate::error::BadInput;
use anyhow::Context;
use std::path::{Path, PathBuf};

/// A directory under construction. It is removed unless it is finished or kept.
pub(crate) struct Folder {
    place: PathBuf,
    partial: PathBuf,
    replace: bool,
    done: bool,
}

impl Folder {
    /// Begins a directory for `place`, which must not exist (or must be empty), unless it may be
    /// replaced.
    pub(crate) fn begin(place: &Path, replace: bool) -> anyhow::Result<Folder> {
        let place = std::path::absolute(place).context("cannot tell the current directory")?;
        let shown = place.display();
        let name = place.file_name().and_then(|n| n.to_str());
        let name = name.ok_or_else(|| BadInput::new(format!("`{shown}` cannot be the name of a directory")))?;
        if place.exists() {
            let Ok(mut entries) = place.read_dir() else {
                return Err(BadInput::new(format!("`{shown}` exists and is not a directory")).into());
            };
            let ours = place.join(MARK).is_file();
            match (entries.next().is_none(), replace) {
                (true, _) => {}
                (false, true) if ours => {}
                (false, true) => {
                    return Err(BadInput::new(format!("`{shown}` is not a profile: it will not be replaced")).into());
                }
                (false, false) => {
                    let hint = "name another directory with -o, or replace it with --force";
                    return Err(BadInput::new(format!("`{shown}` exists and is not empty")).hint(hint).into());
                }
            }
        }
        let parent = place.parent().unwrap_or(Path::new("/"));
        let partial = parent.join(format!("{name}.unfinished-{}", std::process::id()));
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::create_dir(&partial))
            .map_err(|e| BadInput::new(format!("cannot make a directory in `{}`: {e}", parent.display())))?;
        Ok(Folder { place, partial, replace, done: false })
    }

    /// The path into which to write meanwhile.
    pub(crate) fn path(&self) -> &Path {
        &self.partial
    }

    /// Gives the directory its name, and returns the name.
    pub(crate) fn finish(mut self) -> anyhow::Result<PathBuf> {
        self.done = true;
        let name = || format!("cannot give {} its name {}", self.partial.display(), self.place.display());
        if self.replace && self.place.exists() {
            // The old directory is removed only when the new one is complete.
            let old = self.partial.with_extension("old");
            std::fs::rename(&self.place, &old).with_context(name)?;
            std::fs::rename(&self.partial, &self.place).with_context(name)?;
            std::fs::remove_dir_all(&old).with_context(|| format!("cannot remove {}", old.display()))?;
        } else {
            std::fs::rename(&self.partial, &self.place).with_context(name)?;
        }
        Ok(self.place.clone())
    }

    /// Keeps the directory under its unfinished name, and returns that name.
    pub(crate) fn keep_unfinished(mut self) -> PathBuf {
        self.done = true;
        self.partial.clone()
    }
}

/// Writes a file whole or not at all, and makes the directories above it.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let path = std::path::absolute(path)?;
    let parent = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent)?;
    let mut file = tempfile::Builder::new().permissions(public()).tempfile_in(parent)?;
    std::io::Write::write_all(&mut file, content)?;
    file.persist(&path).map_err(|e| e.error)?;
    Ok(())
}

/// The permissions of an ordinary file, from which the process's mask is subtracted.
fn public() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

/// The file that marks a directory as a profile.
const MARK: &str = "meta.json";

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.done {
            // Nothing else can be done about an error here, and an earlier error is on its way to
            // the user.
            let _ = std::fs::remove_dir_all(&self.partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            dir.read_dir().unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn it_has_its_name_only_when_whole() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::begin(&dir.path().join("a/b"), false).unwrap();
        std::fs::write(folder.path().join(MARK), "1").unwrap();
        assert!(!dir.path().join("a/b").exists());
        folder.finish().unwrap();
        assert_eq!(names(&dir.path().join("a")), ["b"]);
        assert_eq!(names(&dir.path().join("a/b")), [MARK]);
    }

    #[test]
    fn what_is_not_finished_goes_away() {
        let dir = tempfile::tempdir().unwrap();
        drop(Folder::begin(&dir.path().join("b"), false).unwrap());
        assert!(names(dir.path()).is_empty());
        let kept = Folder::begin(&dir.path().join("b"), false).unwrap().keep_unfinished();
        assert!(kept.is_dir());
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x/y.toml");
        write_whole(&path, b"old and long").unwrap();
        write_whole(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(names(&dir.path().join("x")), ["y.toml"]);
        assert!(write_whole(Path::new("/proc/y.toml"), b"").is_err());
    }

    #[test]
    fn only_a_profile_is_replaced_and_only_on_demand() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("b");
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("precious"), "").unwrap();
        let refused = |replace| Folder::begin(&place, replace).err().unwrap().to_string();
        assert!(refused(false).contains("is not empty") && refused(true).contains("not a profile"));
        std::fs::write(place.join(MARK), "old").unwrap();
        let folder = Folder::begin(&place, true).unwrap();
        std::fs::write(folder.path().join(MARK), "new").unwrap();
        folder.finish().unwrap();
        assert_eq!(names(dir.path()), ["b"]);
        assert_eq!(std::fs::read_to_string(place.join(MARK)).unwrap(), "new");
        assert!(Folder::begin(&place.join(MARK), false).err().unwrap().to_string().contains("not a directory"));
        assert!(Folder::begin(Path::new("/"), false).is_err());
    }
}
