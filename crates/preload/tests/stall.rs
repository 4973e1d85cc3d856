//! Tests of programs that stand still because waiters only spin.

mod common;
use common::{Run, locks};

/// Runs `stall.c`. Returns the message that the program stood still, and whether its waiters were
/// put to sleep.
fn stalls(what: &str, then: &str, variables: &[(&str, &str)]) -> (String, bool) {
    let mut run = Run::new("stall.c", &[what, then]).counted();
    for (variable, value) in variables {
        run = run.set(variable, value);
    }
    let ran = run.ok();
    let said = String::from_utf8(ran.output.stderr).unwrap();
    assert!(said.starts_with("baton: process ") && said.contains("made no progress"), "{}: {said}", ran.what);
    (said, ran.stats[0]["put_to_sleep"].as_bool().unwrap())
}

/// A thread waits, spinning, for a lock (`tas` or `mcs`) that is released only after the message.
/// The message must come once, and say that waiters sleep from now on.
#[test]
fn a_waiter_that_spins_for_nothing_is_put_to_sleep_and_it_is_said_once() {
    for lock in locks().filter(|lock| lock.name == "tas" || lock.name == "mcs") {
        let (said, slept) = stalls("mutex", "sleeps", &[("BATON_LOCK", lock.name), ("BATON_WAIT", "pause")]);
        assert!(slept && said.contains("sleep from now on") && said.contains("--keep-spinning"), "{said}");
    }
}

#[test]
fn waiters_at_a_barrier_are_put_to_sleep_too() {
    assert!(stalls("barrier", "sleeps", &[("BATON_BARRIER", "central"), ("BATON_WAIT", "spin")]).1);
}

#[test]
fn who_asks_for_it_keeps_spinning() {
    let keep = [("BATON_LOCK", "mcs"), ("BATON_WAIT", "pause"), ("BATON_KEEP_SPINNING", "on")];
    let (said, slept) = stalls("mutex", "spins", &keep);
    assert!(!slept && !said.contains("sleep"), "{said}");
}

/// Four threads on one CPU hand a lock on 240,000 times. While its waiters spin, each hand-off
/// takes a time slice, which would be minutes in all; put to sleep, they must finish.
#[test]
fn more_spinners_than_cpus_come_to_an_end() {
    let ran = Run::new("spinners.c", &[]).set("BATON_LOCK", "mcs").set("BATON_WAIT", "pause").counted().ok();
    assert_eq!(ran.stats[0]["put_to_sleep"], true, "{:?}", ran.stats);
    let said = String::from_utf8(ran.output.stderr).unwrap();
    assert_eq!(said.matches("no progress").count(), 1, "{said}");
}
