//! Tests of recordings: all that a program does is in the trace, in the right order, however its
//! threads and processes end.

#[path = "../common/mod.rs"]
mod common;
mod costs;
mod cpus;
mod library;
mod locks;
mod openmp;
mod processes;
mod sites;
mod yields;

use baton_trace::{Event, Lock, LockKind, Trace, What};
use common::{Run, folder};
use std::collections::BTreeMap;
use std::path::Path;

/// Opens a trace, and checks that it has lost nothing.
fn whole(directory: &Path) -> Trace {
    let trace = Trace::open(directory).expect("a trace");
    assert!(trace.losses.is_empty(), "{:?}", trace.losses);
    trace
}

/// Runs a program three times, recorded: with glibc's mutexes, with `mcs`, and with `spin-park`.
/// Calls `check` on each trace.
fn recorded(name: &str, arguments: &[&str], check: impl Fn(&Trace)) {
    for (lock, wait) in [("", ""), ("mcs", "futex"), ("spin-park", "")] {
        let directory = folder(&format!("{name}.{lock}"));
        Run::new(name, arguments).set("BATON_LOCK", lock).set("BATON_WAIT", wait).set("BATON_TRACE", &directory).ok();
        check(&whole(&directory));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

/// Checks for each thread, event by event, that it takes a lock only if it does not hold it (a
/// reader-writer lock up to ten times), and releases only a lock that it holds; and, unless
/// `may_end_holding`, that no lock is left held. Returns how often each lock was taken.
fn balanced(trace: &Trace, may_end_holding: bool) -> BTreeMap<Lock, u64> {
    let mut held: BTreeMap<(u32, Lock), i64> = BTreeMap::new();
    let mut taken = BTreeMap::new();
    for Event { thread, what, .. } in trace.events() {
        let (lock, change) = match what {
            What::Acquire { lock, .. } | What::Acquired { lock, .. } => (lock, 1),
            What::Release { lock, .. } => (lock, -1),
            _ => continue,
        };
        let now = held.entry((thread.0, lock)).or_default();
        *now += change;
        if change == 1 {
            *taken.entry(lock).or_default() += 1;
        }
        let most = if lock.kind == LockKind::RwLock { 10 } else { 1 };
        assert!((0..=most).contains(now), "{thread:?} holds {lock:?} {now} times after {what:?}");
    }
    let left: Vec<_> = held.iter().filter(|(_, count)| **count != 0).collect();
    assert!(may_end_holding || left.is_empty(), "{left:?}");
    taken
}

fn count(trace: &Trace, what: impl Fn(&What) -> bool) -> usize {
    trace.events().filter(|event| what(&event.what)).count()
}
