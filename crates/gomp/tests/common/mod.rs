//! Links Baton's library, compiles C programs, and runs them under it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What the program `outside` prints.
pub(crate) const OUTSIDE: &str = "\
0: body 1, others 0 0
0: all 1 1 1
1: body 1, others 0 0
1: all 1 1 1
";

/// What the program `fulfilled` prints.
pub(crate) const FULFILLED: &str = "\
its child: 1 bodies each
a late descendant: 1 bodies each
a nephew: 1 bodies each
a child in a group: 1 bodies each
from outside of a group: 2 bodies each
before a dependence: 2 bodies each
of an undeferred task: 2 bodies each
after another event: 1 bodies each
";

pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Makes a folder with Baton's library under the names of libgomp and libomp. `None`: there is no
/// compiler to link it; the test `test` is skipped.
pub(crate) fn library(test: &str) -> Option<tempfile::TempDir> {
    if !baton_needs::has("gcc", test) {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target: PathBuf = std::env::current_exe().unwrap().parent().unwrap().into();
    let archives = [target.join("libbaton_gomp.a"), target.parent().unwrap().join("libbaton_gomp.a")];
    let newest = std::fs::read_dir(&target).unwrap().flatten().map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("libbaton_gomp") && name.ends_with(".a")
    });
    let archive = newest
        .chain(archives)
        .filter(|path| path.exists())
        .max_by_key(|path| path.metadata().unwrap().modified().unwrap());
    let archive = archive.expect("cargo builds the static library beside the tests");
    run(Command::new(here.join("../../scripts/link-gomp")).arg(archive).arg(folder.path().join("libgomp.so.1")));
    std::os::unix::fs::symlink("libgomp.so.1", folder.path().join("libomp.so.5")).unwrap();
    Some(folder)
}

/// Compiles a program of `tests/programs` into the folder.
pub(crate) fn compile(compiler: &str, options: &[&str], folder: &Path, program: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program).with_extension("c");
    let mut command = Command::new(compiler);
    run(command.args(["-O1", "-fopenmp"]).args(options).arg("-o").arg(folder.join(program)).arg(source));
}

/// A command that runs a program of the folder for at most 30 seconds.
pub(crate) fn limited(folder: &Path, program: &str, settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new("timeout");
    command.arg("30").arg(folder.join(program)).envs(settings.iter().copied());
    command
}
