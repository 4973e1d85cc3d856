//! Every test that skips for want of something does so through `baton-needs`, so that it is named, and a failure in CI.

use std::path::{Path, PathBuf};

/// The Rust sources below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn nobody_skips_in_a_way_of_their_own() {
    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut found);
    assert!(found.len() > 300, "{} sources", found.len());
    let (here, helper) = (Path::new("house/skips.rs"), Path::new("needs/src/lib.rs"));
    for path in found.iter().filter(|path| !path.ends_with(here) && !path.ends_with(helper)) {
        let text = std::fs::read_to_string(path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let own =
                line.contains("BATON_SKIPPED") || line.contains("println!(\"SKIP") || line.contains("println!(\"skip");
            assert!(!own, "{}:{}: use baton-needs: {line}", path.display(), number + 1);
        }
    }
}
