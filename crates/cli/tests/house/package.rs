//! Crates that others may use by themselves can be packaged: with all that their packages need, and without the rest of the tree.

use std::path::Path;
use std::process::Command;

/// The crates, each behind those that it depends on.
const CRATES: [&str; 5] = ["units", "machine", "sync", "noc", "trace"];

fn cargo(arguments: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // A target folder of its own: cargo holds the other one while the tests run, and this builds nothing.
    command.current_dir(root).env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("package"));
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn crates_for_others_can_be_packaged() {
    let mut arguments = vec!["package", "--offline", "--allow-dirty", "--no-verify", "--quiet"];
    let packages = CRATES.map(|name| format!("-p=baton-{name}"));
    arguments.extend(packages.iter().map(String::as_str));
    cargo(&arguments);
    let manifest = cargo(&["metadata", "--offline", "--no-deps", "--format-version=1"]);
    let metadata: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    for name in CRATES {
        let named = |package: &&serde_json::Value| package["name"] == format!("baton-{name}");
        let package = metadata["packages"].as_array().unwrap().iter().find(named).unwrap();
        for key in ["description", "license", "readme", "rust_version"] {
            assert!(package[key].is_string(), "crates/{name}/Cargo.toml has no {key}");
        }
        assert!(!package["keywords"].as_array().unwrap().is_empty(), "crates/{name}/Cargo.toml has no keywords");
        for dependency in package["dependencies"].as_array().unwrap() {
            let own = dependency["name"].as_str().unwrap().strip_prefix("baton-");
            let used = own.is_none_or(|own| CRATES.contains(&own)) || dependency["kind"] == "dev";
            assert!(used, "baton-{name} depends on {}, which is not packaged", dependency["name"]);
        }
        let files = cargo(&["package", "--offline", "--allow-dirty", "--list", "-p", &format!("baton-{name}")]);
        assert!(files.lines().any(|file| file == "README.md"), "baton-{name} has no README.md\n{files}");
    }
}
