//! `baton` as an installation has it, for tests that start programs under it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The root of the tree.
pub(crate) fn root() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).canonicalize().unwrap()
}

/// A folder with `bin/baton` and `lib/baton`. The library is the one that ships, in release form; cargo builds none for a
/// test, as no test can link it.
pub(crate) fn installed() -> &'static Path {
    static INSTALLED: OnceLock<tempfile::TempDir> = OnceLock::new();
    let prefix = INSTALLED.get_or_init(|| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.current_dir(root()).args(["build", "--quiet", "--release", "--package", "baton-preload"]);
        assert!(build.status().unwrap().success());
        let prefix = tempfile::tempdir().unwrap();
        let put = |from: &Path, to: &str| {
            let to = prefix.path().join(to);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(from, to).unwrap();
        };
        put(Path::new(env!("CARGO_BIN_EXE_baton")), "bin/baton");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        put(&target.join("release/libbaton_preload.so"), "lib/baton/libbaton_preload.so");
        prefix
    });
    prefix.path()
}

/// The environment of a reader with a clone and a build, and with the programs of `first` before all others.
#[allow(dead_code, reason = "each test program uses a part")]
pub(crate) fn environment(command: &mut Command, first: &Path) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = vec![first.to_owned(), installed().join("bin")];
    folders.extend(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(folders).unwrap()).env("BATON", root());
    command.env("NO_COLOR", "1").env_remove("LD_PRELOAD");
}
