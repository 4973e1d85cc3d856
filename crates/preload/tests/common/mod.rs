//! Runs C programs under the library.
//!
//! The programs stand under `tests/programs/`, check themselves, and print `ok`. They are compiled with the system's
//! compiler, the library by cargo (in release form: the one that ships).

#![allow(dead_code, unreachable_pub, reason = "every test binary uses its part")]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// The locks that `BATON_LOCK` accepts.
pub fn locks() -> impl Iterator<Item = &'static baton_sync::lock::LockInfo> {
    baton_sync::lock::LOCKS.iter().filter(|lock| lock.posix == baton_sync::lock::Posix::Yes)
}

/// The wait policy under which a lock's waiters sleep; empty if the lock does not take it. Waiters
/// should sleep, because tests run more threads than there are CPUs.
pub fn sleeping(lock: &baton_sync::lock::LockInfo) -> &'static str {
    if lock.wait(Some(baton_machine::Wait::Futex)).is_ok() { "futex" } else { "" }
}

/// The path of the library, which is built at the first call.
pub fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--release", "--quiet", "--package", "baton-preload", "--message-format", "json"])
            .current_dir(root)
            .output()
            .expect("cargo runs");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let messages = String::from_utf8(built.stdout).unwrap();
        let end =
            messages.find("libbaton_preload.so\"").expect("cargo names the library") + "libbaton_preload.so".len();
        let start = messages[..end].rfind('"').unwrap() + 1;
        PathBuf::from(&messages[start..end])
    })
}

/// A folder with the C library as `make install` names it. The library is built at the first call, with
/// the profile of the tests, so that most crates are built already.
fn c_library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(root).args(["build", "--quiet", "--profile", "test", "--package", "baton-capi"]);
        assert!(cargo.status().expect("cargo runs").success());
        let built = scratch().join("../debug/libbaton.so").canonicalize().expect("cargo has made the library");
        let folder = folder("c-library");
        let numbered = concat!("libbaton.so.", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
        for name in ["libbaton.so", numbered] {
            std::os::unix::fs::symlink(&built, folder.join(name)).unwrap();
        }
        folder
    })
}

/// The folder into which tests may write.
pub fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// The compiler of test programs of clang, which are named like those of C with another ending.
const CLANG: &str = "clang-19";

/// The path of a test program, which is compiled at the first call.
pub fn program(name: &str) -> PathBuf {
    static DONE: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut done = DONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(path) = done.get(name) {
        return path.clone();
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name.replace(".clang", ".c"));
    // Test binaries run side by side, so each compiles executables of its own.
    let path = scratch().join(format!("{}.{}", name.replace('.', "-"), std::process::id()));
    let (compiler, standard) = match name {
        "atomic_wait.cpp" => ("c++", "-std=c++20"),
        _ if name.ends_with("cpp") => ("c++", "-std=c++17"),
        _ if name.ends_with("clang") => (CLANG, "-std=gnu11"),
        _ => ("cc", "-std=gnu11"),
    };
    let mut command = Command::new(compiler);
    command.args([standard, "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&path).arg(&source);
    match name {
        "omp.c" | "omp_regions.c" => command.arg("-fopenmp"),
        // Clang takes the event that a task makes for a variable that is read. A region in a loop has
        // one call site, as events tell regions apart by those.
        "omp.clang" | "omp_regions.clang" => command.args(["-fopenmp", "-Wno-uninitialized", "-fno-unroll-loops"]),
        "plugin.c" | "runtime.c" => command.args(["-shared", "-fPIC"]),
        "library.c" | "between.c" | "queue.cpp" => {
            let (header, built) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi/include"), c_library());
            command
                .arg("-I")
                .arg(header)
                .arg("-L")
                .arg(built)
                .arg("-lbaton")
                .arg(format!("-Wl,-rpath,{}", built.display()))
        }
        _ => command.arg("-ldl"),
    };
    let compiled = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(compiled.status.success(), "{name}: {}", String::from_utf8_lossy(&compiled.stderr));
    done.insert(name.to_owned(), path.clone());
    path
}

/// Whether a test program can be compiled here. If not, says that `test` is skipped. A C compiler
/// is always there.
pub fn compiles(name: &str, test: &str) -> bool {
    static OPENMP: OnceLock<bool> = OnceLock::new();
    let openmp = || {
        let mut command = Command::new("cc");
        command.args(["-fopenmp", "-x", "c", "-o", "/dev/null", "-"]).stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("a C compiler");
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"int main(void) { return 0; }").unwrap();
        child.wait().unwrap().success()
    };
    match name {
        "cxx.cpp" | "atomic_wait.cpp" | "wrapped.cpp" | "queue.cpp" => baton_needs::has("c++", test),
        "omp.clang" | "omp_regions.clang" => baton_needs::has(CLANG, test),
        "omp.c" | "omp_regions.c" => *OPENMP.get_or_init(openmp) || baton_needs::missing("cc -fopenmp", test),
        _ => true,
    }
}

/// One run of a program under the library.
pub struct Run {
    command: Command,
    what: String,
    stats: Option<PathBuf>,
    limit: Duration,
}

/// The result of a run.
pub struct Ran {
    /// Exit status and output.
    pub output: Output,
    /// The counters' lines.
    pub stats: Vec<serde_json::Value>,
    /// The command and its variables, for messages.
    pub what: String,
}

impl Run {
    /// A test program and its arguments.
    pub fn new(name: &str, arguments: &[&str]) -> Run {
        let mut command = Command::new(program(name));
        command.args(arguments);
        Run::of(command, &format!("{name} {arguments:?}"))
    }

    /// Any command.
    pub fn of(mut command: Command, what: &str) -> Run {
        command.env("LD_PRELOAD", library()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Run { command, what: what.to_owned(), stats: None, limit: Duration::from_secs(120) }
    }

    /// Sets an environment variable of the library; does nothing for an empty value.
    pub fn set(mut self, variable: &str, value: impl AsRef<std::ffi::OsStr>) -> Run {
        if !value.as_ref().is_empty() {
            self.what += &format!(" {variable}={}", value.as_ref().display());
            self.command.env(variable, value);
        }
        self
    }

    /// Has the library write its counters.
    pub fn counted(mut self) -> Run {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let n = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let file = scratch().join(format!("stats.{}.{n}", std::process::id()));
        let _ = std::fs::remove_file(&file);
        self.stats = Some(file.clone());
        self.set("BATON_STATS", file)
    }

    /// Runs the program, for at most two minutes.
    pub fn run(mut self) -> Ran {
        let mut child = self.command.spawn().unwrap_or_else(|error| panic!("{}: {error}", self.what));
        let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let out = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stdout.read_to_end(&mut bytes).map(|_| bytes)
        });
        let err = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stderr.read_to_end(&mut bytes).map(|_| bytes)
        });
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > self.limit {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{}: still running after {:?}", self.what, self.limit);
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let output = Output { status, stdout: out.join().unwrap().unwrap(), stderr: err.join().unwrap().unwrap() };
        let lines = self.stats.as_ref().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        let stats = lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
        Ran { output, stats, what: self.what }
    }

    /// Runs a test program, which must succeed and print `ok`.
    pub fn ok(self) -> Ran {
        let ran = self.run();
        let errors = String::from_utf8_lossy(&ran.output.stderr);
        assert!(ran.output.status.success(), "{}: {}\n{errors}", ran.what, ran.output.status);
        assert_eq!(String::from_utf8_lossy(&ran.output.stdout), "ok\n", "{}: {errors}", ran.what);
        ran
    }
}

impl Ran {
    /// A counter of the process that wrote its line first.
    pub fn count(&self, name: &str) -> u64 {
        self.stats[0].pointer(&format!("/{name}")).and_then(|value| value.as_u64()).expect("a counter")
    }
}

/// Makes a new, empty folder.
pub fn folder(name: &str) -> PathBuf {
    // A number for each folder, because tests of one process run side by side, and some run the
    // same program.
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let n = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = scratch().join(format!("{name}.{}.{n}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir(&path).unwrap();
    path
}
