//! What the command does on a terminal, which `script` provides: tables fit its width, and a long analysis shows how far it is. And
//! what an interrupted analysis leaves.

use crate::common;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a command writes to a terminal of 80 columns, with the variable COLUMNS if `columns` is
/// given.
fn on_terminal(folder: &Path, command: &str, columns: Option<&str>) -> String {
    let mut script = Command::new("script");
    script.args(["-qec", &format!("stty cols 80; {command}"), "/dev/null"]).current_dir(folder);
    script
        .env("NO_COLOR", "1")
        .env("TERM", "xterm")
        .env_remove("COLUMNS")
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null());
    if let Some(columns) = columns {
        script.env("COLUMNS", columns);
    }
    String::from_utf8_lossy(&script.output().unwrap().stdout).into_owned()
}

fn longest(text: &str) -> usize {
    text.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0)
}

#[test]
fn tables_fit_a_terminal_and_are_whole_in_a_pipe() {
    if !baton_needs::has("script", "tables_fit_a_terminal_and_are_whole_in_a_pipe") {
        return;
    }
    let baton = common::installed().join("bin/baton");
    for arguments in ["chips list".to_owned(), "list locks".to_owned(), "list figures".to_owned()] {
        let command = format!("{} {arguments}", baton.display());
        let on_terminal = |columns| on_terminal(&common::root(), &command, columns);
        let (eighty, hundred) = (on_terminal(None), on_terminal(Some("100")));
        assert!(longest(&eighty) <= 80 && longest(&eighty) > 60, "{arguments}: {eighty}");
        assert!(longest(&hundred) <= 100 && longest(&hundred) > 80, "{arguments}: {hundred}");
        let piped = Command::new("sh")
            .args(["-c", &command])
            .current_dir(common::root())
            .env("COLUMNS", "80")
            .output()
            .unwrap();
        let piped = String::from_utf8_lossy(&piped.stdout).into_owned();
        assert!(longest(&piped) > 100, "{arguments}: {piped}");
        // Nothing is cut: every word that the command writes to a pipe is on the terminal too,
        // where a heading has a colon behind it.
        let words = |text: &str| {
            text.split_whitespace()
                .map(|word| word.trim_end_matches(':').to_owned())
                .collect::<std::collections::BTreeSet<_>>()
        };
        let (shown, all) = (words(&eighty), words(&piped));
        let lost: Vec<_> = all.difference(&shown).filter(|word| word.len() < 30 && *word != "-").collect();
        assert!(lost.is_empty(), "{arguments}: {lost:?} in {eighty}");
    }
}

/// Two threads take a lock 300,000 times each: an analysis that takes a while.
const PROGRAM: &str = r#"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long n;
static void *work(void *x) {
    for (int i = 0; i < 300000; i++) { pthread_mutex_lock(&lock); n++; pthread_mutex_unlock(&lock); }
    return x;
}
int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}"#;

fn many() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    common::compiled(folder.path(), "many", PROGRAM, &[]);
    folder
}

/// The unfinished profile in a folder, once its analysis has begun.
fn unfinished(folder: &Path) -> PathBuf {
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        let entries = folder.read_dir().unwrap().flatten().map(|entry| entry.path());
        if let Some(found) = entries.into_iter().find(|path| path.join("meta.json").is_file()) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("no analysis began");
}

/// Interrupts an analysis of `many`. Returns what the command said, and the unfinished profile;
/// `None` if the analysis ended before the signal came, as this test had no CPU.
fn interrupted(baton: &Path, folder: &Path) -> Option<(String, PathBuf)> {
    let mut command = Command::new(baton);
    command.args(["profile", "--force", "-o", "before", "./many"]).current_dir(folder).env("NO_COLOR", "1");
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let left = unfinished(folder);
    // SAFETY: the process is a child that has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let out = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    if out.status.success() {
        std::fs::remove_dir_all(folder.join("before")).unwrap();
        return None;
    }
    assert_eq!(out.status.signal(), Some(libc::SIGINT), "{said}");
    Some((said, left))
}

#[test]
fn an_interrupted_analysis_says_what_it_leaves_and_how_to_go_on() {
    let folder = many();
    let baton = common::installed().join("bin/baton");
    let (said, left) = (0..20).find_map(|_| interrupted(&baton, folder.path())).expect("a signal in time");
    let name = left.file_name().unwrap().to_str().unwrap();
    assert!(said.contains(&format!("stays in {name}; to go on: baton report {name}")), "{said}");
    let report = Command::new(&baton).args(["report", name]).current_dir(folder.path()).output().unwrap();
    let summary = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(report.status.success() && summary.contains("./many") && summary.contains("600k acq"), "{summary}");
}

#[test]
fn an_analysis_shows_its_steps_on_a_terminal_only() {
    if !baton_needs::has("script", "an_analysis_shows_its_steps_on_a_terminal_only") {
        return;
    }
    let folder = many();
    let baton = common::installed().join("bin/baton");
    let shown = on_terminal(folder.path(), &format!("{} profile -o before ./many", baton.display()), None);
    assert!(shown.contains("waits and holds") && shown.contains("the profile is in before"), "{shown}");
    let out = Command::new(&baton).args(["report", "before"]).current_dir(folder.path()).output().unwrap();
    assert!(out.status.success() && !String::from_utf8_lossy(&out.stderr).contains("waits and holds"));
}
