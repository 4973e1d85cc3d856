//! Runs programs that use mutexes in every way under every lock that can stand in for a mutex.

mod common;
use baton_sync::lock::Waits;
use common::{Run, compiles, folder, locks, program, sleeping};

/// Runs `name` under every lock; waiters sleep where the lock allows it.
fn under_every_lock(name: &str, arguments: &[&str]) {
    for lock in locks() {
        Run::new(name, arguments).set("BATON_LOCK", lock.name).set("BATON_WAIT", sleeping(lock)).ok();
    }
}

#[test]
fn kinds_and_errors() {
    under_every_lock("kinds.c", &[]);
}

#[test]
fn exclusion_and_memory_freed_after_unlock() {
    under_every_lock("counter.c", &["4", "2000"]);
}

#[test]
fn waiters_that_spin() {
    for lock in locks() {
        // There are few rounds, because with another process on the machine each hand-off may take
        // a time slice.
        let spins = if lock.waits == Waits::Any { "pause" } else { "" };
        Run::new("counter.c", &["2", "200"]).set("BATON_LOCK", lock.name).set("BATON_WAIT", spins).ok();
    }
}

#[test]
fn conditions() {
    under_every_lock("cond.c", &[]);
}

#[test]
fn cancellation() {
    under_every_lock("cancel.c", &["20"]);
}

#[test]
fn the_edges_of_posix() {
    under_every_lock("edges.c", &[]);
}

/// Waiters leave the queue by an asynchronous cancellation, or by a jump out of a signal handler.
/// The lock still works. If its waiters stand in a queue, the spare lock serves these threads, and
/// the process says so once.
#[test]
fn waiters_that_leave_their_place() {
    for lock in locks() {
        let run =
            Run::new("leave.c", &[]).set("BATON_LOCK", lock.name).set("BATON_WAIT", sleeping(lock)).counted().ok();
        let said = String::from_utf8_lossy(&run.output.stderr).matches("a plain lock serves it").count();
        // A lock whose waiters cannot give up, or which serves in order, has a queue that a waiter
        // cannot leave silently.
        let queues = lock.fifo || !lock.timed;
        assert_eq!((said, run.count("spare") >= 200), (usize::from(queues), queues), "{}: {:?}", run.what, run.stats);
    }
}

#[test]
fn waiters_that_give_up() {
    under_every_lock("give_up.c", &[]);
}

#[test]
fn a_lock_takes_memory_only_while_it_is_used() {
    under_every_lock("many.c", &[]);
}

#[test]
fn without_memory_a_lock_is_served_all_the_same() {
    under_every_lock("many.c", &["held"]);
}

/// Broadcasts move waiters to the mutex instead of waking all of them: 10 broadcasts with the mutex
/// held move all 16 waiters, 10 without move all but two.
#[test]
fn a_broadcast_moves_its_waiters_to_the_mutex() {
    for lock in locks() {
        let run = Run::new("storm.c", &["16", "20"]).set("BATON_LOCK", lock.name).set("BATON_WAIT", sleeping(lock));
        let run = run.counted().ok();
        assert_eq!(run.count("moved"), 10 * 16 + 10 * 14, "{}: {:?}", run.what, run.stats);
    }
}

#[test]
fn forks() {
    under_every_lock("forks.c", &[]);
}

#[test]
fn a_forks_child_uses_the_records_of_its_parents_threads() {
    Run::new("forks_again.c", &[]).set("BATON_LOCK", "mcs").set("BATON_WAIT", "futex").ok();
    Run::new("forks_again.c", &[]).set("BATON_TRACE", folder("forks_again")).ok();
}

#[test]
fn threads_that_end() {
    under_every_lock("ending.c", &[]);
}

#[test]
fn c11() {
    under_every_lock("c11.c", &[]);
}

#[test]
fn cpp() {
    if compiles("cxx.cpp", "cpp") {
        under_every_lock("cxx.cpp", &[]);
    }
}

#[test]
fn openmp() {
    if !compiles("omp.c", "openmp") {
        return;
    }
    for lock in locks() {
        let run = Run::new("omp.c", &[]).set("BATON_LOCK", lock.name).set("BATON_WAIT", sleeping(lock)).counted().ok();
        assert!(run.count("openmp") >= 6000, "{}: {:?}", run.what, run.stats);
    }
}

/// Python's wheels name their runtimes with checksums, and a process may have other libraries of such
/// a name.
#[test]
fn a_runtime_is_found_behind_a_library_with_a_runtimes_name() {
    let folder = folder("runtimes");
    let library = |name: &str, source: &str| {
        let path = folder.join(name);
        std::fs::copy(program(source), &path).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (first, second) = (library("libgomp-plugin.so", "plugin.c"), library("libgomp-0123abcd.so", "runtime.c"));
    Run::new("runtimes.c", &[&first, &second]).ok();
}

#[test]
fn libraries_that_come_and_go() {
    let plugin = program("plugin.c");
    under_every_lock("loads.c", &[plugin.to_str().unwrap()]);
}

#[test]
fn functions_reached_past_the_loaders_order() {
    let plugin = program("plugin.c");
    let plugin = plugin.to_str().unwrap();
    under_every_lock("deep.c", &[plugin]);
    let run = Run::new("deep.c", &[plugin]).set("BATON_LOCK", "mcs").set("BATON_WAIT", "futex").counted().ok();
    assert!(run.count("served") >= 40 * 300 + 2 * 300, "{:?}", run.stats);
}

/// The C library searches for a library that is named without a slash, so its handle is unknown to
/// Baton when it is loaded with `RTLD_DEEPBIND`.
#[test]
fn a_library_that_was_searched_for_is_rebound_whichever_library_is_asked_first() {
    let plugin = program("plugin.c");
    let (folder, name) = (plugin.parent().unwrap(), plugin.file_name().unwrap().to_str().unwrap());
    let other = plugin.with_extension("other");
    std::fs::copy(&plugin, &other).unwrap();
    let run = Run::new("deep_searched.c", &[name, other.to_str().unwrap()]).set("LD_LIBRARY_PATH", folder);
    let run = run.set("BATON_LOCK", "mcs").set("BATON_WAIT", "futex").counted().ok();
    assert!(run.count("served") >= 1000, "{:?}", run.stats);
}

#[test]
fn an_allocator_that_locks() {
    under_every_lock("allocator.c", &[]);
}

/// The second run has 70,000 threads, more than the 65,536 numbers for threads, so numbers must be
/// used again.
#[test]
fn threads_that_lock_after_their_end() {
    under_every_lock("late.c", &["1000"]);
    let run = Run::new("late.c", &["70000"]).set("BATON_LOCK", "mcs").set("BATON_WAIT", "futex").counted().ok();
    assert_eq!(run.count("threads"), 70_001, "a late thread is no second one");
}

#[test]
fn closed_descriptors_limits_and_privileges() {
    under_every_lock("hostile.c", &[]);
}

#[test]
fn what_is_not_replaced() {
    under_every_lock("objects.c", &[]);
}

#[test]
fn five_thousand_threads() {
    for lock in ["spin-park", "futex", "mcs"] {
        let wait = if lock == "mcs" { "futex" } else { "" };
        let run = Run::new("crowd.c", &["5000"]).set("BATON_LOCK", lock).set("BATON_WAIT", wait).counted().ok();
        assert_eq!(run.count("threads"), 5000, "{}", run.what);
    }
}

#[test]
fn ten_million_acquisitions() {
    let run =
        Run::new("counter.c", &["1", "10000000"]).set("BATON_LOCK", "mcs").set("BATON_WAIT", "futex").counted().ok();
    assert!(run.count("served") >= 10_000_000, "{:?}", run.stats);
    assert_eq!(run.stats[0]["passed_through"]["glibc"], 0);
}
