//! Programs that stand still because waiters only spin.

mod common;
use common::{Run, locks};

/// The message of a program that stood still, and whether its waiters were put to sleep.
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

/// Every lock whose waiters can be told to spin: those that spin by the machine's verb, and the one that does so by itself.
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

/// 240,000 hand-offs, which take a time slice each as long as waiters spin: some minutes.
#[test]
fn more_spinners_than_cpus_come_to_an_end() {
    let ran = Run::new("spinners.c", &[]).set("BATON_LOCK", "mcs").set("BATON_WAIT", "pause").counted().ok();
    assert_eq!(ran.stats[0]["put_to_sleep"], true, "{:?}", ran.stats);
    let said = String::from_utf8(ran.output.stderr).unwrap();
    assert_eq!(said.matches("no progress").count(), 1, "{said}");
}
