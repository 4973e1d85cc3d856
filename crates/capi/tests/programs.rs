//! C and C++ programs that use `baton.h` like an installed library: it is installed under a prefix
//! and found by pkg-config, and the examples are compiled, linked with the shared and the static
//! library, and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Builds the libraries in the profile of the tests, because cargo does not build what no test can
/// link. Returns their folder.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        run(Command::new(cargo).current_dir(root()).args([
            "build",
            "--quiet",
            "--profile",
            "test",
            "-p",
            "baton-capi",
        ]));
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("../debug")
    })
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}\n{}{}", text(&output.stdout), text(&output.stderr));
    output
}

/// Returns the program, or `None` after reporting that the test is skipped because the program is
/// missing.
fn program<'a>(name: &'a str, test: &str) -> Option<&'a str> {
    baton_needs::first_of(&[name], test)
}

/// The library, installed under a temporary prefix.
struct Installed(tempfile::TempDir);

impl Installed {
    fn new() -> Installed {
        let prefix = tempfile::tempdir().unwrap();
        let set = |key: &str, value: &Path| format!("{key}={}", value.display());
        run(Command::new("make")
            .current_dir(root())
            .args(["-s", "install-c"])
            .args([set("PREFIX", prefix.path()), set("BUILT", built())]));
        Installed(prefix)
    }

    fn lib(&self) -> PathBuf {
        self.0.path().join("lib")
    }

    fn flags(&self, what: &[&str]) -> Vec<String> {
        let path = self.lib().join("pkgconfig");
        let output = run(Command::new("pkg-config").env("PKG_CONFIG_PATH", path).args(what).arg("baton"));
        String::from_utf8(output.stdout).unwrap().split_whitespace().map(ToOwned::to_owned).collect()
    }

    /// Compiles and links an example with `flags`. Returns the path of the program.
    fn compile(&self, compiler: &str, source: &str, flags: &[String]) -> PathBuf {
        let source = root().join("examples").join(source);
        let name = source.file_name().unwrap().to_str().unwrap();
        let program = self.0.path().join(format!("{name}.{}", flags.len()).replace('.', "-"));
        let strict = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"];
        run(Command::new(compiler).args(strict).arg("-o").arg(&program).arg(source).args(flags).arg("-lpthread"));
        program
    }

    fn start(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.lib());
        command
    }
}

#[test]
fn the_c_example_counts_under_every_lock() {
    let Some(cc) = program("cc", "the_c_example_counts_under_every_lock") else { return };
    if program("pkg-config", "the_c_example_counts_under_every_lock").is_none() {
        return;
    }
    let installed = Installed::new();
    let counter = installed.compile(cc, "capi/counter.c", &installed.flags(&["--cflags", "--libs"]));
    for lock in baton_sync::lock::LOCKS {
        let parks = lock.wait(Some(baton_machine::Wait::SpinPark(128))).is_ok();
        let output = run(installed.start(&counter).arg(lock.name).args(parks.then_some("spin-park")));
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{}: 40000 of 40000\n", lock.name));
    }
    let wrong = installed.start(&counter).arg("msc").output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(said.starts_with("counter: unknown lock `msc`; expected one of tas, "), "{said}");
}

#[test]
fn the_static_library_needs_no_other() {
    let Some(cc) = program("cc", "the_static_library_needs_no_other") else { return };
    if program("pkg-config", "the_static_library_needs_no_other").is_none() {
        return;
    }
    let installed = Installed::new();
    let mut flags = installed.flags(&["--cflags"]);
    flags.push(installed.lib().join("libbaton.a").display().to_string());
    flags.extend(["-ldl", "-lm", "-lgcc_s"].map(ToOwned::to_owned));
    let counter = installed.compile(cc, "capi/counter.c", &flags);
    run(Command::new(counter).arg("clh"));
}

#[test]
fn the_cpp_example_guards_its_accounts() {
    let Some(cpp) = program("c++", "the_cpp_example_guards_its_accounts") else { return };
    if program("pkg-config", "the_cpp_example_guards_its_accounts").is_none() {
        return;
    }
    let installed = Installed::new();
    let guard = installed.compile(cpp, "capi/guard.cpp", &installed.flags(&["--cflags", "--libs"]));
    assert_eq!(run(&mut installed.start(&guard)).stdout, b"sum 8000\n");
}

#[test]
fn objects_in_static_memory_run_a_pipeline() {
    let Some(cc) = program("cc", "objects_in_static_memory_run_a_pipeline") else { return };
    if program("pkg-config", "objects_in_static_memory_run_a_pipeline").is_none() {
        return;
    }
    let installed = Installed::new();
    let mut flags = installed.flags(&["--cflags", "--libs"]);
    flags.push("-std=gnu11".to_owned());
    let pipeline = installed.compile(cc, "capi/pipeline.c", &flags);
    assert_eq!(run(&mut installed.start(&pipeline)).stdout, b"sum 333283335000 of 333283335000\n");
}

#[test]
fn the_cpp_classes_fit_the_standards_guards() {
    let Some(cpp) = program("c++", "the_cpp_classes_fit_the_standards_guards") else { return };
    if program("pkg-config", "the_cpp_classes_fit_the_standards_guards").is_none() {
        return;
    }
    let installed = Installed::new();
    let mut flags = installed.flags(&["--cflags", "--libs"]);
    // `queues.cpp`, which includes the same header, is C++20.
    flags.push("-std=c++17".to_owned());
    let objects = installed.compile(cpp, "capi/objects.cpp", &flags);
    assert_eq!(run(&mut installed.start(&objects)).stdout, b"sum 12497500, filled 1 time\n");
}

#[test]
fn queues_lend_places_have_no_bound_and_join_processes() {
    const NAME: &str = "queues_lend_places_have_no_bound_and_join_processes";
    let (Some(cc), Some(cpp)) = (program("cc", NAME), program("c++", NAME)) else { return };
    if program("pkg-config", NAME).is_none() {
        return;
    }
    let installed = Installed::new();
    let flags = installed.flags(&["--cflags", "--libs"]);
    for (compiler, source, standard, said) in [
        (cc, "capi/queues.c", "-std=gnu11", "sum 49995000 of 49995000\n"),
        (cpp, "capi/queues.cpp", "-std=c++20", "sum 12497500\n"),
    ] {
        let queues = installed.compile(compiler, source, &[&flags[..], &[standard.to_owned()]].concat());
        let file = installed.0.path().join(standard);
        let output = run(installed.start(&queues).arg(&file));
        assert_eq!(String::from_utf8_lossy(&output.stdout), said);
        assert!(!file.exists());
    }
}

#[test]
fn the_c_and_the_cpp_pipeline_index_a_folder() {
    const NAME: &str = "the_c_and_the_cpp_pipeline_index_a_folder";
    let (Some(cc), Some(cpp)) = (program("cc", NAME), program("c++", NAME)) else { return };
    if program("pkg-config", NAME).is_none() {
        return;
    }
    let installed = Installed::new();
    let folder = installed.0.path().join("folder");
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    std::fs::write(folder.join("a"), "One two, two-three").unwrap();
    std::fs::write(folder.join("sub/b"), "two FOUR4four").unwrap();
    let flags = installed.flags(&["--cflags", "--libs"]);
    let index =
        [(cc, "index.c", "-std=gnu11"), (cpp, "index.cpp", "-std=c++17")].map(|(compiler, source, standard)| {
            let flags = [&flags[..], &[standard.to_owned()]].concat();
            installed.compile(compiler, &format!("queues/{source}"), &flags)
        });
    for index in index {
        for threads in ["1", "3"] {
            let output = run(installed.start(&index).arg(&folder).arg(threads));
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(said, "2 files, 7 words, 4 different ones\n3 two\n2 four\n1 one\n1 three\n");
        }
        let missing = installed.start(&index).arg(folder.join("none")).output().unwrap();
        assert_eq!(missing.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&missing.stderr).contains("No such file"));
    }
}

const CMAKE: &str = r#"
cmake_minimum_required(VERSION 3.16)
project(uses_baton CXX)
find_package(Baton 0.1 REQUIRED)
add_executable(objects objects.cpp)
target_compile_features(objects PRIVATE cxx_std_17)
target_link_libraries(objects PRIVATE Baton::baton)
find_package(Baton 99 QUIET)
if(Baton_FOUND)
  message(FATAL_ERROR "version 99 was found")
endif()
"#;

#[test]
fn cmake_finds_the_package() {
    const NAME: &str = "cmake_finds_the_package";
    let (Some(cmake), Some(_)) = (program("cmake", NAME), program("c++", NAME)) else { return };
    let installed = Installed::new();
    let project = installed.0.path().join("project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("CMakeLists.txt"), CMAKE).unwrap();
    std::fs::copy(root().join("examples/capi/objects.cpp"), project.join("objects.cpp")).unwrap();
    let build = project.join("build");
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", installed.0.path().display());
    run(Command::new(cmake).arg("-S").arg(&project).arg("-B").arg(&build).arg(prefix));
    run(Command::new(cmake).arg("--build").arg(&build));
    assert_eq!(run(&mut installed.start(&build.join("objects"))).stdout, b"sum 12497500, filled 1 time\n");
}

/// Takes the place of the preload library: prints what the markers tell it.
const LISTENER: &str = r#"
#include <stdio.h>
void baton_preload_roi_begin(const char *name) { printf("begin %s\n", name); }
void baton_preload_roi_end(const char *name) { printf("end %s\n", name); }
void baton_preload_marker(const char *name, unsigned long value) { printf("%s %lu\n", name, value); }
"#;

const MARKED: &str = r#"
#include <baton.h>
int main(void) {
    for (int i = 0; i < 2; i++) { baton_roi_begin("r"); baton_marker("m", 7); baton_roi_end("r"); }
    return 0;
}
"#;

#[test]
fn markers_speak_to_the_preload_library_and_are_silent_without() {
    let Some(cc) = program("cc", "markers_speak_to_the_preload_library_and_are_silent_without") else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("listener.c"), LISTENER).unwrap();
    std::fs::write(path("marked.c"), MARKED).unwrap();
    let include = root().join("crates/capi/include");
    let compile = |flags: &[&str], source: &str, to: &str| {
        run(Command::new(cc)
            .args(["-Wall", "-Wextra", "-Werror", "-I"])
            .arg(&include)
            .args(flags)
            .arg("-o")
            .args([path(to), path(source)]));
        path(to)
    };
    let listener = compile(&["-shared", "-fPIC"], "listener.c", "listener.so");
    for flags in [&["-O2"][..], &["-O0", "-fPIE", "-pie"], &["-O2", "-fno-pie", "-no-pie"], &["-std=c99"]] {
        let marked = compile(flags, "marked.c", "marked");
        assert_eq!(run(&mut Command::new(&marked)).stdout, b"", "{flags:?}");
        let heard = run(Command::new(&marked).env("LD_PRELOAD", &listener)).stdout;
        assert_eq!(String::from_utf8_lossy(&heard), "begin r\nm 7\nend r\n".repeat(2), "{flags:?}");
    }
    let alone = compile(&["-static"], "marked.c", "static");
    assert_eq!(run(&mut Command::new(alone)).stdout, b"");
}
