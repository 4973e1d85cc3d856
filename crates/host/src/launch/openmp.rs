//! Finds the folder that holds Baton's OpenMP library under the names of GCC's and LLVM's, and checks
//! whether a program would load it.

use crate::error::{BadInput, Failed};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The library name that programs built by GCC ask the loader for.
const SONAME: &str = "libgomp.so.1";
/// All names under which the folder has the library: also those that programs built by clang ask
/// for, by Debian's name, LLVM's own, or Intel's.
const NAMES: [&str; 4] = [SONAME, "libomp.so.5", "libomp.so", "libiomp5.so"];
/// The variable with the folders that the loader searches after a program's RPATH and before
/// everything else.
const SEARCH: &str = "LD_LIBRARY_PATH";

/// The folder that belongs to this `baton`: beside it in a build, or under `../lib` in an
/// installation.
pub fn find() -> Result<PathBuf, Failed> {
    let exe = std::env::current_exe().map_err(Failed::because("cannot find out where `baton` itself lies"))?;
    beside(&exe)
}

fn beside(exe: &Path) -> Result<PathBuf, Failed> {
    let dir = exe.parent().unwrap_or(Path::new("/"));
    let folders = [dir.join("openmp"), dir.join("../lib/baton/openmp")];
    let found = folders.iter().find(|folder| folder.join(SONAME).is_file()).ok_or_else(|| {
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        Failed::new(format_args!(
            "the OpenMP library {SONAME} of this `baton` is not built (looked in {}); in Baton's source tree `make build` makes it \
             and `make install PREFIX=...` installs it beside `baton`",
            folders.join(", ")
        ))
    })?;
    let found = found.canonicalize().map_err(Failed::because(format!("cannot resolve {}", found.display())))?;
    // The loader splits LD_LIBRARY_PATH at colons and semicolons, and has no way to quote them.
    if found.to_string_lossy().contains([':', ';']) {
        let cannot = "LD_LIBRARY_PATH cannot name a path with a colon or a semicolon; move the tree";
        return Err(Failed::new(format_args!("{SONAME} lies in `{}`: {cannot}", found.display())));
    }
    Ok(found)
}

/// The value of LD_LIBRARY_PATH with `folder` in front of the folders that the user set.
pub fn search_path(folder: &Path) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(theirs) = std::env::var_os(SEARCH).filter(|value| !value.is_empty()) {
        path.push(":");
        path.push(theirs);
    }
    path
}

/// When a program loads an OpenMP library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loads {
    /// The loader loads it before `main`, and takes Baton's library in its place.
    AtStart,
    /// The program opens libraries while it runs. One of them may load a libgomp or a libomp, perhaps
    /// a copy under another name, as Python's wheels have it, so Baton's library must be preloaded.
    WhileItRuns,
}

/// Fails unless the loader takes Baton's OpenMP library for `image` when the program starts.
pub fn check(image: &Path, folder: &Path) -> Result<(), BadInput> {
    match loads(image, folder)? {
        Loads::AtStart => Ok(()),
        Loads::WhileItRuns => Err(loads_none(image)),
    }
}

/// The path of the file to preload for a program that opens libraries while it runs. Fails if the
/// path has a space.
pub fn preloaded(folder: &Path) -> Result<PathBuf, Failed> {
    if folder.to_string_lossy().contains(char::is_whitespace) {
        let cannot = "LD_PRELOAD cannot name a path with a space; move the tree";
        return Err(Failed::new(format_args!("{SONAME} lies in `{}`: {cannot}", folder.display())));
    }
    Ok(folder.join(SONAME))
}

/// Asks the loader what it would load for `image` with `folder` first in LD_LIBRARY_PATH. Returns
/// an error if the loader takes an OpenMP library from another folder, or if it loads none and the
/// program opens no libraries. The program does not start.
pub fn loads(image: &Path, folder: &Path) -> Result<Loads, BadInput> {
    let mut ask = Command::new(image);
    ask.env("LD_TRACE_LOADED_OBJECTS", "1").env(SEARCH, search_path(folder)).env_remove("LD_PRELOAD");
    let output = ask.stdin(Stdio::null()).output();
    let output = output.map_err(|why| BadInput::new(format!("cannot ask what `{}` loads: {why}", image.display())))?;
    judge(&String::from_utf8_lossy(&output.stdout), image, folder, opens_libraries)
}

/// Whether the program, or a library that is loaded with it, names `dlopen`. The C library and the
/// loader are left out, because they define it.
fn opens_libraries(files: &[&Path]) -> bool {
    const NAME: &[u8] = b"\0dlopen\0";
    let defines = |file: &Path| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        ["libc.so", "libc-", "libdl", "ld-"].iter().any(|start| name.starts_with(start))
    };
    let calls =
        |file: &&Path| std::fs::read(file).is_ok_and(|bytes| bytes.windows(NAME.len()).any(|word| word == NAME));
    files.iter().copied().filter(|file| !defines(file)).any(|file| calls(&file))
}

fn loads_none(image: &Path) -> BadInput {
    let names = format!("{}, libomp.so.5 or libiomp5.so", SONAME);
    let what = format!("neither `{}` nor a library that it is linked with loads {names}", image.display());
    BadInput::new(what).hint("compile it with `gcc -fopenmp` or `clang -fopenmp` (gfortran, g++) and without -static")
}

/// Finds the OpenMP libraries in the loader's list, whose lines are `NAME => PATH (ADDRESS)`.
fn judge(list: &str, image: &Path, folder: &Path, opens: impl Fn(&[&Path]) -> bool) -> Result<Loads, BadInput> {
    let path = |from: &'_ str| -> PathBuf { Path::new(from.rsplit_once(" (").map_or(from, |(path, _)| path)).into() };
    let loaded: Vec<(&str, PathBuf)> =
        list.lines().filter_map(|line| line.trim().split_once(" => ")).map(|(name, from)| (name, path(from))).collect();
    let openmp: Vec<_> = loaded.iter().filter(|(name, _)| NAMES.contains(name)).collect();
    if openmp.is_empty() {
        let files: Vec<&Path> = std::iter::once(image).chain(loaded.iter().map(|(_, from)| &**from)).collect();
        return if opens(&files) { Ok(Loads::WhileItRuns) } else { Err(loads_none(image)) };
    }
    let Some((name, from)) = openmp.into_iter().find(|(_, from)| from.parent() != Some(folder)) else {
        return Ok(Loads::AtStart);
    };
    let what = format!("`{}` takes {name} from {} whatever LD_LIBRARY_PATH says", image.display(), from.display());
    Err(BadInput::new(what)
        .hint("link it without an RPATH (-Wl,--enable-new-dtags makes it a RUNPATH, which comes later)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_beside_or_installed_and_its_lack_is_explained() {
        let dir = tempfile::tempdir().unwrap();
        let exe = dir.path().join("bin/baton");
        std::fs::create_dir_all(exe.parent().unwrap()).unwrap();
        let missing = beside(&exe).unwrap_err().to_string();
        assert!(missing.contains("make build") && missing.contains("bin/openmp"), "{missing}");
        for place in ["lib/baton/openmp", "bin/openmp"] {
            let folder = dir.path().join(place);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(SONAME), "").unwrap();
            assert_eq!(beside(&exe).unwrap(), folder.canonicalize().unwrap());
        }
    }

    #[test]
    fn the_loader_s_list_decides() {
        let opening = |list: &str, opens| judge(list, Path::new("./app"), Path::new("/ours"), |_| opens);
        let judge = |list: &str| opening(list, false);
        let first = "\tlinux-vdso.so.1 (0x7f)\n";
        assert_eq!(judge(&format!("{first}\tlibgomp.so.1 => /ours/libgomp.so.1 (0x7f)\n")), Ok(Loads::AtStart));
        assert_eq!(opening("\tlibm.so.6 => /usr/lib/libm.so.6 (0x7f)\n", true), Ok(Loads::WhileItRuns));
        let both = "\tlibgomp.so.1 => /ours/libgomp.so.1 (0x7f)\n\tlibomp.so.5 => /ours/libomp.so.5 (0x7f)\n";
        assert_eq!(judge(both), Ok(Loads::AtStart));
        let none = judge("\tlibm.so.6 => /usr/lib/libm.so.6 (0x7f)\n").unwrap_err();
        assert!(none.to_string().contains("loads libgomp.so.1, libomp.so.5 or libiomp5.so"), "{none}");
        let theirs = judge(&both.replace("/ours/libomp", "/usr/lib/libomp")).unwrap_err();
        assert!(theirs.to_string().contains("takes libomp.so.5 from /usr/lib/libomp.so.5 whatever"), "{theirs}");
        let theirs = judge("\tlibgomp.so.1 => /usr/lib/libgomp.so.1 (0x7f)\n").unwrap_err();
        assert!(theirs.to_string().contains("/usr/lib/libgomp.so.1 whatever"), "{theirs}");
    }
}
