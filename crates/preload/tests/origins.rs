//! Tests of recorded callers: of calls that initialise a lock or take it first, and of waits at the
//! same stack depth.

mod common;
use baton_report::symbols::Symbols;
use baton_trace::analysis::{Analysis, Window};
use baton_trace::{ProcessIndex, SiteId, Trace, What};
use common::{Run, compiles, folder};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn recorded(name: &str, lock: &str) -> Trace {
    let directory = folder(&format!("origins.{name}.{lock}"));
    Run::new(name, &[]).set("BATON_LOCK", lock).set("BATON_TRACE", &directory).ok();
    let trace = Trace::open(Path::new(&directory)).expect("a trace");
    std::fs::remove_dir_all(&directory).unwrap();
    trace
}

/// The functions of a call site, innermost first, without their parameters.
fn functions(trace: &Trace, site: SiteId) -> Vec<String> {
    let frames = Symbols::new().site(trace, ProcessIndex(0), site);
    frames.iter().map(|frame| baton_report::symbols::short(&frame.function)).collect()
}

#[test]
fn callers_tell_wrapped_mutexes_apart() {
    if !compiles("wrapped.cpp", "callers_tell_wrapped_mutexes_apart") {
        return;
    }
    for lock in ["", "mcs"] {
        let trace = recorded("wrapped.cpp", lock);
        let analysis = Analysis::of(&trace, Window::whole(&trace));
        let (mut made, mut first) = (BTreeMap::new(), BTreeMap::new());
        for object in analysis.locks.iter().map(|lock| &lock.object) {
            let (of, site) = match (object.init_site, object.first_site) {
                (Some(site), _) => (&mut made, site),
                (None, Some(site)) => (&mut first, site),
                (None, None) => continue,
            };
            *of.entry(functions(&trace, site).join(" ")).or_insert(0) += 1;
        }
        let count = |of: &BTreeMap<String, i32>, begin: &str| {
            of.iter().filter(|(path, _)| path.starts_with(begin)).map(|(_, n)| *n).sum::<i32>()
        };
        assert_eq!(
            (count(&made, "Made::Made Red::Red main"), count(&made, "Made::Made Blue::Blue main")),
            (3, 1),
            "{made:?}"
        );
        let taken = ["Zero::lock Red::first main", "Zero::lock Blue::first main"];
        assert_eq!(taken.map(|path| count(&first, path)), [3, 1], "{lock}: {first:?}");
    }
}

/// Two functions, whose frames have the same size, wait by the same wrapper: each wait must have
/// its own caller.
#[test]
fn waits_of_one_depth_keep_their_callers() {
    if !compiles("wrapped.cpp", "waits_of_one_depth_keep_their_callers") {
        return;
    }
    let trace = recorded("wrapped.cpp", "");
    let mut callers: BTreeMap<String, usize> = BTreeMap::new();
    for event in trace.events() {
        if let What::Request { site, .. } = event.what {
            let functions = functions(&trace, site);
            if let Some(caller) = functions.iter().find(|name| name.ends_with("_waits")) {
                *callers.entry(caller.clone()).or_default() += 1;
            }
        }
    }
    let all: usize = callers.values().sum();
    assert!(all > 50 && callers.len() == 2, "{callers:?}");
    // Each function makes half of the calls, so each must have more than a fifth of the waits. A
    // thread that took one stack for the other would put all of its waits under one function.
    assert!(callers.values().all(|&waits| waits * 5 > all), "{callers:?}");
}

/// The program registers code as compilers at run time do, and its allocator takes a mutex. A walk
/// over such code would take libgcc's lock and allocate; the program must come to its end.
#[test]
fn an_allocator_with_a_mutex_and_registered_code_do_not_hang() {
    let trace = recorded("registered.c", "");
    let sites: BTreeSet<SiteId> = trace
        .events()
        .filter_map(|event| match event.what {
            What::Acquire { site, .. } => Some(site),
            _ => None,
        })
        .collect();
    // After the code is registered, first acquisitions are recorded without callers, so some sites
    // have a single frame.
    let stacks = sites.iter().filter(|site| trace.site(ProcessIndex(0), **site).len() > 1).count();
    assert!(stacks < sites.len(), "{stacks} of {}", sites.len());
}
