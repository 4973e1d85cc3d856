//! `baton` as an installation has it, for tests that start programs under it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

/// The root of the tree.
pub(crate) fn root() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).canonicalize().unwrap()
}

/// A new folder that lasts until the test program ends, for what several of its tests use. (A `TempDir` in a `static` is
/// never dropped, and its folder stays.)
pub(crate) fn lasting() -> &'static Path {
    static FOLDERS: Mutex<Vec<tempfile::TempDir>> = Mutex::new(Vec::new());
    extern "C" fn remove() {
        // A test that failed with the folders in its hands leaves them.
        if let Ok(mut folders) = FOLDERS.lock() {
            folders.clear();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path: &'static Path = Box::leak(folder.path().into());
    let mut folders = FOLDERS.lock().unwrap();
    if folders.is_empty() {
        // SAFETY: `remove` may run at any exit of the process: it needs nothing but the static list.
        assert_eq!(unsafe { libc::atexit(remove) }, 0);
    }
    folders.push(folder);
    path
}

/// Writes a C program into a folder and compiles it there, with threads and debugging information. Returns its path.
#[allow(dead_code, reason = "each test program uses a part")]
pub(crate) fn compiled(folder: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let (program, file) = (folder.join(name), folder.join(format!("{name}.c")));
    std::fs::write(&file, source).unwrap();
    let mut cc = Command::new("cc");
    cc.current_dir(folder).args(["-O1", "-g", "-pthread"]).args(options).arg("-o").arg(&program).arg(&file);
    assert!(cc.status().expect("a C compiler, which `make test` asks for").success(), "{cc:?}");
    program
}

/// Compiles a server, `served`, and the load that asks it, `asks`, in a folder.
#[allow(dead_code, reason = "each test program uses a part")]
pub(crate) fn server(folder: &Path) {
    compiled(folder, "served", include_str!("../cmd/programs/served.c"), &[]);
    compiled(folder, "asks", include_str!("../cmd/programs/asks.c"), &[]);
}

/// A folder with `bin/baton` and `lib/baton`. The library is the one that ships, in release form; cargo builds none for a
/// test, as no test can link it.
pub(crate) fn installed() -> &'static Path {
    static INSTALLED: OnceLock<&Path> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.current_dir(root()).args(["build", "--quiet", "--release", "--package", "baton-preload"]);
        assert!(build.status().unwrap().success());
        let prefix = lasting();
        let put = |from: &Path, to: &str| {
            let to = prefix.join(to);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(from, to).unwrap();
        };
        put(Path::new(env!("CARGO_BIN_EXE_baton")), "bin/baton");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        put(&target.join("release/libbaton_preload.so"), "lib/baton/libbaton_preload.so");
        prefix
    })
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
