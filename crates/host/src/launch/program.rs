//! Finds the command and checks it before anything runs. A program into which the loader would not
//! load the preload library must be refused: a run that silently measures nothing is worse than no
//! run.

use super::elf;
use crate::error::BadInput;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The depth to which scripts may name other scripts as interpreters; the kernel's own limit.
const DEPTH: usize = 4;

/// A command into which the preload library can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The path of the command.
    pub path: PathBuf,
    /// The executable that the process will run: the command itself, or a script's interpreter, or
    /// the program that a script's `#!/usr/bin/env` executes.
    pub image: PathBuf,
}

/// Finds `command` as a shell would, and checks it.
pub fn find(command: &OsStr) -> Result<Program, BadInput> {
    let path = locate(command)?;
    let image = check(&path, DEPTH).map_err(|why| {
        let bad = BadInput::new(format!("cannot preload into `{}`: {}", path.display(), why.what));
        if why.hint.is_empty() { bad } else { bad.hint(why.hint) }
    })?;
    Ok(Program { path, image })
}

/// The reason why the preload library cannot be loaded into a file.
struct Why {
    what: String,
    hint: &'static str,
}

fn why(what: impl Into<String>, hint: &'static str) -> Why {
    Why { what: what.into(), hint }
}

fn executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The file that `command` names: a path if the name has a slash, else the first executable of that
/// name in PATH.
///
/// # Errors
/// If there is no such command, or it cannot be executed.
pub fn locate(command: &OsStr) -> Result<PathBuf, BadInput> {
    let shown = command.to_string_lossy().into_owned();
    if command.as_bytes().contains(&b'/') {
        let path = PathBuf::from(command);
        return match path.metadata() {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                Err(BadInput::new(format!("there is no file `{shown}`")))
            }
            Err(e) => Err(BadInput::new(format!("cannot look at `{shown}`: {e}"))),
            Ok(m) if m.is_dir() => Err(BadInput::new(format!("`{shown}` is a directory, not a program"))),
            Ok(_) if !executable(&path) => {
                Err(BadInput::new(format!("`{shown}` is not executable")).hint(format!("chmod +x {shown}")))
            }
            Ok(_) => Ok(path),
        };
    }
    let dirs: OsString = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    let found = std::env::split_paths(&dirs).map(|dir| dir.join(command)).find(|path| executable(path));
    found.ok_or_else(|| {
        let bad = BadInput::new(format!("no command `{shown}` in PATH"));
        if executable(Path::new(command)) { bad.hint(format!("did you mean `./{shown}`?")) } else { bad }
    })
}

/// Checks a file and, for a script, the interpreter. Returns the executable that will run.
fn check(path: &Path, depth: usize) -> Result<PathBuf, Why> {
    let mut file = std::fs::File::open(path).map_err(|e| why(format!("it cannot be read ({e})"), ""))?;
    let meta = file.metadata().map_err(|e| why(format!("it cannot be looked at ({e})"), ""))?;
    let mut start = [0; 256];
    let read = file.read(&mut start).map_err(|e| why(format!("it cannot be read ({e})"), ""))?;
    if start[..read].starts_with(b"#!") {
        return check_script(&start[2..read], depth);
    }
    if !start[..read].starts_with(b"\x7fELF") {
        return Err(why(
            "it is neither an ELF executable nor a script with a `#!` line",
            "name the interpreter: `baton run … -- sh ./script`",
        ));
    }
    // The kernel ignores the set-uid bits of a script, but not those of an executable.
    if meta.mode() & (libc::S_ISUID | libc::S_ISGID) != 0 || has_capabilities(path) {
        return Err(why(
            "it is set-uid, set-gid or has file capabilities, and the loader ignores LD_PRELOAD for such programs",
            "copy it without the bits (cp drops them) and run it as the user that it wants to be",
        ));
    }
    check_elf(&elf::read(file).map_err(|what| why(what, ""))?)?;
    Ok(path.to_owned())
}

fn check_elf(facts: &elf::Facts) -> Result<(), Why> {
    if facts.machine != elf::HERE || facts.bits != usize::BITS as u8 {
        let what = format!("it is for another architecture ({})", elf::machine_name(facts));
        return Err(why(what, "build `baton` for that architecture and run it there"));
    }
    if !facts.runnable {
        return Err(why("it is an object file, not a program", ""));
    }
    let Some(loader) = &facts.loader else {
        return Err(why("it is statically linked, so no loader reads LD_PRELOAD", "link it without -static"));
    };
    if loader.contains("musl") {
        let what = format!("it is linked with musl ({loader}); the preload library is for glibc");
        return Err(why(what, ""));
    }
    match facts.sanitizer {
        Some(elf::Sanitizer::Address) => {
            let what = "it is built with AddressSanitizer, whose library refuses to be loaded after another one";
            return Err(why(what, "link it with -static-libasan"));
        }
        Some(elf::Sanitizer::Thread) => {
            let what =
                "it is built with ThreadSanitizer, which has to serve the program's locks itself to see its races";
            return Err(why(what, "build it without -fsanitize=thread"));
        }
        None => {}
    }
    if !Path::new(loader).exists() {
        return Err(why(format!("its loader `{loader}` is not on this machine"), ""));
    }
    Ok(())
}

fn check_script(line: &[u8], depth: usize) -> Result<PathBuf, Why> {
    let line = line.split(|&b| b == b'\n').next().unwrap_or_default();
    let mut words = line.split(|b| b.is_ascii_whitespace()).filter(|w| !w.is_empty());
    let Some(interpreter) = words.next() else {
        return Err(why("its `#!` line names no interpreter", "write one, for example `#!/bin/sh`"));
    };
    let interpreter = Path::new(OsStr::from_bytes(interpreter));
    if !executable(interpreter) {
        let what = format!("its interpreter `{}` does not exist or is not executable", interpreter.display());
        return Err(why(what, "mend its `#!` line"));
    }
    if depth == 0 {
        return Err(why("its interpreters name each other without end", ""));
    }
    let inside = |w: Why| Why { what: format!("its interpreter `{}`: {}", interpreter.display(), w.what), ..w };
    let image = check(interpreter, depth - 1).map_err(inside)?;
    // `#!/usr/bin/env NAME` executes NAME, so NAME is what must be checked.
    let target = words.next().filter(|w| !w.starts_with(b"-") && !w.contains(&b'='));
    match target {
        Some(name) if interpreter.file_name() == Some(OsStr::new("env")) => {
            let path = locate(OsStr::from_bytes(name)).map_err(|e| why(e.to_string(), "mend its `#!` line"))?;
            check(&path, depth - 1).map_err(inside)
        }
        _ => Ok(image),
    }
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: both strings end in a zero byte. Without a buffer the call only returns the length of
    // the value.
    unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
