//! The counts of a running program: makes and reads the file in which the preload library counts.

use super::exec::Exec;
use crate::error::Failed;
use baton_trace::counts::{self, Totals};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The variable that names the progress point.
const POINT: &str = "BATON_PROGRESS";
/// The variable that names the file.
const FILE: &str = "BATON_PROGRESS_FILE";
/// A folder whose files lie in memory, so that counting writes to no disk.
const MEMORY: &str = "/dev/shm";

/// A file of counts; dropping the value removes the file.
pub struct Counts {
    file: PathBuf,
}

impl Counts {
    /// Makes a file in which nothing has been counted.
    pub fn new() -> Result<Counts, Failed> {
        let memory = Path::new(MEMORY);
        Counts::within(memory).or_else(|_| Counts::within(&std::env::temp_dir()))
    }

    fn within(folder: &Path) -> Result<Counts, Failed> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let file = folder.join(format!("baton-counts.{}.{number}", std::process::id()));
        let write = || {
            // A killed process with the same number may have left such a file. It must not be
            // written into, so it is removed and made anew.
            let _ = std::fs::remove_file(&file);
            let mut made = std::fs::OpenOptions::new().write(true).create_new(true).open(&file)?;
            made.set_len(counts::LENGTH as u64)?;
            made.write_all(&counts::MAGIC.to_le_bytes())
        };
        write().map_err(Failed::because(format!("cannot make {} for the counts of the program", file.display())))?;
        Ok(Counts { file })
    }

    /// Makes the program count. `point` is the progress point, in the form that the library takes.
    pub fn ask(&self, exec: &mut Exec, point: &str) {
        exec.set(POINT, point).set(FILE, &self.file);
    }

    /// What has been counted so far.
    pub fn read(&self) -> Result<Totals, Failed> {
        let what = || format!("cannot read the program's counts in {}", self.file.display());
        let bytes = std::fs::read(&self.file).map_err(Failed::because(what()))?;
        Totals::of(&bytes).ok_or_else(|| Failed::new(format_args!("{}: they are no counts", what())))
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_has_counted_nothing_and_goes_with_its_value() {
        let counts = Counts::new().unwrap();
        assert_eq!(counts.read().unwrap(), Totals::default());
        let file = counts.file.clone();
        std::fs::write(&file, "else").unwrap();
        assert!(counts.read().unwrap_err().to_string().contains("no counts"));
        drop(counts);
        assert!(!file.exists());
    }
}
