//! The house's layering: `docs/architecture.md` has a table of crates and what each may use;
//! `cargo metadata` says what each uses. Each crate has one row, the table must allow each use
//! (`units` may be used by all), and every arrow must run downward in the table.

use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};

const TABLE: &str = include_str!("../../../../docs/architecture.md");

/// The words in backquotes of a cell.
fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

/// The table's rows in order: a crate and what it may use.
fn table() -> Vec<(String, Vec<String>)> {
    let rows = TABLE.lines().skip_while(|line| !line.starts_with("| crate | holds | may use |")).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
            assert_eq!(cells.len(), 3, "a row of three cells: {row}");
            (names(cells[0])[0].clone(), names(cells[2]))
        })
        .collect()
}

/// What `cargo metadata` says: each crate of the workspace and its normal (and build) dependencies among them.
fn workspace() -> BTreeMap<String, Vec<String>> {
    let mut all = uses_of(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"));
    // Two crates are workspaces of their own.
    all.extend(uses_of(concat!(env!("CARGO_MANIFEST_DIR"), "/../python/Cargo.toml")));
    all.extend(uses_of(concat!(env!("CARGO_MANIFEST_DIR"), "/../scx/Cargo.toml")));
    all
}

fn uses_of(manifest: &str) -> BTreeMap<String, Vec<String>> {
    let metadata =
        MetadataCommand::new().manifest_path(manifest).no_deps().exec().expect("cargo metadata of the workspace");
    let short = |name: &str| name.strip_prefix("baton-").map(ToOwned::to_owned);
    metadata
        .workspace_packages()
        .iter()
        .map(|package| {
            let uses = package.dependencies.iter().filter(|d| d.kind != DependencyKind::Development);
            let uses = uses.filter_map(|d| short(&d.name)).collect();
            (short(&package.name).expect("every crate is named baton-*"), uses)
        })
        .collect()
}

#[test]
fn every_crate_has_one_row() {
    let mut rows: Vec<String> = table().into_iter().map(|(name, _)| name).collect();
    rows.sort();
    assert_eq!(rows, workspace().into_keys().collect::<Vec<_>>());
}

#[test]
fn every_dependency_is_allowed() {
    let allowed: BTreeMap<_, _> = table().into_iter().collect();
    for (name, uses) in workspace() {
        for used in uses.iter().filter(|used| *used != "units") {
            assert!(allowed[&name].contains(used), "`{name}` uses `{used}`: docs/architecture.md does not allow it");
        }
    }
}

#[test]
fn arrows_run_downward() {
    let rows = table();
    let place = |name: &str| rows.iter().position(|(n, _)| n == name).unwrap_or_else(|| panic!("no row for `{name}`"));
    for (i, (name, uses)) in rows.iter().enumerate() {
        for used in uses {
            assert!(place(used) > i, "`{name}` may use `{used}`, which stands above it");
        }
    }
}

#[test]
fn nothing_depends_on_the_preload_library() {
    for (name, uses) in workspace() {
        assert!(!uses.contains(&"preload".to_owned()), "`{name}` would be interposed itself");
    }
}

/// The names in the list `CRATES` of a build script.
fn listed(build: &'static str) -> BTreeSet<&'static str> {
    let list = build.split_once("const CRATES").and_then(|(_, rest)| rest.split_once("= [")).expect("the list").1;
    list.split(']').next().unwrap().split('"').skip(1).step_by(2).collect()
}

/// These crates, and all that they use, also through others.
fn closure<'a>(crates: &[&'a str], workspace: &'a BTreeMap<String, Vec<String>>) -> BTreeSet<&'a str> {
    let mut used: BTreeSet<&str> = crates.iter().copied().collect();
    let mut left = crates.to_vec();
    while let Some(name) = left.pop() {
        left.extend(workspace[name].iter().map(String::as_str).filter(|other| used.insert(other)));
    }
    used
}

/// `crates/studies/build.rs` lists the crates of which a change shows in the commit of a result:
/// `studies`, and every crate that it uses, also through others.
#[test]
fn a_change_of_any_crate_of_the_studies_shows_in_their_commit() {
    let workspace = workspace();
    assert_eq!(listed(include_str!("../../../studies/build.rs")), closure(&["studies"], &workspace));
}

/// `crates/cli/build.rs` lists the crates of which a change makes other points of a sweep: those that
/// compute figures, and `cli`, which puts figures together.
#[test]
fn a_change_of_any_crate_that_computes_makes_other_points_of_a_sweep() {
    let workspace = workspace();
    let mut computes = closure(&["studies", "replay", "litmus"], &workspace);
    computes.insert("cli");
    assert_eq!(listed(include_str!("../../build.rs")), computes);
}

/// The paths of the modules called `name` below a folder.
fn modules(folder: &std::path::Path, name: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in folder.read_dir().unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.unwrap().path();
        if path.file_stem().is_some_and(|stem| stem == name) {
            found.push(path);
        } else if path.is_dir() {
            found.extend(modules(&path, name));
        }
    }
    found
}

#[test]
fn one_module_is_called_measure() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let found: Vec<_> = crates
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path().join("src"))
        .filter(|src| src.is_dir())
        .flat_map(|src| modules(&src, "measure"))
        .collect();
    assert_eq!(
        found,
        [crates.join("cli/src/cmd/measure")],
        "a module called `measure` says nothing of what is measured"
    );
}
