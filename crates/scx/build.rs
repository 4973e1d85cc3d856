//! Compiles the BPF program with clang.

use std::path::Path;
use std::process::Command;

/// The names of clang, the plain one first.
const CLANGS: [&str; 4] = ["clang", "clang-21", "clang-20", "clang-19"];

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=BPF_CLANG");
    let object = Path::new(&std::env::var("OUT_DIR").expect("cargo names it")).join("baton.bpf.o");
    let named = std::env::var("BPF_CLANG").ok();
    let mut names = named.as_deref().into_iter().chain(CLANGS);
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let clang =
        names.find(runs).expect("clang is needed to compile bpf/baton.bpf.c: install it, or name it in BPF_CLANG");
    let flags = ["-target", "bpf", "-mcpu=v3", "-g", "-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"];
    let mut compile = Command::new(clang);
    compile.args(flags).args(["-c", "bpf/baton.bpf.c", "-o"]).arg(object);
    assert!(compile.status().is_ok_and(|status| status.success()), "{clang} does not compile bpf/baton.bpf.c");
}
