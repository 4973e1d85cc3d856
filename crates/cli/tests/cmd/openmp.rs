//! `run --openmp baton` on real programs of `gcc -fopenmp`.

use crate::common;
use std::path::Path;
use std::process::{Command, Output};

const PROGRAM: &str = r#"
    #include <stdio.h>
    #include <stdlib.h>
    #include <omp.h>
    int main(void) {
        long total = 0;
        #pragma omp parallel num_threads(3)
        for (int i = 0; i < 100; i++) {
            #pragma omp critical
            total++;
            #pragma omp barrier
        }
        const char *names[] = {"BATON_OMP_LOCK", "BATON_OMP_BARRIER", "BATON_OMP_WAIT"};
        for (int i = 0; i < 3; i++) printf("%s ", getenv(names[i]) ? getenv(names[i]) : "-");
        char line[512];
        FILE *maps = fopen("/proc/self/maps", "r");
        const char *from = "";
        while (fgets(line, sizeof line, maps)) {
            for (char *at = line; *at; at++) {
                if (__builtin_strncmp(at, "lib/baton/openmp/", 17) == 0) from = "baton";
            }
        }
        printf("%ld %s\n", total, from);
        return 5;
    }"#;

fn done(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

/// A folder with `bin/baton`, `lib/baton/openmp` where `library` is set, and the programs `omp` and `plain`.
pub(crate) fn folder(library: bool) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("bin")).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_baton"), at("bin/baton")).unwrap();
    std::fs::write(at("omp.c"), PROGRAM).unwrap();
    std::fs::write(at("plain.c"), "int main(void) { return 0; }").unwrap();
    for name in ["omp", "plain"] {
        let mut compile = Command::new("gcc");
        compile.arg("-o").arg(at(name)).arg(at(&format!("{name}.c")));
        done(if name == "omp" { compile.arg("-fopenmp") } else { &mut compile });
    }
    if library {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        // Built with the profile of the tests, so that most crates are built already.
        let build = ["build", "--quiet", "--profile", "test", "--package", "baton-gomp"];
        done(Command::new(cargo).current_dir(common::root()).args(build));
        std::fs::create_dir_all(at("lib/baton/openmp")).unwrap();
        let archive = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("debug/libbaton_gomp.a");
        let mut link = Command::new(common::root().join("scripts/link-gomp"));
        done(link.arg(archive).arg(at("lib/baton/openmp/libgomp.so.1")));
        std::os::unix::fs::symlink("libgomp.so.1", at("lib/baton/openmp/libomp.so.5")).unwrap();
    }
    folder
}

fn baton(folder: &Path, options: &[&str], program: &str) -> Output {
    let mut command = Command::new("timeout");
    command.arg("30").arg(folder.join("bin/baton")).arg("run").args(options).arg("--").arg(folder.join(program));
    command.env("NO_COLOR", "1").env_remove("LD_PRELOAD").output().unwrap()
}

#[test]
fn run_puts_baton_s_runtime_in_the_place_of_libgomp() {
    if !baton_needs::has("gcc", "openmp") {
        return;
    }
    let folder = folder(true);
    let run = |options: &[&str], program: &str| {
        let out = baton(folder.path(), &[&["--openmp", "baton"], options].concat(), program);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    };
    assert_eq!(run(&[], "omp"), (Some(5), "- - - 300 baton\n".to_owned(), String::new()));
    if baton_needs::has("clang-19", "openmp") {
        let [source, program] = ["omp.c", "clang"].map(|name| folder.path().join(name));
        done(Command::new("clang-19").arg("-fopenmp").arg("-o").arg(program).arg(source));
        assert_eq!(run(&[], "clang"), (Some(5), "- - - 300 baton\n".to_owned(), String::new()));
    }
    let chosen = ["--lock", "mcs", "--barrier", "two-level", "--wait", "futex,idle=pause"];
    assert_eq!(run(&chosen, "omp").1, "mcs two-level futex,idle=pause 300 baton\n");
    let (code, _, error) = run(&[], "plain");
    assert!(code == Some(2) && error.contains("loads libgomp.so.1") && error.contains("gcc -fopenmp"), "{error}");
    let (code, out, error) = run(&["--lock", "tiket"], "omp");
    assert!((code, out.as_str()) == (Some(2), "") && error.contains("did you mean `ticket`"), "{error}");
}

/// A library of `gcc -fopenmp` that loads a copy of libgomp under another name, as wheels of Python have it.
fn wheel(folder: &Path) {
    const SOURCE: &str = r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <omp.h>
        extern void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);
        int team(void) {
            int size = 0;
            #pragma omp parallel num_threads(3)
            #pragma omp single
            size = omp_get_num_threads();
            return size;
        }
        const char *served_by(void) {
            Dl_info found;
            return dladdr((void *)GOMP_parallel, &found) ? found.dli_fname : "none";
        }"#;
    let gcc = Command::new("gcc").arg("-print-file-name=libgomp.so.1").output().unwrap().stdout;
    let mut bytes = std::fs::read(String::from_utf8(gcc).unwrap().trim()).unwrap();
    // The new name is as long as the old one, so that it fits into the file in the old one's place.
    let (from, to) = (b"libgomp.so.1\0", b"libwheel.so1\0");
    for at in 0..bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    std::fs::write(folder.join("libwheel.so1"), bytes).unwrap();
    std::fs::write(folder.join("module.c"), SOURCE).unwrap();
    let mut compile = Command::new("gcc");
    compile.current_dir(folder).args(["-fopenmp", "-O1", "-fPIC", "-c", "module.c"]);
    done(&mut compile);
    let mut link = Command::new("gcc");
    link.current_dir(folder).args(["-shared", "-o", "module.so", "module.o", "libwheel.so1", "-Wl,-rpath,$ORIGIN"]);
    done(&mut link);
}

#[test]
fn copies_of_libgomp_in_wheels_are_served() {
    if !baton_needs::has("gcc", "openmp") || !baton_needs::has("python3", "openmp") {
        return;
    }
    let folder = folder(true);
    wheel(folder.path());
    let script = "import ctypes; m = ctypes.CDLL('./module.so'); m.served_by.restype = ctypes.c_char_p; print(m.team(), m.served_by().decode())";
    let python = |command: &mut Command| {
        let out = command.current_dir(folder.path()).env_remove("LD_PRELOAD").output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let [alone, _] = python(Command::new("python3").args(["-c", script]));
    assert!(alone.starts_with("3 ") && alone.contains("libwheel.so1"), "{alone}");
    let mut baton = Command::new(folder.path().join("bin/baton"));
    let [served, note] = python(baton.args(["run", "--openmp", "baton", "--", "python3", "-c", script]));
    assert!(served.starts_with("3 ") && served.contains("lib/baton/openmp/libgomp.so.1"), "{served}");
    assert!(note.contains("is preloaded for libraries that it opens"), "{note}");
}

#[test]
fn run_says_how_the_openmp_library_is_made() {
    if !baton_needs::has("gcc", "openmp") {
        return;
    }
    let folder = folder(false);
    let out = baton(folder.path(), &["--openmp", "baton"], "omp");
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(1) && error.contains("`make build` makes it"), "{error}");
    assert!(out.stdout.is_empty(), "the program has not started");
}
