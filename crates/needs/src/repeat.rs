//! Finds and prints the one command that repeats a test that failed.
//!
//! A test with random input asks for its [`seed`]; a deterministic test keeps an [`on_failure`].
//! When such a test fails, the last line that it prints is the command, with the seed if there is
//! one.

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Once;

/// The variable that proptest also reads if its configuration names no seed.
const SEED: &str = "PROPTEST_RNG_SEED";

thread_local! {
    /// The command that repeats the property that this thread tests.
    static COMMAND: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Returns the seed for a property's random input: the one in `PROPTEST_RNG_SEED`, otherwise a new
/// one each time. Use it in a configuration of proptest: `rng_seed: RngSeed::Fixed(seed())`. If the
/// property fails, the command that draws the same input again is printed.
///
/// # Panics
/// If the variable is set but is not a number.
pub fn seed() -> u64 {
    static HOOK: Once = Once::new();
    let given = std::env::var(SEED).ok();
    let given = given.map(|text| text.parse().unwrap_or_else(|_| panic!("{SEED}={text}: no number of 64 bits")));
    // Each `RandomState` has its own random keys.
    let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0));
    COMMAND.set(Some(format!("{SEED}={seed} {}", command())));
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            before(panic);
            // While proptest looks for the smallest failing input, each failing input panics;
            // proptest's own panic is the last.
            let text = panic.payload_as_str().unwrap_or_default();
            if text.starts_with("Test failed") || text.starts_with("Test aborted") {
                COMMAND.with_borrow(|command| command.iter().for_each(|command| say(command)));
            }
        }));
    });
    seed
}

/// Prints the command that repeats this test if the test panics while the value is alive.
#[must_use = "it prints when it is dropped"]
pub struct OnFailure(());

/// Returns a value that prints the command that repeats this test, if the test panics while the
/// value is alive. For tests that do the same each time.
pub fn on_failure() -> OnFailure {
    OnFailure(())
}

impl Drop for OnFailure {
    fn drop(&mut self) {
        if std::thread::panicking() {
            say(&command());
        }
    }
}

fn say(command: &str) {
    eprintln!("repeat it: {command}");
}

/// Returns the command that runs only the test of this thread.
fn command() -> String {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let program = std::env::current_exe().unwrap_or_default();
    let library = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("src/lib.rs").is_file();
    let thread = std::thread::current();
    // With `--test-threads=1`, tests run on the main thread, which is not named after a test.
    let test = thread.name().filter(|name| *name != "main");
    of(&package, &program, library, cfg!(debug_assertions), test)
}

/// Returns the command for a test program of a package (with or without a library) that was built
/// with or without debug assertions.
fn of(package: &str, program: &Path, library: bool, debug: bool, test: Option<&str>) -> String {
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    // Cargo appends a hash to the name.
    let target = stem.rsplit_once('-').map_or(&*stem, |(name, _)| name);
    let own = target == package.replace('-', "_");
    let target = match (own, library) {
        (true, true) => "--lib".to_owned(),
        (true, false) => "--bins".to_owned(),
        (false, _) => format!("--test {target}"),
    };
    let release = if debug { "" } else { " --release" };
    let test = test.map_or(String::new(), |test| format!(" -- --exact {test}"));
    format!("cargo test{release} -p {package} {target}{test}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Runs a test of this program again with the given seed, or without one. Returns the command
    /// that the test prints when it fails.
    fn failing(test: &str, seed: Option<&str>) -> String {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture", "--test-threads=2"]).env("BATON_NEEDS_BODY", "1");
        match seed {
            Some(seed) => command.env(SEED, seed),
            None => command.env_remove(SEED),
        };
        let output = command.output().unwrap();
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = said.lines().find_map(|line| line.strip_prefix("repeat it: "));
        line.unwrap_or_else(|| panic!("no command: {said}")).to_owned()
    }

    fn wanted() -> bool {
        std::env::var_os("BATON_NEEDS_BODY").is_some()
    }

    #[test]
    fn a_property() {
        if wanted() {
            seed();
            panic!("Test failed: as it should");
        }
    }

    #[test]
    fn a_suite() {
        if wanted() {
            let _command = on_failure();
            panic!("as it should");
        }
    }

    #[test]
    fn the_command_names_the_test_and_its_seed() {
        let release = if cfg!(debug_assertions) { "" } else { " --release" };
        let repeats = |test: &str| format!("cargo test{release} -p baton-needs --lib -- --exact repeat::tests::{test}");
        assert_eq!(failing("repeat::tests::a_suite", None), repeats("a_suite"));
        let given = failing("repeat::tests::a_property", Some("71"));
        assert_eq!(given, format!("{SEED}=71 {}", repeats("a_property")));
        let drawn = failing("repeat::tests::a_property", None);
        let (seed, command) = drawn.strip_prefix("PROPTEST_RNG_SEED=").unwrap().split_once(' ').unwrap();
        assert!(seed.parse::<u64>().is_ok() && command == repeats("a_property"), "{drawn}");
    }

    #[test]
    fn a_test_program_is_named_as_cargo_names_it() {
        let path = Path::new("/target/debug/deps/same_history-0123456789abcdef");
        let command = of("baton-chip", path, true, true, Some("a_seed_is_a_history"));
        assert_eq!(command, "cargo test -p baton-chip --test same_history -- --exact a_seed_is_a_history");
        let path = Path::new("/target/release/deps/baton_cli-0123456789abcdef");
        assert_eq!(of("baton-cli", path, false, false, None), "cargo test --release -p baton-cli --bins");
    }
}
