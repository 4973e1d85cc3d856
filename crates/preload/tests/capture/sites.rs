//! Tests of recorded call sites: their stacks, and the libraries in which their frames lie.

use crate::common::{Run, folder, program};
use crate::{recorded, whole};
use baton_report::symbols::Symbols;
use baton_trace::analysis::{Analysis, Window};
use baton_trace::{Address, What};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Three libraries are loaded in turn, each at the same addresses. The mutex and the functions of
/// each must have their own names in the analysis.
#[test]
fn libraries_that_lie_in_one_place_in_turn() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/part.c");
    let libraries = folder("turns.libraries");
    std::fs::create_dir_all(&libraries).unwrap();
    let mut arguments = Vec::new();
    for name in ["one", "two", "six"] {
        let path = libraries.join(format!("{name}.so"));
        let mut command = Command::new("cc");
        command.args(["-O2", "-g", "-shared", "-fPIC", "-pthread", "-o"]).arg(&path).arg(&source);
        command.args(["LOCK=lock", "WORK=work", "LATE=late"].map(|define| format!("-D{define}_{name}")));
        assert!(command.status().unwrap().success());
        arguments.extend([path.to_str().unwrap().to_owned(), name.to_owned()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    recorded("turns.c", &arguments, |trace| {
        let ours =
            || trace.processes[0].modules.iter().filter(|module| Path::new(&module.path).starts_with(&libraries));
        let places: BTreeSet<Address> = ours().map(|module| module.start).collect();
        assert!(ours().count() == 4 * 3 && places.len() == 1, "not in one place, in turn: {places:x?}");
        let (analysis, mut symbols) = (Analysis::of(trace, Window::whole(trace)), Symbols::new());
        let mut taken: BTreeMap<(String, String), u64> = BTreeMap::new();
        for lock in &analysis.locks {
            let object = &lock.object;
            let name = symbols.data(trace, object.process, object.address, object.loaded).unwrap_or_default();
            for (site, stats) in lock.stats.sites.iter().filter(|_| name.starts_with("lock_")) {
                let frames = symbols.site(trace, object.process, *site);
                *taken.entry((name.clone(), frames[0].function.clone())).or_default() += stats.acquisitions;
            }
        }
        let both = |name: &str| {
            [("work", 400), ("late", 4)].map(|(what, n)| ((format!("lock_{name}"), format!("{what}_{name}")), n))
        };
        assert_eq!(taken, ["one", "two", "six"].iter().flat_map(|name| both(name)).collect());
    });
    std::fs::remove_dir_all(&libraries).unwrap();
}

/// A library outside of the loader's own list is known by a caller's address. When another library
/// is unloaded, nothing of the first one is read: another thread may be unloading it too.
#[test]
fn a_library_that_may_be_gone_is_not_read() {
    let (library, third) = (program("plugin.c"), program("runtime.c"));
    let paths = [library.to_str().unwrap(), third.to_str().unwrap()];
    recorded("elsewhere.c", &paths, |trace| {
        let known = |path: &str| trace.processes[0].modules.iter().filter(|module| module.path == path).count();
        assert_eq!(paths.map(known), [1, 1]);
    });
}

#[test]
fn stacks_can_be_left_out() {
    let directory = folder("stacks.off");
    Run::new("kinds.c", &[]).set("BATON_TRACE", &directory).set("BATON_STACKS", "off").ok();
    assert!(whole(&directory).processes[0].sites.values().all(|stack| stack.len() == 1));
    std::fs::remove_dir_all(&directory).unwrap();
}

/// The site of a wait is a stack down to the thread's beginning, and every frame lies in a module
/// that the trace has.
#[test]
fn contended_sites_are_stacks() {
    recorded("kinds.c", &[], |trace| {
        let process = &trace.processes[0];
        let stacks: Vec<_> = trace
            .events()
            .filter_map(|event| match event.what {
                What::Request { site, .. } => Some(process.sites.get(&site).expect("a defined site")),
                _ => None,
            })
            .collect();
        assert!(!stacks.is_empty());
        for stack in stacks {
            // The stack has the call itself, and two frames further out: in the first thread `main`
            // and its caller in libc, in other threads the thread's function and its caller.
            assert!(stack.len() >= 3, "{stack:x?}");
            for frame in stack {
                let known = process.modules.iter().any(|module| (module.start..module.end).contains(frame));
                assert!(known, "{frame:x} of {stack:x?} in none of {:?}", process.modules);
            }
        }
    });
}
