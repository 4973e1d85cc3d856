//! Tests that calls are counted while a program runs: each progress point exactly, over threads and
//! processes, under several locks.

mod common;
use baton_trace::counts::{self, Totals};
use common::{Run, folder, program};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes a file for counts, as `baton` does.
fn counts_file() -> PathBuf {
    let file = folder("counts").join("counts");
    let mut bytes = vec![0; counts::LENGTH];
    bytes[..8].copy_from_slice(&counts::MAGIC.to_le_bytes());
    std::fs::write(&file, bytes).unwrap();
    file
}

/// The counts of `progress.c` for this progress point, under this lock.
fn counted(point: &str, lock: &str, arguments: &[&str]) -> Totals {
    let file = counts_file();
    let run = Run::new("progress.c", arguments).set("BATON_PROGRESS", point).set("BATON_PROGRESS_FILE", &file);
    run.set("BATON_LOCK", lock).ok();
    Totals::of(&std::fs::read(&file).unwrap()).expect("a file of counts")
}

/// The addresses of a symbol of the program, in the form that the library takes.
fn place(symbol: &str) -> String {
    let path = program("progress.c");
    let table = Command::new("nm").args(["-S", "--defined-only"]).arg(&path).output().expect("nm").stdout;
    let table = String::from_utf8(table).unwrap();
    let line = table.lines().find(|line| line.ends_with(&format!(" {symbol}"))).expect("the symbol is there");
    let number = |at: usize| u64::from_str_radix(line.split(' ').nth(at).unwrap(), 16).unwrap();
    let name = Path::new(&path).file_name().unwrap().to_str().unwrap().to_owned();
    format!("{name}+{:#x}-{:#x}", number(0), number(0) + number(1))
}

/// Two threads and a child process run ten rounds each, with two receptions in a round: 60.
#[test]
fn calls_are_counted_over_threads_and_processes() {
    let totals = counted("recv", "", &[]);
    let column = |call: &str| totals.columns[counts::column(call).unwrap()];
    assert_eq!((totals.columns[0], column("recv"), column("send"), totals.processes), (60, 60, 60, 2));
    assert_eq!((column("accept"), column("clock_nanosleep")), (0, 30));
}

#[test]
fn only_calls_from_a_place_that_is_named_count() {
    let totals = counted(&format!("recv@{}", place("receive_here")), "", &[]);
    assert_eq!((totals.columns[0], totals.columns[counts::column("recv").unwrap()]), (30, 60));
    let totals = counted(&format!("recv@{}", place("main")), "", &[]);
    assert_eq!((totals.columns[0], totals.columns[counts::column("recv").unwrap()]), (0, 60));
}

#[test]
fn acquisitions_of_one_mutex_are_counted_whatever_serves_it() {
    let point = format!("lock:{}", place("counted_lock"));
    let each = format!("{}=ticket,default=glibc", place("counted_lock"));
    for lock in ["", "spin-park", "mcs", "cohort", "futex", &each] {
        let totals = counted(&point, lock, &[]);
        assert_eq!(totals.columns[0], 30, "{lock}");
    }
    let from_work = counted(&format!("{point}@{}", place("work")), "mcs", &[]);
    let from_main = counted(&format!("{point}@{}", place("main")), "mcs", &[]);
    assert_eq!((from_work.columns[0], from_main.columns[0]), (30, 0));
}

#[test]
fn waits_for_one_condition_are_counted_whatever_serves_it() {
    let point = format!("cond:{}", place("counted_cond"));
    for lock in ["", "spin-park", "mcs"] {
        assert_eq!(counted(&point, lock, &["waits"]).columns[0], 10, "{lock}");
    }
}

/// A wait at a condition variable takes its mutex again. glibc does so out of sight, so it must not
/// count under another lock either: `wait_for_turns` locks 20 times, and waits as often.
#[test]
fn what_a_wait_takes_again_is_no_acquisition() {
    let point = format!("lock:{}@{}", place("other_lock"), place("wait_for_turns"));
    for lock in ["", "spin-park", "mcs"] {
        assert_eq!(counted(&point, lock, &["waits"]).columns[0], 20, "{lock}");
    }
}

#[test]
fn markers_of_one_name_are_counted() {
    assert_eq!(counted("mark:served", "", &[]).columns[0], 30);
    assert_eq!(counted("mark:never", "", &[]).columns[0], 0);
}

/// A process that cannot open the file of counts runs on, and says so.
#[test]
fn without_the_file_the_program_runs() {
    let none = folder("counts").join("none");
    let ran = Run::new("progress.c", &[]).set("BATON_PROGRESS", "recv").set("BATON_PROGRESS_FILE", &none).ok();
    let said = String::from_utf8_lossy(&ran.output.stderr).into_owned();
    assert!(said.contains("cannot open the file of its counts"), "{said}");
    assert!(!none.exists());
}
