//! Tests of recorded CPU time, context switches, calls that block, and the CPUs that threads may
//! run on.

use crate::common::{Run, folder};
use crate::{count, recorded, whole};
use baton_report::symbols::Symbols;
use baton_trace::analysis::{Known, OffCpu, OffStretch, off_cpu};
use baton_trace::{Address, Event, Outcome, Trace, What};
use std::collections::{BTreeMap, BTreeSet};

/// With context switches refused, the trace has the thread's CPU time exactly once between the
/// beginning and the end of each contended wait.
#[test]
fn cpu_time_stands_beside_waits_without_switches() {
    // The timed locks of `kinds.c` have to wait.
    let directory = folder("switches.off");
    Run::new("kinds.c", &[]).set("BATON_TRACE", &directory).set("BATON_SWITCHES", "off").ok();
    waits_have_cpu_times(&whole(&directory));
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Where the kernel reports a thread's context switches, the trace has at most one CPU time of the
/// thread, that at its end.
#[test]
fn cpu_time_is_not_read_beside_switches() {
    recorded("kinds.c", &[], |trace| {
        let switched = count(trace, |what| matches!(what, What::OnCpu { .. }));
        if switched == 0 {
            return eprintln!("the kernel tells of no switches here");
        }
        assert!(switched >= trace.threads.len(), "each thread says that it runs: {switched}");
        assert!(count(trace, |what| matches!(what, What::CpuTime { .. })) <= trace.threads.len());
        let slept = baton_trace::analysis::Analysis::of(trace, baton_trace::analysis::Window::whole(trace));
        assert!(slept.locks.iter().all(|lock| lock.stats.entered_unknown == 0), "{:?}", slept.locks);
    });
}

fn waits_have_cpu_times(trace: &Trace) {
    let mut waiting: BTreeMap<u32, (Address, u32)> = BTreeMap::new();
    let mut waits = 0;
    for Event { thread, what, .. } in trace.events() {
        match what {
            What::Request { lock, .. } => {
                waiting.insert(thread.0, (lock.address, 0));
            }
            What::CpuTime { .. } => {
                if let Some((_, times)) = waiting.get_mut(&thread.0) {
                    *times += 1;
                }
            }
            What::Acquired { lock, .. } | What::Timeout { lock, .. } => {
                assert_eq!(waiting.remove(&thread.0), Some((lock.address, 1)));
                waits += 1;
            }
            _ => {}
        }
    }
    assert!(waits >= 8, "{waits}");
}

/// A crowd of 50 threads waits for its last member: at least 49 times a thread blocks, and once for
/// more than 10 µs. Each thread leaves and regains its CPU in turn; it says at most once, at its
/// start, that it runs without having left. If the kernel reports no switches, the test ends early.
#[test]
fn context_switches_are_the_kernels() {
    let directory = folder("switches");
    Run::new("crowd.c", &["50"]).set("BATON_TRACE", &directory).ok();
    let trace = whole(&directory);
    let mut off: BTreeMap<u32, baton_trace::Ticks> = BTreeMap::new();
    let mut begun = std::collections::BTreeSet::new();
    let (mut blocked, mut longest) = (0, 0);
    for Event { thread, what, time } in trace.events() {
        match what {
            What::OffCpu { reason, .. } => {
                assert_eq!(off.insert(thread.0, time), None, "{thread:?} left twice");
                blocked += usize::from(reason == baton_trace::OffReason::Blocked);
            }
            What::OnCpu { cpu, .. } => {
                assert!(cpu < 4096);
                match off.remove(&thread.0) {
                    Some(since) => longest = longest.max(trace.clock.nanos(time.since(since).0).0),
                    None => assert!(begun.insert(thread.0), "{thread:?} comes back and had not left"),
                }
            }
            _ => {}
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if blocked == 0 {
        // A container may forbid the events altogether.
        eprintln!("the kernel tells no context switches here (perf_event_paranoid is {})", paranoid.trim());
        return;
    }
    assert!(blocked >= 49, "{blocked}: all but the last wait for the last");
    assert!(longest > 10_000, "{longest} ns");
    // With `BATON_SWITCHES=off` there are no switches.
    let directory = folder("switches.off");
    Run::new("crowd.c", &["50"]).set("BATON_TRACE", &directory).set("BATON_SWITCHES", "off").ok();
    assert_eq!(count(&whole(&directory), |what| matches!(what, What::OnCpu { .. } | What::OffCpu { .. })), 0);
    std::fs::remove_dir_all(&directory).unwrap();
}

/// A call that slept (20 ms, in `naps` or `polls` of `outside.c`) has an event with its own call
/// site, and the thread's time off the CPU has the same site. If the kernel reports no switches, no
/// call has such an event.
#[test]
fn what_blocks_outside_of_locks_has_its_call_site() {
    recorded("outside.c", &[], |trace| {
        let mut symbols = Symbols::new();
        let mut blocked: BTreeMap<String, u64> = BTreeMap::new();
        for event in trace.events() {
            let What::Blocked { site, ticks } = event.what else { continue };
            let frames = symbols.site(trace, trace.process_of(event.thread), site);
            let longest = blocked.entry(frames[0].function.clone()).or_default();
            *longest = trace.clock.nanos(ticks).0.max(*longest);
        }
        if count(trace, |what| matches!(what, What::OffCpu { .. })) == 0 {
            eprintln!("the kernel tells no context switches here");
            assert!(blocked.is_empty(), "{blocked:?}");
            return;
        }
        for function in ["naps", "polls"] {
            assert!(blocked.get(function).is_some_and(|&longest| longest >= 19_000_000), "{function}: {blocked:?}");
        }
        let off = off_cpu(trace);
        let of_a_call = |stretch: &&OffStretch| stretch.after.is_some() && stretch.after == stretch.before;
        let slept = off.iter().flat_map(|thread| &thread.stretches).filter(of_a_call);
        let longest = slept.map(|stretch| trace.clock.nanos(stretch.end.since(stretch.begin).0).0).max();
        assert!(longest >= Some(19_000_000), "{off:?}");
    });
    // Without a recording the calls are glibc's own, and the program gets the same answers.
    Run::new("outside.c", &[]).ok();
}

/// A thread that takes no lock, and one that holds a lock all the time, write down all of their context
/// switches: no sleep passes for work. The thread that returns from `main` ends the process.
#[test]
fn threads_that_only_sleep_lose_no_context_switches() {
    recorded("naps.c", &[], |trace| {
        assert_eq!(count(trace, |what| *what == What::Exit), 1);
        if count(trace, |what| matches!(what, What::OffCpu { .. })) == 0 {
            return eprintln!("the kernel tells no context switches here");
        }
        let full = What::Note { address: 0, code: baton_trace::notes::RING_FULL };
        assert_eq!(count(trace, |what| *what == full), 0);
        for thread in off_cpu(trace) {
            assert_eq!(thread.known, Known::All);
            let slept = thread.stretches.iter().filter(|stretch| stretch.why == OffCpu::Call);
            let slept = trace.clock.nanos(slept.map(|stretch| stretch.end.0 - stretch.begin.0).sum()).0;
            assert!(slept >= 1_000 * 100_000, "{slept} ns");
        }
    });
}

/// A sleep that a handler cut short or that the kernel refused failed, also if the call returns a
/// positive number then.
#[test]
fn a_sleep_that_fails_is_no_success() {
    recorded("outside.c", &[], |trace| {
        let outcomes = |name: &str| -> Vec<Outcome> {
            let calls = trace.events().filter_map(|event| match event.what {
                What::Called { call, .. } if call.name() == name => Some(call.outcome),
                _ => None,
            });
            calls.collect()
        };
        assert_eq!(outcomes("clock_nanosleep"), [Outcome::Failed, Outcome::Done]);
        assert_eq!((outcomes("nanosleep"), outcomes("sleep")), (vec![Outcome::Failed], vec![Outcome::Failed]));
    });
}

/// For each name and outcome of a call: how many calls had it, and the files that they were made
/// on.
type Calls = BTreeMap<(&'static str, Outcome), (u64, BTreeSet<Option<u16>>)>;

/// Every call at a socket has an event with its file and outcome, whether it blocked or not; reads of files have none.
#[test]
fn calls_at_sockets_have_their_outcome() {
    recorded("calls.c", &[], |trace| {
        let mut calls = Calls::new();
        for event in trace.events() {
            let What::Called { call, .. } = event.what else { continue };
            let (times, files) = calls.entry((call.name(), call.outcome)).or_default();
            *times += 1;
            files.insert(call.file);
        }
        let times = |name, outcome| calls.get(&(name, outcome)).map_or(0, |(times, _)| *times);
        for name in ["read", "readv", "recvfrom", "recvmsg", "writev", "sendto", "sendmsg"] {
            assert_eq!(times(name, Outcome::Done), 10, "{name}: {calls:?}");
            assert_eq!(calls[&(name, Outcome::Done)].1.len(), 1);
        }
        assert_eq!((times("recv", Outcome::Done), times("send", Outcome::Done)), (60, 60), "{calls:?}");
        assert_eq!((times("poll", Outcome::Done), times("epoll_wait", Outcome::Nothing)), (50, 1), "{calls:?}");
        assert_eq!((times("recv", Outcome::WouldWait), times("recvmsg", Outcome::Nothing)), (1, 1), "{calls:?}");
    });
    Run::new("calls.c", &[]).ok();
}

/// The trace has the CPU sets of a thread, in order, whether it inherits its set, gets it from an
/// attribute, sets it itself, or has it set by another thread.
#[test]
fn affinities_are_recorded() {
    let allowed = baton_machine::discover::allowed_cpus();
    let last = vec![*allowed.last().unwrap()];
    let directory = folder("affinity");
    Run::new("affinity.c", &[]).set("BATON_TRACE", &directory).ok();
    let trace = whole(&directory);
    std::fs::remove_dir_all(&directory).unwrap();
    let mut sets: BTreeMap<&str, Vec<Vec<u32>>> = BTreeMap::new();
    for (thread, of) in trace.threads.iter().zip(trace.affinities()) {
        let name = thread.name.as_deref().unwrap();
        sets.insert(name, of.into_iter().map(|set| set.cpus).collect());
    }
    let main = sets.keys().copied().find(|name| name.starts_with("affinity")).expect("the first thread");
    for (name, expected) in [
        ("attribute", vec![last.clone()]),
        ("itself", vec![allowed.clone(), last.clone()]),
        ("another", vec![allowed.clone(), last.clone()]),
        ("number", vec![allowed.clone(), last.clone()]),
        ("inherited", vec![last.clone()]),
        (main, vec![allowed.clone(), last.clone()]),
    ] {
        assert_eq!(sets[name], expected, "{name}");
    }
}
