//! The memory of points that are given up for their time.

use super::*;

/// The figure of x = 18 is the number of points with x = 19 that run at the same time. Each of the
/// two points takes 60 of 100 MiB, and x = 19, which begins first, runs for 3 s.
#[test]
fn a_point_that_is_given_up_has_its_memory_until_its_thread_ends() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan("limits = { seconds = 2, memory_mib = 100 }\n[axes]\nx = [18, 19]\n[set]\ny = 60\n");
    assert_eq!(whole(&plan, folder.path()).0, End::Done);
    assert_eq!(rows(folder.path(), &["x", "sum", "failure"]), ["18 0 -", "19 - time"]);
}

/// A point that does not end (x = 10 runs for 30 s) ends the sweep rather than make it wait for
/// ever; the next sweep has the memory.
#[test]
fn a_sweep_ends_if_a_point_that_is_given_up_keeps_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan("limits = { seconds = 1, memory_mib = 100 }\n[axes]\nx = [5, 10]\n[set]\ny = 60\n");
    let (end, state) = whole(&plan, folder.path());
    assert_eq!((end, state.added, state.failed), (End::Memory, 1, 1));
    let (end, state) = whole(&plan, folder.path());
    assert_eq!((end, state.added, state.before), (End::Done, 1, 1));
    assert_eq!(rows(folder.path(), &["x", "sum", "failure"]), ["5 65 -", "10 - time"]);
}
