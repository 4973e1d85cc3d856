//! Links the command to a fixed address: the loader would have to write some 250,000 addresses into
//! it at each start otherwise, which takes half of the time before `baton run` starts its program.
//!
//! Sets `BATON_SOURCES`, a hash of the sources of all crates that compute figures. It is part of the
//! keys of a sweep's points: rows that other sources computed are not taken for those of these.

use std::path::{Path, PathBuf};

/// Crates whose code decides the figures of `sim`, `noc` and the other commands that can be swept;
/// `cargo test -p baton-cli --test house` compares the list.
const CRATES: [&str; 18] = [
    "chip",
    "chipfile",
    "cli",
    "coherence",
    "litmus",
    "machine",
    "memory",
    "noc",
    "omp",
    "plot",
    "programs",
    "replay",
    "sched",
    "studies",
    "sync",
    "trace",
    "units",
    "workloads",
];

/// The files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// FNV-1a over names and contents, in the order of the names: the same on every machine.
fn hash(files: &[PathBuf]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for path in files {
        let content = std::fs::read(path).unwrap_or_default();
        for byte in path.to_string_lossy().bytes().chain([0]).chain(content).chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let mut sources = Vec::new();
    for name in CRATES {
        let folder = format!("../{name}/src");
        println!("cargo:rerun-if-changed={folder}");
        files(Path::new(&folder), &mut sources);
    }
    sources.sort();
    println!("cargo:rustc-env=BATON_SOURCES={:016x}", hash(&sources));
    let is = |key: &str, value: &str| std::env::var(key).is_ok_and(|is| is == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bin=baton=-no-pie");
    }
}
