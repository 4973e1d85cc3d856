//! Which commit this is built from: every result says so. `BATON_COMMIT` from outside goes before what git says; without either
//! it is `unknown`.

use std::path::Path;
use std::process::Command;

/// The crates whose code decides what a study's figures are: where one of them is changed, the commit alone does not say it.
const CRATES: [&str; 9] = ["chip", "coherence", "machine", "noc", "plot", "sched", "studies", "sync", "workloads"];

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("--no-optional-locks").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn main() {
    println!("cargo::rerun-if-env-changed=BATON_COMMIT");
    // Tests may leave something beside their sources.
    let crates = CRATES.map(|name| format!("../{name}/src"));
    for folder in &crates {
        println!("cargo::rerun-if-changed={folder}");
    }
    // What a new commit changes: where HEAD points to, or what is there; a branch may be in the file of packed ones.
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
        // Where git cannot say, nothing is claimed.
        let changed = git(&status).is_none_or(|status| !status.is_empty());
        Some(if changed { format!("{commit} with changes") } else { commit })
    });
    println!("cargo::rustc-env=BATON_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
}
