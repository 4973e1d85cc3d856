//! Files that are there whole or not at all, also after the power failed.

use super::error::StoreError;
use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// How the temporary names of files begin while they are written.
pub(crate) const PARTIAL: &str = ".partial-";

/// Has `write` fill a file with a temporary name, syncs it to the disk, and renames it to `path`.
pub(crate) fn write_whole(path: &Path, write: &mut dyn FnMut(&mut File) -> io::Result<()>) -> Result<(), StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = || -> io::Result<()> {
        let public = std::fs::Permissions::from_mode(0o666);
        let mut file = tempfile::Builder::new().prefix(PARTIAL).permissions(public).tempfile_in(folder)?;
        write(file.as_file_mut())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        File::open(folder)?.sync_all()
    };
    let mut written = written;
    written().map_err(StoreError::io(path, "written"))
}
