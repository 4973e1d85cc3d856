//! Where files lie that belong to Baton and not to a project: chip files and profiles beside the
//! installed command, this machine's calibration in the user's data folder, programs that are built by themselves.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Names of the calibration's chip files: one with caches, directory and network, and one with
/// memory of fixed latencies.
const CALIBRATION: &str = "this-host.toml";
const FIXED: &str = "this-host-fixed.toml";

/// Folders that may hold chip files, the nearest first: `chips` in the current directory, this
/// machine's calibration, then `share/baton/chips` of the installation or `chips` of the tree in
/// which the command was built.
pub(crate) fn chip_folders() -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("chips")];
    folders.extend(machine_folder());
    let exe = std::env::current_exe().ok();
    folders.extend(shipped(exe.as_deref(), SHIPPED.get().map(PathBuf::as_path), "chips"));
    folders
}

/// The folder that holds `chips` and `profiles`, if the program is not the installed command.
static SHIPPED: OnceLock<PathBuf> = OnceLock::new();

/// Says which folder holds the shipped `chips` and `profiles`. The first call counts.
pub(crate) fn set_shipped(folder: PathBuf) {
    SHIPPED.get_or_init(|| folder);
}

/// A file or folder of the project, such as `profiles/ocor`: in the current directory, otherwise
/// where it is shipped. A path that is in neither stays as it is.
pub(crate) fn input(path: &Path) -> PathBuf {
    let exe = std::env::current_exe().ok();
    beside(exe.as_deref(), SHIPPED.get().map(PathBuf::as_path), path)
        .filter(|_| !path.exists())
        .unwrap_or_else(|| path.to_owned())
}

/// The shipped file or folder with that name.
fn beside(exe: Option<&Path>, set: Option<&Path>, path: &Path) -> Option<PathBuf> {
    let mut parts = path.iter();
    let folder = shipped(exe, set, parts.next()?.to_str()?)?;
    Some(folder.join(parts.as_path())).filter(|path| path.exists())
}

/// The chip file of this machine, if there is one: in `chips` here, otherwise in the user's data
/// folder.
pub(crate) fn this_host() -> Option<PathBuf> {
    found(CALIBRATION)
}

/// The chip file of this machine with memory of fixed latencies, if there is one.
pub(crate) fn this_host_fixed() -> Option<PathBuf> {
    found(FIXED)
}

fn found(name: &str) -> Option<PathBuf> {
    let here = Path::new("chips").join(name);
    [Some(here), machine_folder().map(|folder| folder.join(name))].into_iter().flatten().find(|path| path.is_file())
}

/// The path of this machine's calibration, with memory of fixed latencies or not; `None` if neither
/// `XDG_DATA_HOME` nor `HOME` is an absolute path.
pub(crate) fn calibration(fixed: bool) -> Option<PathBuf> {
    Some(machine_folder()?.join(if fixed { FIXED } else { CALIBRATION }))
}

/// The folder of this machine: a data folder may be shared by machines, so each machine has its
/// own.
fn machine_folder() -> Option<PathBuf> {
    let data = data(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"))?;
    Some(data.join("baton/machines").join(machine()))
}

/// The user's data folder by the XDG specification: an absolute path, otherwise `.local/share` in
/// the user's home.
fn data(xdg: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    xdg.and_then(absolute).or_else(|| Some(home.and_then(absolute)?.join(".local/share")))
}

/// The identity of this machine: the system's machine id, otherwise its name.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let plain =
        |name: &String| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let known = [read("/etc/machine-id"), read("/proc/sys/kernel/hostname")].into_iter().flatten().find(plain);
    known.unwrap_or_else(|| "unknown".to_owned())
}

/// A folder that is shipped with the program: in the folder `set`, if there is one. Otherwise
/// `../share/baton/NAME` of an installation, or the folder of the tree in which `target/…/baton` was
/// built.
fn shipped(exe: Option<&Path>, set: Option<&Path>, name: &str) -> Option<PathBuf> {
    if let Some(set) = set {
        return Some(set.join(name)).filter(|folder| folder.is_dir());
    }
    let dir = exe?.parent()?;
    let installed = dir.join("../share/baton").join(name);
    let built = dir.ancestors().find(|dir| dir.file_name().is_some_and(|n| n == "target")).and_then(Path::parent);
    [Some(installed), built.map(|tree| tree.join(name))].into_iter().flatten().find(|folder| folder.is_dir())
}

/// Returns where a program of Baton's lies that is built by itself, as `baton-peers` by `make peers`: beside the command
/// `exe`, where it is installed, or where it was built. If the user has `set` a place, only that one counts.
///
/// # Errors
/// Says that the program is not built, and which places were looked at.
pub(crate) fn program(name: &str, set: Option<OsString>, exe: &Path) -> Result<PathBuf, String> {
    let folder = exe.parent().unwrap_or(Path::new("/"));
    let built = format!("../{}/release/{name}", name.trim_start_matches("baton-"));
    let places = match set {
        Some(set) => vec![PathBuf::from(set)],
        None => [name, &format!("../lib/baton/{name}"), &built].map(|place| folder.join(place)).to_vec(),
    };
    places.iter().find(|place| place.is_file()).cloned().ok_or_else(|| {
        let looked: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        format!("the program {name} is not built (looked at {})", looked.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_folder_is_xdgs_or_at_home() {
        let path = |text: &str| Some(OsString::from(text));
        assert_eq!(data(path("/data"), path("/home/me")), Some("/data".into()));
        assert_eq!(data(path("relative"), path("/home/me")), Some("/home/me/.local/share".into()));
        assert_eq!(data(None, None), None);
    }

    #[test]
    fn shipped_files_are_found_beside_the_installed_command_and_in_its_tree() {
        let dir = tempfile::tempdir().unwrap();
        let exe = dir.path().join("bin/baton");
        std::fs::create_dir_all(dir.path().join("share/baton/chips")).unwrap();
        std::fs::create_dir_all(dir.path().join("bin")).unwrap();
        let found = shipped(Some(&exe), None, "chips").unwrap();
        assert_eq!(found.canonicalize().unwrap(), dir.path().join("share/baton/chips").canonicalize().unwrap());
        std::fs::create_dir_all(dir.path().join("tree/chips")).unwrap();
        let exe = dir.path().join("tree/target/debug/baton");
        assert_eq!(shipped(Some(&exe), None, "chips"), Some(dir.path().join("tree/chips")));
        assert_eq!(shipped(Some(&exe), None, "profiles"), None);
        let set = dir.path().join("share/baton");
        assert_eq!(shipped(Some(&exe), Some(&set), "chips"), Some(set.join("chips")));
        assert_eq!(shipped(None, Some(&set), "profiles"), None);
        std::fs::create_dir_all(dir.path().join("tree/profiles/ocor")).unwrap();
        let own = |path: &str| beside(Some(&exe), None, Path::new(path));
        assert_eq!(own("profiles/ocor"), Some(dir.path().join("tree/profiles/ocor")));
        assert_eq!((own("profiles/other"), own("chips/x.toml"), own("elsewhere/ocor")), (None, None, None));
    }

    #[test]
    fn a_machine_has_a_name_that_can_be_a_folders() {
        assert!(!machine().is_empty() && !machine().contains('/'));
    }
}
