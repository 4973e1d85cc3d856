//! Reads whole files that a user names, up to a limit: an endless device, or a sparse file of
//! hundreds of gigabytes, is refused instead of filling the memory.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Reads a file, or a pipe to its end, of at most `most` bytes.
///
/// # Errors
/// Fails if the file cannot be read, or is longer than `most` bytes.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let too_long = || Error::new(ErrorKind::InvalidData, format!("longer than {most} bytes, the most that is read"));
    let file = File::open(path)?;
    let known = file.metadata()?;
    if known.is_file() && known.len() > most {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_long()) } else { Ok(bytes) }
}

/// Like [`read`], but only for a regular file: reading a pipe without a writer would wait for ever.
///
/// # Errors
/// Fails like [`read`], and if `path` is not a regular file.
pub fn read_regular(path: &Path, most: u64) -> Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    read(path, most)
}

/// Like [`read`], for text.
///
/// # Errors
/// Fails like [`read`], and if the content is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| Error::new(ErrorKind::InvalidData, "not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused_at_its_bound() {
        let error = read(Path::new("/dev/zero"), 1000).unwrap_err().to_string();
        assert_eq!(error, "longer than 1000 bytes, the most that is read");
    }

    #[test]
    fn a_sparse_file_is_refused_by_its_length_and_a_short_one_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "text").unwrap();
        assert_eq!(read_text(&path, 4).unwrap(), "text");
        assert!(read_text(&path, 3).is_err());
        File::options().write(true).open(&path).unwrap().set_len(200 << 30).unwrap();
        assert!(read(&path, 1 << 20).is_err());
    }

    #[test]
    fn only_a_regular_file_is_read_where_no_pipe_is_meant() {
        let directory = tempfile::tempdir().unwrap();
        assert!(read_regular(directory.path(), 10).unwrap_err().to_string().contains("not a regular file"));
    }
}
