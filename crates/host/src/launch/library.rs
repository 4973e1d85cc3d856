//! Finds the preload library: beside `baton` in a build (`target/release`), or in `../lib/baton` or
//! `../lib` of an installation.

use crate::error::Failed;
use std::path::{Path, PathBuf};

const NAME: &str = "libbaton_preload.so";

/// The path of the preload library that belongs to this `baton`.
pub fn find() -> Result<PathBuf, Failed> {
    let exe = std::env::current_exe().map_err(Failed::because("cannot find out where `baton` itself lies"))?;
    beside(&exe)
}

fn beside(exe: &Path) -> Result<PathBuf, Failed> {
    let dir = exe.parent().unwrap_or(Path::new("/"));
    let places = [dir.join(NAME), dir.join("../lib/baton").join(NAME), dir.join("../lib").join(NAME)];
    let found = places.iter().find(|path| path.is_file());
    let found = found.ok_or_else(|| {
        let places: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        Failed::new(format_args!(
            "{NAME} is not where it belongs to this `baton` (looked at {}); build it with `cargo build --release`",
            places.join(", ")
        ))
    })?;
    let found = found.canonicalize().map_err(Failed::because(format!("cannot resolve {}", found.display())))?;
    // The loader splits LD_PRELOAD at blanks and colons, and has no way to quote them.
    let text = found.to_string_lossy();
    if text.contains([' ', ':', '\t', '\n']) {
        let cannot = "LD_PRELOAD cannot name a path with a blank or a colon; move the tree";
        return Err(Failed::new(format_args!("{NAME} lies at `{text}`: {cannot}")));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_beside_or_installed_and_its_lack_is_explained() {
        let dir = tempfile::tempdir().unwrap();
        let (bin, lib) = (dir.path().join("bin"), dir.path().join("lib/baton"));
        std::fs::create_dir_all(&bin).unwrap();
        let exe = bin.join("baton");
        let missing = beside(&exe).unwrap_err().to_string();
        assert!(missing.contains("cargo build --release") && missing.contains("lib/baton"), "{missing}");
        std::fs::create_dir_all(&lib).unwrap();
        std::fs::write(lib.join(NAME), "").unwrap();
        assert_eq!(beside(&exe).unwrap(), lib.canonicalize().unwrap().join(NAME));
        std::fs::write(bin.join(NAME), "").unwrap();
        assert_eq!(beside(&exe).unwrap(), bin.canonicalize().unwrap().join(NAME));
    }

    #[test]
    fn a_path_that_ld_preload_cannot_name_is_refused() {
        let dir = tempfile::Builder::new().prefix("a b").tempdir().unwrap();
        std::fs::write(dir.path().join(NAME), "").unwrap();
        assert!(beside(&dir.path().join("baton")).unwrap_err().to_string().contains("blank or a colon"));
    }
}
