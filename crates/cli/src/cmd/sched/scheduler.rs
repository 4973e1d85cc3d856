//! The program `baton-scx`, which loads a scheduler into the kernel: `make scx` builds it.

use super::Backend;
use crate::error::BadInput;
use crate::places;
use baton_daemon::scx::Scheduler;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variable that names the program.
const VARIABLE: &str = "BATON_SCX";

/// What `--backend` and `--all` ask for; `None` for masks of CPUs.
pub(super) fn of(backend: Backend, all: bool) -> Result<Option<Scheduler>, BadInput> {
    if backend == Backend::Affinity {
        return match all {
            true => Err(BadInput::new("--all is for a scheduler in the kernel").hint("--backend scx --all")),
            false => Ok(None),
        };
    }
    let exe = std::env::current_exe().unwrap_or_default();
    Ok(Some(Scheduler { program: program(std::env::var_os(VARIABLE), &exe)?, all }))
}

fn program(set: Option<OsString>, exe: &Path) -> Result<PathBuf, BadInput> {
    places::program("baton-scx", set, exe).map_err(|why| {
        BadInput::new(format!("--backend scx: {why}")).hint("in Baton's source tree `make scx` builds it")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_or_named() {
        let folder = tempfile::tempdir().unwrap();
        let exe = folder.path().join("bin/baton");
        let missing = program(None, &exe).unwrap_err().to_string();
        assert!(missing.contains("is not built (looked at ") && missing.contains("bin/../lib/baton/baton-scx"));
        let set = folder.path().join("other");
        std::fs::write(&set, "").unwrap();
        assert_eq!(program(Some(set.clone().into()), &exe).unwrap(), set);
        assert!(program(Some("/none/scx".into()), &exe).unwrap_err().to_string().contains("(looked at /none/scx)"));
    }

    #[test]
    fn masks_need_no_program() {
        assert!(of(Backend::Affinity, false).unwrap().is_none());
        assert!(of(Backend::Affinity, true).unwrap_err().to_string().starts_with("--all is for a scheduler"));
    }
}
