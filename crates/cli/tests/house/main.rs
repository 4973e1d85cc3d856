//! The house: layers between and inside crates, the documentation, its recipes, terms and tables.

mod c_library;
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod docs_links;
mod extend;
mod figures;
mod floors;
mod layering;
mod methods;
mod package;
mod python;
mod semver;
mod skips;
mod terms;

use std::path::{Path, PathBuf};

/// The root of the tree.
fn root() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).canonicalize().expect("the workspace")
}
