//! The programs that are compared with Coz: they build without a warning, and every variant has the right result. And the
//! comparison itself: it names what it misses. (Its figures, from a run by hand, stand in `docs/results/coz.md`; Coz needs minutes.)

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAMS: [(&str, [&str; 2]); 2] = [("stages", ["table", "log"]), ("sleeper", ["journal", "table"])];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Compiles one of the programs to a file named after the test, because a file that another test is
/// running cannot be written.
fn compile(program: &str, test: &str) -> PathBuf {
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{program}-{test}"));
    let flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "work.c", "-o"];
    let mut command = Command::new(compiler);
    command.current_dir(root().join("examples/coz")).args(flags).arg(&binary).arg(format!("{program}.c"));
    let done = output(&mut command);
    assert!(done.status.success(), "{command:?}\n{}", text(&done.stderr));
    binary
}

/// Every variant counts the same words and keeps the same records; `check ok` is what the program finds by computing them otherwise.
#[test]
fn every_variant_has_the_right_result() {
    for (program, locks) in PROGRAMS {
        let binary = compile(program, "variants");
        let mut variants = vec![vec![], vec!["--threads", "5"]];
        for lock in locks {
            variants.extend([vec!["--cheaper", lock], vec!["--split", lock]]);
        }
        for variant in variants {
            let mut command = Command::new(&binary);
            let done = output(command.args(["--documents", "61"]).args(&variant));
            let said = text(&done.stdout);
            assert!(done.status.success(), "{command:?} said {said}");
            assert!(
                said.starts_with("documents 61 elapsed_ns ") && said.ends_with(" check ok\n"),
                "{command:?} said {said}"
            );
        }
    }
}

/// `--cheaper LOCK` must make a lock's critical section cost about half as much, because the
/// comparison with Coz relies on it. The section of `log` takes only nanoseconds and is not judged.
/// Other programs can only lengthen a time, so the shortest time of five runs counts.
#[test]
fn a_cheaper_section_costs_about_half() {
    for (program, _) in PROGRAMS {
        let binary = compile(program, "costs");
        let mut least: BTreeMap<String, [f64; 2]> = BTreeMap::new();
        for _ in 0..5 {
            for line in text(&output(Command::new(&binary).arg("--costs")).stdout).lines() {
                let mut words = line.split(' ');
                let costs = least.entry(words.next().unwrap().to_owned()).or_insert([f64::MAX; 2]);
                for (least, cost) in costs.iter_mut().zip(words) {
                    *least = least.min(cost.parse().unwrap());
                }
            }
        }
        for (section, [whole, cheaper]) in least.iter().filter(|(section, _)| *section != "log") {
            assert!((0.3..0.8).contains(&(cheaper / whole)), "{program}: {section} {whole} {cheaper}");
        }
    }
}

#[test]
fn a_mistake_is_told() {
    let done = output(Command::new(compile("stages", "mistake")).args(["--cheaper", "journal"]));
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("no lock is called journal"), "{}", text(&done.stderr));
}

#[test]
fn the_comparison_names_what_is_missing() {
    let script = root().join("scripts/measure/coz-compare");
    let Some(python) = python() else { return };
    let mut command = Command::new(&python);
    let done =
        output(command.arg(&script).args(["--baton", "/nowhere/baton"]).env("PATH", "/nowhere").env_remove("CC"));
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    for program in ["missing: cc ", "missing: coz ", "missing: /nowhere/baton "] {
        assert!(said.contains(program), "{program:?} in {said}");
    }
}

/// The interpreter's path, or `None` after saying that the test is skipped for want of it.
fn python() -> Option<String> {
    if !baton_needs::has("python3", "the_comparison_names_what_is_missing") {
        return None;
    }
    let found = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    Some(text(&found.stdout).trim().to_owned())
}
