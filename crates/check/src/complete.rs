//! Checks that a test program has a suite for every algorithm. The catalogue says what a suite
//! contains; this check makes sure that a machine has the suites, so that a forgotten suite is
//! found.

use baton_sync::barrier::BARRIERS;
use baton_sync::event::EVENTS;
use baton_sync::lock::LOCKS;
use baton_sync::queue::QUEUES;
use baton_sync::rwlock::RWLOCKS;
use baton_sync::semaphore::SEMAPHORES;
use std::process::Command;

/// Panics if the running test program has no contract test of some algorithm in the registries, or
/// none of the machine.
pub fn assert_complete() {
    let program = std::env::current_exe().expect("a test program knows its own path");
    let listed = Command::new(program).arg("--list").output().expect("a test program can be run to list its tests");
    let absent = absent(&String::from_utf8_lossy(&listed.stdout));
    assert!(absent.is_empty(), "in no contract suite of this machine: {}", absent.join(", "));
}

/// Returns what has no test in a list of tests that `--list` printed.
fn absent(listing: &str) -> Vec<String> {
    let rooms = |folder: &str, names: Vec<&str>| -> Vec<String> {
        names.into_iter().map(|name| format!("{folder}::{}::", crate::catalogue::room(name))).collect()
    };
    let mut expected = vec!["machine::".to_owned()];
    expected.extend(rooms("locks", LOCKS.iter().map(|lock| lock.name).collect()));
    expected.extend(rooms("barriers", BARRIERS.iter().map(|barrier| barrier.name).collect()));
    expected.extend(rooms("events", EVENTS.iter().map(|event| event.name).collect()));
    expected.extend(rooms("queues", QUEUES.iter().map(|queue| queue.name).collect()));
    expected.extend(rooms("rwlocks", RWLOCKS.iter().map(|lock| lock.name).collect()));
    expected.extend(rooms("semaphores", SEMAPHORES.iter().map(|semaphore| semaphore.name).collect()));
    // The suites may be inside a module of the program.
    expected.retain(|room| !listing.lines().any(|test| format!("::{test}").contains(&format!("::{room}"))));
    expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_missing_is_named() {
        let all = absent("");
        assert!(all.len() > LOCKS.len() && all.contains(&"locks::mcs::".to_owned()));
        let listing: String =
            all.iter().filter(|room| *room != "queues::ring::").map(|r| format!("{r}x: test\n")).collect();
        assert_eq!(absent(&listing), ["queues::ring::"]);
        let inside: String = listing.lines().map(|test| format!("contract::{test}\n")).collect();
        assert_eq!(absent(&inside), ["queues::ring::"]);
        assert!(absent("other_locks::mcs::x: test\n").contains(&"locks::mcs::".to_owned()));
    }
}
