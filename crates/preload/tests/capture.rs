//! What is recorded of programs: everything, in the right order, whatever becomes of them.

mod common;
use baton_report::symbols::Symbols;
use baton_trace::analysis::{Analysis, OffStretch, Window, off_cpu};
use baton_trace::{Address, Construct, Event, Lock, LockKind, Mode, Outcome, Trace, What};
use common::{Run, compiles, folder, library, locks, program, sleeping};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Reads a trace that lost nothing.
fn whole(directory: &Path) -> Trace {
    let trace = Trace::open(directory).expect("a trace");
    assert!(trace.losses.is_empty(), "{:?}", trace.losses);
    trace
}

/// Runs a program with its mutexes served by glibc, and by two locks, recorded; hands each trace over.
fn recorded(name: &str, arguments: &[&str], check: impl Fn(&Trace)) {
    for (lock, wait) in [("", ""), ("mcs", "futex"), ("spin-park", "")] {
        let directory = folder(&format!("{name}.{lock}"));
        Run::new(name, arguments).set("BATON_LOCK", lock).set("BATON_WAIT", wait).set("BATON_TRACE", &directory).ok();
        check(&whole(&directory));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

/// What a thread holds, event by event: a lock is taken when it is free for it, and given back by who has it.
/// Returns how often each lock was taken.
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

#[test]
fn every_acquisition_is_there_once() {
    recorded("counter.c", &["3", "1000"], |trace| {
        let taken = balanced(trace, false);
        let most = taken.values().max().copied().unwrap();
        // The counter's mutex also guards the queue: one more acquisition for each of its 1,000 turns and for each wait.
        let waits = count(trace, |what| matches!(what, What::CondWait { .. })) as u64;
        assert_eq!(most, 3 * 1000 + 1000 + waits);
        assert_eq!(taken.values().filter(|n| **n == 2).count(), 1000, "the mutexes that were freed at once");
        assert_eq!(count(trace, |what| matches!(what, What::Created { error: 0, .. })), 7);
        assert_eq!(count(trace, |what| matches!(what, What::JoinEnd { error: 0, .. })), 7);
        assert_eq!(count(trace, |what| matches!(what, What::ThreadStart { .. })), 8);
        assert_eq!(count(trace, |what| matches!(what, What::ThreadEnd { .. })), 7);
    });
}

#[test]
fn kinds_and_errors() {
    recorded("kinds.c", &[], |trace| {
        // The thousand mutexes at the end, and that of the thread that died with its own.
        balanced(trace, true);
        assert!(count(trace, |what| matches!(what, What::TryFail { .. })) >= 8);
        assert!(count(trace, |what| matches!(what, What::Timeout { .. })) >= 8);
    });
}

#[test]
fn conditions_and_cancellation() {
    recorded("cond.c", &[], |trace| {
        balanced(trace, false);
        let waits = count(trace, |what| matches!(what, What::CondWait { .. }));
        let wakes = count(trace, |what| matches!(what, What::CondWake { .. }));
        assert!(waits > 1000 && waits == wakes, "{waits} waits, {wakes} ends");
    });
    recorded("cancel.c", &["20"], |trace| {
        balanced(trace, false);
        let cancelled = |what: &What| matches!(what, What::CondWake { reason: baton_trace::WakeReason::Cancelled, .. });
        assert!(count(trace, cancelled) >= 10);
    });
}

#[test]
fn objects_under_a_storm_of_signals() {
    recorded("objects.c", &[], |trace| {
        let taken = balanced(trace, false);
        let by_kind = |kind| taken.iter().filter(|(lock, _)| lock.kind == kind).map(|(_, n)| n).sum::<u64>();
        assert_eq!((by_kind(LockKind::RwLock), by_kind(LockKind::Spin), by_kind(LockKind::Mutex)), (901, 901, 18000));
        let writes = |what: &What| {
            matches!(what, What::Acquire { lock, mode: Mode::Exclusive, .. } | What::Acquired { lock, mode: Mode::Exclusive, .. }
                if lock.kind == LockKind::RwLock)
        };
        assert_eq!(count(trace, writes), 91);
        assert_eq!(count(trace, |what| matches!(what, What::BarrierArrive { .. })), 30);
        assert_eq!(count(trace, |what| matches!(what, What::BarrierLeave { serial: true, .. })), 10);
        assert!(count(trace, |what| matches!(what, What::SemPost { .. })) >= 301);
        let value = |what: &What| matches!(what, What::Attribute { value: 3, .. });
        assert_eq!(count(trace, value), 1, "the barrier's participants");
    });
}

#[test]
fn how_a_lock_was_entered() {
    // Of locks that are ours it is known; what glibc's did is told by CPU time.
    for (lock, wait, known, slept) in [
        ("mcs", "futex", true, true),
        ("mcs", "pause", true, false),
        ("spin-park", "", true, true),
        ("", "", false, false),
    ] {
        let directory = folder(&format!("entered.{lock}.{wait}"));
        Run::new("entered.c", &[]).set("BATON_LOCK", lock).set("BATON_WAIT", wait).set("BATON_TRACE", &directory).ok();
        let trace = whole(&directory);
        let waits: Vec<_> = trace
            .events()
            .filter_map(|event| match event.what {
                What::Acquired { how, .. } => Some(how),
                _ => None,
            })
            .collect();
        assert!(!waits.is_empty() && waits.iter().all(|how| how.known == known), "{lock} {wait}: {waits:?}");
        assert_eq!(waits.iter().any(|how| how.slept), slept, "{lock} {wait}: {waits:?}");
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

#[test]
fn openmp() {
    if !compiles("omp.c", "openmp") {
        return;
    }
    recorded("omp.c", &[], |trace| {
        let taken = balanced(trace, true);
        let by_kind = |kind| taken.iter().filter(|(lock, _)| lock.kind == kind).map(|(_, n)| n).sum::<u64>();
        assert_eq!((by_kind(LockKind::OmpCritical), by_kind(LockKind::OmpLock)), (2000, 3002));
        // Two barriers, the one at the end of `single`, and the ends of two regions, for two threads.
        assert_eq!(count(trace, |what| matches!(what, What::BarrierArrive { .. })), 10);
    });
}

/// Regions of each form with what is in them, and each wait with its end.
#[test]
fn openmp_regions() {
    if !compiles("omp_regions.c", "openmp_regions") {
        return;
    }
    Run::new("omp_regions.c", &[]).set("BATON_LOCK", "mcs").set("BATON_WAIT", "futex").ok();
    for inside in ["", "1"] {
        let directory = folder("omp_regions");
        Run::new("omp_regions.c", &[]).set("INSIDE", inside).set("BATON_TRACE", &directory).ok();
        let trace = whole(&directory);
        std::fs::remove_dir_all(&directory).unwrap();
        let counted = |what: fn(&What) -> bool| count(&trace, what);
        let open = usize::from(!inside.is_empty());
        assert_eq!(counted(|what| matches!(what, What::Fork { .. })), 18 + open);
        // By their threads: 5 · 3 + 3 · 3 + 3 + 3 of three, the nested ones 2 + 4, one alone.
        let alone = counted(|what| matches!(what, What::TeamBegin { threads: 1, .. }));
        let triples = counted(|what| matches!(what, What::TeamBegin { threads: 3, .. }));
        assert_eq!((alone, triples), (1, 9 * 3));
        // Tasks of fibonacci(10), of the group, and those at a region's end; the one that an event completes is not looked into.
        for of in [
            |what: &What| matches!(what, What::TaskCreate { .. }),
            |what: &What| matches!(what, What::TaskBegin { .. }),
            |what: &What| matches!(what, What::TaskEnd { .. }),
        ] {
            assert_eq!(counted(of), 88 + 4 + 6);
        }
        assert_eq!(counted(|what| matches!(what, What::TaskWaitBegin { .. })), 88 + 1 + 1);
        assert_eq!(counted(|what| matches!(what, What::TaskWaitEnd)), 88 + 1 + 1);
        barriers_of_regions(&trace, open);
    }
}

/// Each thread leaves each barrier as often as it arrives, once all have arrived; the thread that sleeps comes last.
fn barriers_of_regions(trace: &Trace, open: usize) {
    let mut constructs = BTreeMap::new();
    let (mut first, mut opened) = (None, BTreeMap::new());
    let (mut there, mut last, mut leaving) = (BTreeMap::<_, BTreeSet<_>>::new(), Vec::new(), BTreeMap::new());
    let (mut idle, mut idled) = (BTreeSet::new(), 0);
    for Event { thread, what, .. } in trace.events() {
        match what {
            What::Construct { barrier, construct } => {
                assert_eq!(constructs.insert(barrier, construct), None, "told once");
            }
            What::Fork { region, .. } => {
                first = first.or(Some((region, thread)));
                opened.insert(region, thread);
            }
            What::BarrierArrive { barrier, .. } => {
                assert!(there.entry(barrier).or_default().insert(thread), "{barrier:#x}: arrives twice");
                if first.is_some_and(|(region, _)| region == barrier) {
                    last.push(thread);
                }
            }
            What::BarrierLeave { barrier, .. } => {
                let arrived = there.get_mut(&barrier).expect("arrived");
                let left: &mut BTreeSet<_> = leaving.entry(barrier).or_default();
                left.append(arrived);
                assert!(left.remove(&thread), "{barrier:#x}: leaves before all have arrived, or twice");
            }
            What::IdleBegin { .. } => assert!(idle.insert(thread)),
            What::TaskBegin { .. } | What::TaskEnd { .. } => assert!(!idle.contains(&thread), "a task of no region"),
            What::TeamBegin { idled: true, .. } => {
                assert!(idle.remove(&thread));
                idled += 1;
            }
            _ => {}
        }
    }
    let (_, master) = first.expect("a region");
    // Workers of other masters end in their own time, perhaps with the process. Where that ends inside of a region, the one of this region
    // may have come to its end, and the third one of the regions before waits for its next.
    let left_open =
        there.iter().chain(&leaving).filter(|(barrier, _)| opened.get(barrier).is_none_or(|by| *by == master));
    let waiting: usize = left_open.map(|(_, threads)| threads.len()).sum();
    assert!(waiting <= 2 * open, "{waiting} threads have not left");
    assert_eq!(last.len(), 15);
    let late: BTreeSet<_> = last.chunks(3).map(|round| round[2]).collect();
    assert!(late.len() == 1 && !late.contains(&master), "{late:?} came last");
    assert!(idled >= 2 * 4, "workers waited for the next of five regions: {idled}");
    let kinds: BTreeSet<Construct> = constructs.into_values().collect();
    let all = [Construct::Barrier, Construct::Region, Construct::Loop, Construct::Single];
    assert_eq!(kinds, BTreeSet::from(all));
}

#[test]
fn cpp() {
    if !compiles("cxx.cpp", "cpp") {
        return;
    }
    recorded("cxx.cpp", &[], |trace| {
        balanced(trace, false);
    });
}

#[test]
fn hard_programs() {
    for name in ["ending.c", "c11.c", "allocator.c"] {
        recorded(name, &[], |trace| {
            balanced(trace, true);
        });
    }
    let plugin = program("plugin.c");
    recorded("loads.c", &[plugin.to_str().unwrap()], |trace| {
        balanced(trace, false);
        let name = plugin.file_name().unwrap().to_str().unwrap();
        assert!(
            trace.processes[0].modules.iter().any(|module| module.path.ends_with(name)),
            "the library that came late"
        );
    });
}

/// Each library lies where the one before lay: its mutex and its calls have its own names.
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

/// What they do after their end is recorded, too, and the threads are told apart all the same.
#[test]
fn threads_that_lock_after_their_end() {
    recorded("late.c", &["2000"], |trace| {
        balanced(trace, true);
        assert_eq!(count(trace, |what| matches!(what, What::ThreadStart { .. })), 2001);
        assert_eq!(count(trace, |what| matches!(what, What::ThreadEnd { .. })), 2000);
        assert!(trace.threads.len() > 4000, "{} threads", trace.threads.len());
    });
}

#[test]
fn five_thousand_threads() {
    recorded("crowd.c", &["5000"], |trace| {
        let taken = balanced(trace, false);
        assert!(*taken.values().max().unwrap() >= 5000);
        assert_eq!(trace.threads.len(), 5001);
    });
}

#[test]
fn each_process_has_a_file_of_its_own() {
    let directory = folder("forks");
    Run::new("forks.c", &[]).set("BATON_LOCK", "futex").set("BATON_TRACE", &directory).ok();
    let trace = whole(&directory);
    assert_eq!(trace.processes.len(), 6);
    // A child begins in the middle: what it gives back it took in its parent. So only that all can be read.
    assert!(trace.events().count() > 1000);
    std::fs::remove_dir_all(&directory).unwrap();
    // And with the first process alone in mind, its children stay unrecorded.
    let directory = folder("alone");
    let mut command = Command::new("sh");
    command.args(["-c", "BATON_ONLY_PID=$$ exec \"$0\""]).arg(program("forks.c"));
    let ran = Run::of(command, "forks.c").set("BATON_LOCK", "futex").set("BATON_TRACE", &directory).counted().ok();
    let trace = whole(&directory);
    let forks =
        trace.processes.iter().filter(|process| process.modules.iter().any(|m| m.path.contains("forks"))).count();
    assert_eq!(forks, 1, "{:?}", trace.processes.iter().map(|p| p.pid).collect::<Vec<_>>());
    assert_eq!(ran.stats.iter().filter(|line| line["program"].as_str().unwrap().contains("forks")).count(), 1);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn closed_descriptors_limits_and_privileges() {
    let directory = folder("hostile");
    // So that the file can be opened again after the privileges are gone.
    Run::new("hostile.c", &[]).set("BATON_TRACE", &directory).ok();
    let trace = Trace::open(&directory).unwrap();
    // Its descriptor was closed, so that it had to be opened again; without privileges that fails, and the trace says so.
    let events = trace.events().count();
    assert!(events > 2 * 2 * 10_000, "{events} events; {:?}", trace.losses);
    std::fs::remove_dir_all(&directory).unwrap();
    // With a limit on files' sizes: no signal, the program goes on, and the trace says what is missing.
    let directory = folder("hostile.limit");
    Run::new("hostile.c", &["limit"]).set("BATON_TRACE", &directory).ok();
    let trace = Trace::open(&directory).unwrap();
    assert!(!trace.losses.is_empty());
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn the_edges_of_posix() {
    recorded("edges.c", &[], |trace| {
        balanced(trace, true);
    });
}

/// Copies programs and the libraries that they need to the same places below another root.
fn copy_with_libraries(programs: &[&Path], root: &Path) {
    let told = Command::new("ldd").args(programs).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    // `NAME => PATH (ADDRESS)`, or `PATH (ADDRESS)`; the kernel's own page has no path.
    let libraries = told.split_whitespace().filter(|word| word.starts_with('/') && !word.ends_with(':')).map(Path::new);
    for file in programs.iter().copied().chain(libraries) {
        let copy = root.join(file.strip_prefix("/").unwrap());
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(file, copy).unwrap();
    }
}

/// The library is there in its new root, and the folder of the trace is not; or neither is.
#[test]
fn a_child_that_changes_its_root_runs() {
    let may = Command::new("chroot").args(["/", "true"]).output().is_ok_and(|output| output.status.success());
    if !may {
        baton_needs::absent("right to change the root directory", "a_child_that_changes_its_root_runs");
        return;
    }
    let echo = std::fs::canonicalize("/bin/echo").unwrap();
    let script = format!("chroot \"$0\".root {} ran; exit $?", echo.display());
    for library_too in [true, false] {
        let directory = folder(if library_too { "root.with" } else { "root.without" });
        let root = directory.with_added_extension("root");
        let library = std::fs::canonicalize(library()).unwrap();
        let programs = [echo.as_path(), library.as_path()];
        copy_with_libraries(&programs[..1 + usize::from(library_too)], &root);
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(&directory);
        let ran = Run::of(command, &script).set("LD_PRELOAD", &library).set("BATON_TRACE", &directory).run();
        let (out, err) = (String::from_utf8_lossy(&ran.output.stdout), String::from_utf8_lossy(&ran.output.stderr));
        assert!(ran.output.status.success() && out == "ran\n", "{}: {}\n{out}{err}", ran.what, ran.output.status);
        // Without the library it is the loader that says so.
        assert_eq!(err.matches("runs unrecorded").count(), usize::from(library_too), "{}: {err}", ran.what);
        // The shell and, until it changes the program, its child.
        assert!(!whole(&directory).processes.is_empty());
        std::fs::remove_dir_all(&root).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

/// A shell under the library, recorded; what it executes cannot be.
fn unrecorded(script: &str, directory: &Path) {
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(directory);
    let ran = Run::of(command, script).set("BATON_TRACE", directory).run();
    let (out, err) = (String::from_utf8_lossy(&ran.output.stdout), String::from_utf8_lossy(&ran.output.stderr));
    assert!(ran.output.status.success() && out == "ran\n", "{}: {}\n{out}{err}", ran.what, ran.output.status);
    assert_eq!(err.matches("runs unrecorded").count(), 1, "{}: {err}", ran.what);
}

#[test]
fn a_program_that_cannot_be_recorded_runs() {
    // The folder is renamed when Baton ends, and other processes live on; they say so once, not at each program.
    let directory = folder("gone");
    unrecorded("rm -r \"$0\"; exec env sh -c 'env echo ran'", &directory);
    // A file-size limit under which there is no room for the first page.
    let directory = folder("limit");
    unrecorded("ulimit -f 1; exec env echo ran", &directory);
    std::fs::remove_dir_all(&directory).unwrap();
    // Rights that are given up, where this test has some to give up.
    // SAFETY: takes no argument.
    if unsafe { libc::geteuid() } == 0 && baton_needs::has("setpriv", "a_program_that_cannot_be_recorded_runs") {
        let directory = folder("rights");
        unrecorded("exec setpriv --reuid=65534 --regid=65534 --clear-groups /bin/echo ran", &directory);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

#[test]
fn a_full_trace_leaves_the_program_alone() {
    let directory = folder("full");
    let run =
        Run::new("counter.c", &["2", "100000"]).set("BATON_TRACE", &directory).set("BATON_TRACE_MAX", "1M").counted();
    assert!(run.ok().count("passed_through/glibc") > 200_000);
    let trace = Trace::open(&directory).unwrap();
    assert!(!trace.losses.is_empty());
    assert!((30_000..70_000).contains(&trace.events().count()), "{}", trace.events().count());
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_killed_program_leaves_all_it_did() {
    for lock in ["", "spin-park"] {
        let directory = folder("killed");
        let mut child = Command::new(program("endless.c"))
            .env("LD_PRELOAD", common::library())
            .env("BATON_TRACE", &directory)
            .env("BATON_LOCK", lock)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0; 3]).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        child.kill().unwrap();
        child.wait().unwrap();
        let trace = Trace::open(&directory).unwrap();
        assert!(trace.losses.iter().all(|loss| !format!("{loss}").is_empty()));
        let events = trace.events().count();
        assert!(events > 500, "{events} events");
        balanced(&trace, true);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

#[test]
fn every_lock_can_be_recorded() {
    for lock in locks() {
        let directory = folder("every");
        Run::new("counter.c", &["2", "500"])
            .set("BATON_LOCK", lock.name)
            .set("BATON_WAIT", sleeping(lock))
            .set("BATON_TRACE", &directory)
            .ok();
        balanced(&whole(&directory), false);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

#[test]
fn stacks_can_be_left_out() {
    let directory = folder("stacks.off");
    Run::new("kinds.c", &[]).set("BATON_TRACE", &directory).set("BATON_STACKS", "off").ok();
    assert!(whole(&directory).processes[0].sites.values().all(|stack| stack.len() == 1));
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Contended waits carry the thread's CPU time before and after, where no context switches are recorded.
#[test]
fn cpu_time_stands_beside_waits_without_switches() {
    // Its timed locks have to wait.
    let directory = folder("switches.off");
    Run::new("kinds.c", &[]).set("BATON_TRACE", &directory).set("BATON_SWITCHES", "off").ok();
    waits_have_cpu_times(&whole(&directory));
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Where the kernel tells of a thread's switches, its CPU time is read once: at its end.
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

/// A contended site is a stack down to the thread's beginning, and every frame lies in a module that is written down.
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
            // In main: it, and what calls it in libc. In a thread: the thread's function, and what calls it.
            assert!(stack.len() >= 3, "{stack:x?}");
            for frame in stack {
                let known = process.modules.iter().any(|module| (module.start..module.end).contains(frame));
                assert!(known, "{frame:x} of {stack:x?} in none of {:?}", process.modules);
            }
        }
    });
}

#[test]
fn what_recording_costs_is_in_the_trace() {
    recorded("c11.c", &[], |trace| {
        let cost = |wanted| {
            trace.events().find_map(|event| match event.what {
                What::ProbeCost { probe, picoseconds } if probe == wanted => Some(picoseconds),
                _ => None,
            })
        };
        // Two readings of a clock at the least, and nothing near a microsecond for a plain event.
        assert!((5_000..2_000_000).contains(&cost(0).unwrap()), "{:?}", cost(0));
        assert!(cost(1).unwrap() > cost(0).unwrap());
    });
}

#[test]
fn mutexes_that_stay_glibcs_are_noted() {
    recorded("kinds.c", &[], |trace| {
        let noted = |wanted| count(trace, |what| matches!(what, What::Note { code, .. } if *code == wanted));
        use baton_trace::notes::{PRIORITY_INHERIT, PROCESS_SHARED, ROBUST};
        assert_eq!((noted(ROBUST), noted(PRIORITY_INHERIT), noted(PROCESS_SHARED)), (1, 1, 1));
    });
}

/// The least CPU nanoseconds that a lock and unlock pair takes in a few runs.
fn nanoseconds_a_pair(run: impl Fn() -> Run) -> f64 {
    let once = || {
        let ran = run().run();
        let text = String::from_utf8(ran.output.stdout).unwrap();
        text.split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    (0..4).map(|_| once()).fold(f64::INFINITY, f64::min)
}

#[test]
fn an_event_costs_at_most_fifty_nanoseconds() {
    if baton_trace::Source::detect() != baton_trace::Source::Tsc {
        eprintln!("no time stamp counter to rely on here: events cost what the kernel's clock costs");
        return;
    }
    let pairs = || Run::new("pairs.c", &["1000000"]);
    let bare = nanoseconds_a_pair(pairs);
    let recorded = nanoseconds_a_pair(|| pairs().set("BATON_TRACE", folder("pairs")));
    let event = (recorded - bare) / 2.0;
    assert!(event <= 50.0, "{event:.1} ns an event: {bare:.1} ns a pair, {recorded:.1} recorded");
}

/// Waiting threads leave their CPU, and come back to one; each thread's intervals alternate and lie inside its waits or
/// between them. A thread says once, at its start, that it runs. Where the kernel does not say, only CPU times do.
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
        // A container may forbid it altogether.
        eprintln!("the kernel tells no context switches here (perf_event_paranoid is {})", paranoid.trim());
        return;
    }
    assert!(blocked >= 49, "{blocked}: all but the last wait for the last");
    assert!(longest > 10_000, "{longest} ns");
    // And off when told so.
    let directory = folder("switches.off");
    Run::new("crowd.c", &["50"]).set("BATON_TRACE", &directory).set("BATON_SWITCHES", "off").ok();
    assert_eq!(count(&whole(&directory), |what| matches!(what, What::OnCpu { .. } | What::OffCpu { .. })), 0);
    std::fs::remove_dir_all(&directory).unwrap();
}

/// A call that slept has an event with its own call site, and the time off the CPU in it has that site; a call that did not block has
/// none, whatever it returned.
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
    // Without a recording they are glibc's own, and none of what they do changes.
    Run::new("outside.c", &[]).ok();
}

/// How often a call came with an outcome, and the files that it came with.
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

/// However a thread comes to its CPUs, the trace knows them, and from when on.
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
