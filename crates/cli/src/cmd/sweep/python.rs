//! What the Python module does for a command: searches, and sweeps on many machines.

use crate::error::BadInput;
use anyhow::Context;
use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

/// Exits with 0 if the module is installed.
const IS_THERE: &str = "import importlib.util, sys; sys.exit(importlib.util.find_spec('baton._baton') is None)";

/// Runs a module of the Python package in place of this process.
///
/// # Errors
/// There is no Python, or the package is not installed in it.
pub(crate) fn module(name: &str, arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    let python = env::var_os("BATON_PYTHON").unwrap_or_else(|| "python3".into());
    let shown = python.display();
    let mut look = Command::new(&python);
    look.args(["-c", IS_THERE]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let found = match look.status() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let what = format!("there is no `{shown}`: this command runs in Python 3.9 or newer");
            return Err(BadInput::new(what).hint("BATON_PYTHON names another Python").into());
        }
        found => found.with_context(|| format!("{shown} cannot be run"))?,
    };
    if !found.success() {
        let hint = "make wheel && python3 -m pip install \"$(ls dist/*.whl)[search,ray]\", or name another Python in BATON_PYTHON";
        return Err(BadInput::new(format!("`{shown}` lacks the Python package of Baton")).hint(hint).into());
    }
    let failed = Command::new(&python).args(["-m", name]).args(arguments).exec();
    Err(failed).with_context(|| format!("{shown} cannot be run"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_python_is_named() {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "cmd::sweep::python::tests::runs_without_python", "--ignored", "--nocapture"])
            .env("BATON_PYTHON", "/nowhere/python")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && said.contains("there is no `/nowhere/python`"), "{said}");
    }

    #[test]
    #[ignore = "run by a_missing_python_is_named, with another environment"]
    fn runs_without_python() {
        println!("{:#}", module("baton.search", &[]).unwrap_err());
    }
}
