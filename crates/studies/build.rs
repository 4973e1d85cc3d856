//! Sets `BATON_COMMIT`, the commit that every result of a study names. If the variable is set from
//! outside, its value is kept; otherwise git is asked; without git the value is `unknown`.

use std::path::Path;
use std::process::Command;

/// Crates whose code decides the figures of a study. If a file in the `src` folder of one of them
/// differs from the commit, the commit's name gets the suffix `with changes`. These are this crate
/// and all crates that it uses, also through others; `cargo test -p baton-cli --test house` compares
/// the list.
const CRATES: [&str; 15] = [
    "chip",
    "chipfile",
    "coherence",
    "machine",
    "memory",
    "noc",
    "omp",
    "plot",
    "programs",
    "sched",
    "studies",
    "sync",
    "trace",
    "units",
    "workloads",
];

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("--no-optional-locks").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn main() {
    println!("cargo::rerun-if-env-changed=BATON_COMMIT");
    // Only the `src` folder of each crate is watched, because tests may write files beside their
    // sources.
    let crates = CRATES.map(|name| format!("../{name}/src"));
    for folder in &crates {
        println!("cargo::rerun-if-changed={folder}");
    }
    // A new commit changes HEAD, or the branch to which HEAD points; the branch may be in the file
    // of packed references instead.
    let branch = git(&["symbolic-ref", "HEAD"]).unwrap_or_else(|| "HEAD".to_owned());
    for name in ["HEAD", &branch, "packed-refs"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let given = std::env::var("BATON_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = given.or_else(|| {
        let commit = git(&["rev-parse", "HEAD"])?;
        let folders = crates.iter().map(String::as_str);
        let status: Vec<&str> = ["status", "--porcelain", "--"].into_iter().chain(folders).collect();
        // If git cannot say whether files differ, they are taken to differ.
        let changed = git(&status).is_none_or(|status| !status.is_empty());
        Some(if changed { format!("{commit} with changes") } else { commit })
    });
    println!("cargo::rustc-env=BATON_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}
