//! What the README and the pages of promises say is so: commands run, subcommands stand on their page, named tests are there.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).canonicalize().unwrap()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The lines of the README's shell blocks, comments off.
fn commands() -> Vec<String> {
    let readme = text("README.md");
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).map(|line| line.split('#').next().unwrap().trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// A folder with `app`, whose one thread takes a lock again and again: it waits for none, however busy the machine is.
fn a_program_of_ones_own() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = "#include <pthread.h>\nstatic pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;\n\
                  int main(void) { for (int i = 0; i < 1000; i++) { pthread_mutex_lock(&table_lock); pthread_mutex_unlock(&table_lock); } return 0; }\n";
    common::compiled(folder.path(), "app", source, &[]);
    folder
}

#[test]
fn the_readmes_commands_run() {
    let targets = text("Makefile");
    let home = tempfile::tempdir().unwrap();
    let own = a_program_of_ones_own();
    let all = commands();
    assert!(all[0] == "make demo" && all[1] == "make test", "the two commands of a fresh machine come first: {all:?}");
    for line in all {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            // These commands build and test everything, this test among it, so the test does not
            // run them.
            ["make", "test"] | ["cargo", "build", ..] => (),
            // `make install` installs a build; what it runs is tested with the build at hand.
            ["make", target, ..] => assert!(targets.contains(&format!("\n{target}:")), "no target for `{line}`"),
            ["target/release/baton", ref args @ ..] => {
                let output = Command::new(env!("CARGO_BIN_EXE_baton"))
                    .args(args)
                    .current_dir(root())
                    .env("HOME", home.path())
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(output.status.success() && !output.stdout.is_empty(), "{line}\n{said}");
            }
            // It takes half a minute.
            ["baton", "doctor", "--calibrate"] => (),
            // Commands for the reader's own program run in the README's order, because one leaves the
            // profile that another reads.
            ["baton", ref args @ ..] => {
                let output = Command::new(common::installed().join("bin/baton"))
                    .args(args)
                    .current_dir(own.path())
                    .env("XDG_DATA_HOME", own.path())
                    .env_remove("LD_PRELOAD")
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(output.status.success(), "{line}\n{said}");
            }
            _ => panic!("the README has a command that this test does not know how to run: {line}"),
        }
    }
}

#[test]
fn every_subcommand_stands_in_the_page_of_the_command_line() {
    let help = Command::new(env!("CARGO_BIN_EXE_baton")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let list = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let page = text("docs/reference/cli.md");
    for line in list.lines().filter(|l| l.starts_with("  ") && !l.starts_with("   ")) {
        let name = line.trim().split(' ').next().unwrap();
        assert!(name == "help" || page.contains(&format!("`{name}`")), "docs/reference/cli.md does not name `{name}`");
    }
}
