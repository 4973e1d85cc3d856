//! Tests which programs are refused, and with which message. Most executables are a few bytes of
//! ELF header, made by hand; those with a sanitizer are compiled.

use super::*;
use std::io::Write;

/// Creates a file with this content and mode.
fn file(dir: &tempfile::TempDir, name: &str, content: &[u8], mode: u32) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::File::create(&path).unwrap().write_all(content).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}

/// A 64-bit little-endian ELF executable for `machine`, with a PT_INTERP segment if `loader` is given.
fn elf_bytes(machine: object::elf::Machine, loader: Option<&str>) -> Vec<u8> {
    let mut b = vec![0; 64];
    b[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    b[16] = 2; // ET_EXEC
    b[18..20].copy_from_slice(&machine.0.to_le_bytes());
    b[20] = 1; // EV_CURRENT
    b[52] = 64; // e_ehsize
    if let Some(loader) = loader {
        b[32] = 64; // e_phoff
        b[54] = 56; // e_phentsize
        b[56] = 1; // e_phnum
        let mut p = vec![0; 56];
        p[0] = 3; // PT_INTERP
        p[8..16].copy_from_slice(&120u64.to_le_bytes());
        p[32..40].copy_from_slice(&(loader.len() as u64 + 1).to_le_bytes());
        b.extend(p);
        b.extend(loader.as_bytes());
        b.push(0);
    }
    b
}

fn refused(path: &Path) -> String {
    find(path.as_os_str()).unwrap_err().to_string()
}

#[test]
fn a_dynamic_program_of_this_architecture_passes() {
    let here = std::env::current_exe().unwrap();
    assert_eq!(find(here.as_os_str()).unwrap(), Program { path: here.clone(), image: here });
    let sh = find(OsStr::new("sh")).unwrap();
    assert!(sh.path.is_absolute() && sh.path.ends_with("sh"), "{sh:?}");
}

/// The libraries stand in for the sanitizers' runtimes: only a library's file name matters, and the
/// name of a function that a program defines.
#[test]
fn sanitizers_that_cannot_share_the_program_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let source = |name: &str, text: &str| file(&dir, name, text.as_bytes(), 0o644);
    source("none.c", "void none(void) {}");
    source("main.c", "int main(void) { return 0; }");
    source("inside.c", "void __tsan_init(void) {} int main(void) { return 0; }");
    let cc = |arguments: &str| {
        let status = std::process::Command::new("cc").current_dir(&dir).args(arguments.split(' ')).status();
        assert!(status.expect("a C compiler, which `make test` asks for").success());
    };
    for library in ["libasan.so.8", "libtsan.so.2"] {
        cc(&format!("-shared -o {library} none.c"));
    }
    cc("-Wl,--no-as-needed -o address main.c ./libasan.so.8");
    cc("-Wl,--no-as-needed -o thread main.c ./libtsan.so.2");
    cc("-rdynamic -o inside inside.c");
    cc("-o plain main.c");
    assert!(refused(&dir.path().join("address")).contains("AddressSanitizer"));
    assert!(refused(&dir.path().join("thread")).contains("ThreadSanitizer"));
    assert!(refused(&dir.path().join("inside")).contains("ThreadSanitizer"));
    assert!(find(dir.path().join("plain").as_os_str()).is_ok());
}

#[test]
fn a_command_that_is_not_there_is_named() {
    assert_eq!(
        find(OsStr::new("no-such-command-7")).unwrap_err().to_string(),
        "no command `no-such-command-7` in PATH"
    );
    assert_eq!(find(OsStr::new("/no/such/file")).unwrap_err().to_string(), "there is no file `/no/such/file`");
    assert!(refused(Path::new("/tmp/")).contains("is a directory"));
}

#[test]
fn what_cannot_be_executed_is_said_so() {
    let dir = tempfile::tempdir().unwrap();
    assert!(refused(&file(&dir, "a", b"#!/bin/sh\n", 0o644)).contains("is not executable"));
    assert!(refused(&file(&dir, "b", b"echo hello\n", 0o755)).contains("neither an ELF executable nor a script"));
    assert!(refused(&file(&dir, "c", b"", 0o755)).contains("neither an ELF executable nor a script"));
    assert!(refused(&file(&dir, "d", b"\x7fELF", 0o755)).contains("ELF header is broken"));
}

#[test]
fn a_static_program_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "static", &elf_bytes(elf::HERE, None), 0o755);
    assert!(refused(&path).contains("it is statically linked"), "{}", refused(&path));
}

#[test]
fn another_architecture_is_refused_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "power", &elf_bytes(object::elf::EM_PPC64, Some("/lib/ld64.so.2")), 0o755);
    assert!(refused(&path).contains("another architecture (64-bit POWER)"), "{}", refused(&path));
    let cut = file(&dir, "cut", &elf_bytes(elf::HERE, Some("/lib/x"))[..100], 0o755);
    assert!(refused(&cut).contains("broken"), "{}", refused(&cut));
}

#[test]
fn another_loader_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let musl = file(&dir, "musl", &elf_bytes(elf::HERE, Some("/lib/ld-musl-x86_64.so.1")), 0o755);
    assert!(refused(&musl).contains("linked with musl"), "{}", refused(&musl));
    let gone = file(&dir, "gone", &elf_bytes(elf::HERE, Some("/no/ld.so")), 0o755);
    assert!(refused(&gone).contains("its loader `/no/ld.so` is not on this machine"), "{}", refused(&gone));
}

#[test]
fn a_set_uid_program_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("suid");
    std::fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4755)).unwrap();
    assert!(refused(&path).contains("it is set-uid"), "{}", refused(&path));
}

#[test]
fn a_script_is_judged_by_its_interpreter() {
    let dir = tempfile::tempdir().unwrap();
    let good = file(&dir, "good", b"#! /bin/sh -e\necho\n", 0o755);
    assert_eq!(find(good.as_os_str()).unwrap().image, Path::new("/bin/sh"));
    let env = file(&dir, "env", b"#!/usr/bin/env sh\n", 0o755);
    assert!(find(env.as_os_str()).unwrap().image.ends_with("sh"));
    let gone = file(&dir, "gone", b"#!/no/such/interpreter\n", 0o755);
    assert!(refused(&gone).contains("`/no/such/interpreter` does not exist"), "{}", refused(&gone));
    let none = file(&dir, "none", b"#!\n", 0o755);
    assert!(refused(&none).contains("names no interpreter"), "{}", refused(&none));
    let fixed = file(&dir, "static", &elf_bytes(elf::HERE, None), 0o755);
    let stat = file(&dir, "by-static", format!("#!{}\n", fixed.display()).as_bytes(), 0o755);
    assert!(refused(&stat).contains("it is statically linked"), "{}", refused(&stat));
    let missing = file(&dir, "env2", b"#!/usr/bin/env no-such-command-7\n", 0o755);
    assert!(refused(&missing).contains("no command `no-such-command-7`"), "{}", refused(&missing));
    let around = dir.path().join("around");
    file(&dir, "around", format!("#!{}\n", around.display()).as_bytes(), 0o755);
    assert!(refused(&around).contains("without end"), "{}", refused(&around));
}
