//! Tests of C programs under Baton's library. The program `all` has every construct; it and most
//! others must print the same under GCC's libgomp.

mod common;

use common::{limited, run};
use std::path::Path;
use std::process::{Command, Output};

/// Makes a folder with Baton's library under libgomp's name, and the compiled program `all`.
fn built() -> Option<tempfile::TempDir> {
    let folder = common::library("gomp")?;
    compile(folder.path(), "all");
    Some(folder)
}

/// Compiles a program of `tests/programs` into the folder.
fn compile(folder: &Path, program: &str) {
    common::compile("gcc", &[], folder, program);
}

/// Runs the program `all` under Baton's library.
fn ours(folder: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> Output {
    limited(folder, "all", settings).args(arguments).env("LD_LIBRARY_PATH", folder).output().unwrap()
}

/// Runs a program under both libraries, with each of the settings, and checks that it succeeds and
/// prints the same. Returns the texts that it printed.
fn same(program: &str, all_settings: &[&[(&str, &str)]]) -> Vec<String> {
    let Some(folder) = built() else { return Vec::new() };
    compile(folder.path(), program);
    let one = |settings: &&[(&str, &str)]| {
        let text = |output: Output| String::from_utf8(output.stdout).unwrap();
        let theirs = text(run(&mut limited(folder.path(), program, settings)));
        let ours = text(run(limited(folder.path(), program, settings).env("LD_LIBRARY_PATH", folder.path())));
        assert_eq!(ours, theirs, "{program} {settings:?}");
        ours
    };
    all_settings.iter().map(one).collect()
}

#[test]
fn inner_regions_are_as_libgomp_has_them() {
    let texts = same(
        "nested",
        &[
            &[("OMP_NUM_THREADS", "3")],
            &[("OMP_NUM_THREADS", "3,2"), ("BATON_OMP_BARRIER", "two-level")],
            &[("OMP_NUM_THREADS", "2"), ("OMP_NESTED", "true")],
            &[("OMP_NUM_THREADS", "2"), ("OMP_NESTED", "true"), ("OMP_MAX_ACTIVE_LEVELS", "1")],
            &[("OMP_NUM_THREADS", "2,3,4"), ("OMP_MAX_ACTIVE_LEVELS", "2"), ("OMP_WAIT_POLICY", "passive")],
            &[("OMP_NUM_THREADS", "2"), ("OMP_PROC_BIND", "close,spread")],
            &[("OMP_NUM_THREADS", "2"), ("OMP_THREAD_LIMIT", "5")],
        ],
    );
    for (at, line) in
        [(0, "inner: 1 threads"), (1, "inner: 2 threads"), (4, "inner: 3 threads"), (6, "within the limit: 1")]
    {
        assert!(texts.is_empty() || texts[at].contains(line), "{line}: {}", texts[at]);
    }
}

#[test]
fn constructs_are_cancelled() {
    let texts = same(
        "cancel",
        &[
            &[("OMP_CANCELLATION", "true")],
            &[("OMP_CANCELLATION", "true"), ("OMP_WAIT_POLICY", "passive"), ("BATON_OMP_BARRIER", "two-level")],
            &[("OMP_CANCELLATION", "true"), ("BATON_OMP_BARRIER", "central")],
            &[("OMP_CANCELLATION", "false")],
            &[("OMP_CANCELLATION", "true"), ("OMP_WAIT_POLICY", "passive"), ("BATON_OMP_TASKS", "team")],
        ],
    );
    assert!(
        texts.is_empty() || texts[0] == "cancellation 1 right\n" && texts[3] == "cancellation 0 right\n",
        "{texts:?}"
    );
}

#[test]
fn tasks_depend_detach_and_reduce() {
    let team = ("BATON_OMP_TASKS", "team");
    let settings: [&[(&str, &str)]; 12] = [
        &[("OMP_NUM_THREADS", "1")],
        &[("OMP_NUM_THREADS", "2"), team],
        &[("OMP_NUM_THREADS", "3"), ("OMP_WAIT_POLICY", "passive"), team],
        &[("OMP_NUM_THREADS", "8"), ("OMP_WAIT_POLICY", "passive"), ("BATON_OMP_TASK_WAKE", "all"), team],
        &[("OMP_NUM_THREADS", "3"), ("OMP_WAIT_POLICY", "passive"), ("BATON_OMP_BARRIER", "two-level"), team],
        &[("OMP_NUM_THREADS", "17"), ("OMP_WAIT_POLICY", "passive"), ("BATON_OMP_BARRIER", "central"), team],
        &[("OMP_NUM_THREADS", "2")],
        &[("OMP_NUM_THREADS", "3"), ("OMP_WAIT_POLICY", "passive")],
        &[("OMP_NUM_THREADS", "8"), ("OMP_WAIT_POLICY", "passive"), ("BATON_OMP_TASK_WAKE", "all")],
        &[("OMP_NUM_THREADS", "3"), ("OMP_WAIT_POLICY", "passive"), ("BATON_OMP_BARRIER", "two-level")],
        &[("OMP_NUM_THREADS", "3"), ("OMP_WAIT_POLICY", "passive"), ("BATON_OMP_BARRIER", "central")],
        &[("OMP_NUM_THREADS", "17"), ("OMP_WAIT_POLICY", "passive"), ("BATON_OMP_WAIT", "futex")],
    ];
    let texts = same("tasks", &settings);
    for text in &texts {
        assert!(text.starts_with("depend: 0 wrong, ends at 200\n") && text.contains("late: 20\n"), "{text}");
    }
}

#[test]
fn initial_threads_have_teams_at_the_same_time() {
    let texts = same(
        "initials",
        &[
            &[],
            &[("OMP_WAIT_POLICY", "active"), ("OMP_THREAD_LIMIT", "4")],
            &[("OMP_WAIT_POLICY", "passive"), ("BATON_OMP_BARRIER", "two-level")],
            &[("BATON_OMP_WAIT", "spin-park")],
        ],
    );
    let expected = "main 1200, child 0\n0: 2100\n1: 2100\n2: 2100\n3: 2100\n";
    texts.iter().for_each(|text| assert_eq!(text, expected));
    let Some(folder) = built() else { return };
    compile(folder.path(), "initials");
    let text = run(limited(folder.path(), "initials", &[("FORKS", "1")]).env("LD_LIBRARY_PATH", folder.path())).stdout;
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn detached_tasks_never_make_their_maker_wait() {
    // The output is not compared with libgomp's, which hangs in this program with one thread and
    // now and then with eight. Each line has numbers that must be equal.
    let Some(folder) = built() else { return };
    compile(folder.path(), "detach");
    for threads in ["1", "2", "3", "8", "17"] {
        for tasks in ["steal", "team"] {
            let settings = [("OMP_NUM_THREADS", threads), ("BATON_OMP_TASKS", tasks)];
            let mut command = limited(folder.path(), "detach", &settings);
            let output = run(command.env("LD_LIBRARY_PATH", folder.path()));
            let text = String::from_utf8(output.stdout).unwrap();
            assert_eq!(text.lines().count(), 18 * 5, "{settings:?}: {text}");
            for line in text.lines() {
                let mut numbers = line.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty());
                let first = numbers.next();
                assert!(first.is_some() && numbers.all(|number| Some(number) == first), "{settings:?}: {line}");
            }
        }
    }
}

#[test]
fn events_that_a_waiting_threads_descendant_fulfils() {
    let Some(folder) = common::library("gomp") else { return };
    compile(folder.path(), "fulfilled");
    for threads in ["1", "2", "8"] {
        for tasks in ["steal", "team"] {
            let settings = [("OMP_NUM_THREADS", threads), ("BATON_OMP_TASKS", tasks)];
            let output = run(limited(folder.path(), "fulfilled", &settings).env("LD_LIBRARY_PATH", folder.path()));
            assert_eq!(String::from_utf8_lossy(&output.stdout), common::FULFILLED, "{settings:?}");
        }
    }
}

#[test]
fn a_task_outside_of_regions_that_follows_an_event() {
    let Some(folder) = common::library("gomp") else { return };
    compile(folder.path(), "outside");
    for tasks in ["steal", "team"] {
        let mut program = limited(folder.path(), "outside", &[("BATON_OMP_TASKS", tasks)]);
        let output = run(program.env("LD_LIBRARY_PATH", folder.path()));
        assert_eq!(String::from_utf8_lossy(&output.stdout), common::OUTSIDE, "{tasks}");
    }
}

#[test]
fn a_waiting_thread_runs_a_task_that_becomes_ready() {
    let team = ("BATON_OMP_TASKS", "team");
    let settings: [&[(&str, &str)]; 4] = [
        &[("OMP_NUM_THREADS", "1"), ("OMP_WAIT_POLICY", "passive")],
        &[("OMP_NUM_THREADS", "1"), team],
        &[("OMP_NUM_THREADS", "2"), ("OMP_WAIT_POLICY", "passive")],
        &[("OMP_NUM_THREADS", "3"), team],
    ];
    for text in same("released", &settings) {
        assert_eq!(text, "before a dependence 1, in a group 1, at a taskwait 2, of many 40\n");
    }
}

#[test]
fn a_group_ends_that_follows_a_task_outside_of_it() {
    let Some(folder) = common::library("gomp") else { return };
    compile(folder.path(), "released_outside");
    for tasks in ["team", "steal"] {
        let mut program = limited(folder.path(), "released_outside", &[("BATON_OMP_TASKS", tasks)]);
        let output = run(program.env("LD_LIBRARY_PATH", folder.path()));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "ran 2\n", "{tasks}");
    }
}

#[test]
fn a_thread_at_the_end_of_a_group_is_woken_for_new_tasks() {
    // Under libgomp the thread sleeps on.
    let Some(folder) = common::library("gomp") else { return };
    compile(folder.path(), "grouped");
    for tasks in ["team", "steal"] {
        let settings = [("BATON_OMP_TASKS", tasks), ("OMP_WAIT_POLICY", "passive")];
        let mut program = limited(folder.path(), "grouped", &settings);
        let output = run(program.env("LD_LIBRARY_PATH", folder.path()));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "in it 1, inside 1, released 1\n", "{tasks}");
    }
}

#[test]
fn target_regions_run_on_the_host_and_teams_one_after_another() {
    same("hosted", &[&[("OMP_WAIT_POLICY", "passive")]])
        .iter()
        .for_each(|text| assert!(text.contains("target: 30 2 31, level 0"), "{text}"));
}

#[test]
fn doacross_loops_keep_their_order() {
    let settings: [&[(&str, &str)]; 3] = [
        &[("OMP_WAIT_POLICY", "passive")],
        &[("OMP_SCHEDULE", "static,2"), ("OMP_WAIT_POLICY", "passive")],
        &[("OMP_SCHEDULE", "guided"), ("OMP_WAIT_POLICY", "passive")],
    ];
    same("doacross", &settings).iter().for_each(|text| assert!(!text.contains("WRONG"), "{text}"));
}

#[test]
fn fortran_forms_do_what_the_c_forms_do() {
    same("fortran", &[&[("OMP_NUM_THREADS", "3")]])
        .iter()
        .for_each(|text| assert!(text.contains("schedule"), "{text}"));
}

#[test]
fn locks_of_old_programs_belong_to_threads() {
    let texts = same(
        "old_locks",
        &[
            &[("OMP_NUM_THREADS", "4"), ("OMP_WAIT_POLICY", "passive")],
            &[("OMP_NUM_THREADS", "3"), ("OMP_WAIT_POLICY", "passive"), ("BATON_OMP_LOCK", "mcs")],
        ],
    );
    for text in &texts {
        assert!(text.contains("nested in a task: now 0, old 2\n"), "{text}");
    }
}

#[test]
fn constructs_print_what_they_print_under_libgomp() {
    let Some(folder) = built() else { return };
    let mut texts = Vec::new();
    for threads in ["1", "2", "3", "8"] {
        let theirs = run(Command::new(folder.path().join("all")).env("OMP_NUM_THREADS", threads));
        let output = ours(folder.path(), &[("OMP_NUM_THREADS", threads)], &[]);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&theirs.stdout),
            "{threads} threads"
        );
        texts.push(theirs.stdout);
    }
    assert_ne!(texts[0], texts[3], "the number of threads reaches the program");
    for (name, value) in [
        ("BATON_OMP_BARRIER", "two-level"),
        ("BATON_OMP_BARRIER", "central"),
        ("BATON_OMP_LOCK", "mcs"),
        ("BATON_OMP_WAIT", "futex"),
        ("BATON_OMP_TASKS", "team"),
        ("OMP_SCHEDULE", "guided,4"),
    ] {
        let output =
            ours(folder.path(), &[("OMP_NUM_THREADS", "3"), ("OMP_WAIT_POLICY", "passive"), (name, value)], &[]);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&texts[2]),
            "{name}={value}: {output:?}"
        );
    }
    // A bad choice ends the program before `main`.
    for setting in [("BATON_OMP_LOCK", "nolock"), ("BATON_OMP_TASKS", "queue")] {
        let bad = ours(folder.path(), &[setting], &[]);
        assert_eq!((bad.status.code(), bad.stdout.len()), (Some(2), 0));
        assert!(String::from_utf8_lossy(&bad.stderr).contains(setting.0));
    }
}

#[test]
fn functions_of_newer_compilers_are_there() {
    let Some(folder) = built() else { return };
    compile(folder.path(), "newer");
    let output = run(limited(folder.path(), "newer", &[]).env("LD_LIBRARY_PATH", folder.path()));
    let expected = "accessible 1 0, mapped 1 1\nexplicit 0 2\ncopied 14 2, 0 failed, 0 0 10 2, after 1\nno device 1 1\nall memory 2\n";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn fewer_threads_than_asked_for_are_said_once() {
    let Some(folder) = built() else { return };
    let source = "#include <stdio.h>\n#include <omp.h>\nint main(void) { int sum = 0; for (int i = 0; i < 3; i++) {\n\
                  #pragma omp parallel num_threads(400) reduction(+ : sum)\nsum++;\n}\nprintf(\"%d\\n\", sum); }";
    std::fs::write(folder.path().join("big.c"), source).unwrap();
    run(Command::new("gcc").current_dir(folder.path()).args(["-fopenmp", "-o", "big", "big.c"]));
    // Under this limit there is address space for the stacks of only some of the 400 threads.
    let mut command = Command::new("sh");
    command.current_dir(folder.path()).args(["-c", "ulimit -v 1500000; exec timeout 30 ./big"]);
    let output = run(command.env("LD_LIBRARY_PATH", folder.path()));
    let (out, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let threads = out.trim().parse::<u32>().unwrap() / 3;
    assert!((2..400).contains(&threads), "{out}");
    assert!(said.contains("asked for 400 threads and gets") && said.lines().count() == 1, "{said}");
}

/// Runs the quick part of `scripts/check/omp-takes-part`: every construct ends, and every thread
/// takes part in it.
#[test]
fn every_construct_ends_and_every_thread_takes_part() {
    let Some(folder) = built() else { return };
    if !baton_needs::has("python3", "gomp") {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/check/omp-takes-part");
    run(Command::new(script).arg("--quick").arg("--library").arg(folder.path()));
}

#[test]
fn valgrind_tells_of_races_of_the_program_alone() {
    let Some(folder) = built() else { return };
    if !baton_needs::has("valgrind", "gomp") {
        return;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/watched.c");
    run(Command::new("gcc").args(["-g", "-fopenmp", "-o"]).arg(folder.path().join("watched")).arg(source));
    // The library must lie where `make install` puts it, because the suppressions name its path.
    let libraries = folder.path().join("baton/openmp");
    std::fs::create_dir_all(&libraries).unwrap();
    std::fs::copy(folder.path().join("libgomp.so.1"), libraries.join("libgomp.so.1")).unwrap();
    let suppressions = concat!("--suppressions=", env!("CARGO_MANIFEST_DIR"), "/valgrind.supp");
    for tool in ["memcheck", "helgrind", "drd"] {
        for (arguments, races) in [(&[][..], false), (&["race"][..], tool != "memcheck")] {
            let mut command = Command::new("timeout");
            command.args(["100", "valgrind", suppressions]).arg(format!("--tool={tool}"));
            if tool == "memcheck" {
                command.arg("--leak-check=full");
            }
            command.arg(folder.path().join("watched")).args(arguments).env("LD_LIBRARY_PATH", &libraries);
            let said = String::from_utf8(run(&mut command).stderr).unwrap();
            assert_eq!(said.contains("ERROR SUMMARY: 0 errors"), !races, "{tool}: {said}");
            assert_eq!(said.contains("watched.c:"), races, "{tool}: {said}");
        }
    }
}

#[test]
fn thread_sanitizer_tells_of_races_of_the_program_alone() {
    let Some(folder) = built() else { return };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/handed.c");
    let mut compiler = Command::new("gcc");
    compiler.args(["-g", "-O1", "-fopenmp", "-fsanitize=thread", "-o"]).arg(folder.path().join("handed"));
    if !compiler.arg(source).output().unwrap().status.success() {
        baton_needs::missing("libtsan of gcc", "gomp");
        return;
    }
    // Data that a construct hands from thread to thread are no race, as the runtime tells the
    // checker what it orders.
    for (arguments, races) in [(&[][..], false), (&["race"][..], true)] {
        let settings = [("TSAN_OPTIONS", "ignore_noninstrumented_modules=1"), ("KMP_FORCE_REDUCTION", "tree")];
        let mut command = limited(folder.path(), "handed", &settings);
        let output = command.args(arguments).env("LD_LIBRARY_PATH", folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.contains("data race") && said.contains("handed.c:"), races, "{said}");
        assert_eq!(output.status.success(), !races, "{output:?}");
        assert_eq!(output.stdout, b"0 wrong\n");
    }
}

/// Libraries in C that each break one function. Preloaded before Baton's library, each must change
/// what `all` prints.
const BROKEN: [&str; 5] = [
    "int GOMP_single_start(void) { return 1; }",
    "unsigned GOMP_sections_next(void) { return 0; }",
    "void GOMP_task(void) {}",
    "int omp_test_lock(void *lock) { return 1; }",
    "void omp_set_schedule(int kind, int chunk) {}",
];

#[test]
fn a_broken_construct_is_seen() {
    let Some(folder) = built() else { return };
    let settings = [("OMP_NUM_THREADS", "3"), ("OMP_WAIT_POLICY", "passive")];
    let whole = ours(folder.path(), &settings, &[]).stdout;
    for broken in BROKEN {
        let (source, library) = (folder.path().join("broken.c"), folder.path().join("broken.so"));
        std::fs::write(&source, broken).unwrap();
        run(Command::new("gcc").args(["-w", "-fno-builtin", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source));
        let output = ours(folder.path(), &[settings[0], settings[1], ("LD_PRELOAD", library.to_str().unwrap())], &[]);
        assert_ne!(output.stdout, whole, "`{broken}` changes nothing");
    }
}

/// The `GOMP_*` and `omp_*` symbols of a library, with their versions.
fn symbols(library: &Path) -> std::collections::BTreeSet<String> {
    let text = run(Command::new("readelf").args(["-W", "--dyn-syms"]).arg(library)).stdout;
    let text = String::from_utf8(text).unwrap();
    let last = text.lines().filter(|line| !line.contains(" UND ")).filter_map(|line| line.split_whitespace().nth(7));
    let host = |name: &&str| (name.starts_with("GOMP_") || name.starts_with("omp_")) && !name.contains("PLUGIN");
    // Symbols of the version nodes themselves have no `@`, and are left out, as are those at LLVM's
    // version.
    last.filter(|name| name.contains('@') && !name.ends_with("@VERSION")).filter(host).map(ToOwned::to_owned).collect()
}

#[test]
fn each_symbol_of_libgomp_is_there_at_its_version() {
    let Some(folder) = built() else { return };
    if !baton_needs::has("readelf", "gomp") {
        return;
    }
    let theirs = run(Command::new("gcc").arg("-print-file-name=libgomp.so")).stdout;
    let theirs = symbols(Path::new(String::from_utf8(theirs).unwrap().trim()));
    let ours = symbols(&folder.path().join("libgomp.so.1"));
    assert!(ours.len() > 310, "{} symbols found", ours.len());
    let version = |name: &str| name.rsplit('@').next().unwrap().to_owned();
    let nodes = |all: &std::collections::BTreeSet<String>| -> std::collections::BTreeSet<String> {
        all.iter().map(|name| version(name)).collect()
    };
    // Baton's library and the installed GCC's may each have version nodes that the other lacks;
    // only nodes of both are compared.
    let both: std::collections::BTreeSet<_> = nodes(&ours).intersection(&nodes(&theirs)).cloned().collect();
    assert!(both.contains("GOMP_5.1") && both.contains("OMP_5.1"), "{both:?}");
    let differ: Vec<_> = ours.symmetric_difference(&theirs).filter(|name| both.contains(&version(name))).collect();
    assert!(differ.is_empty(), "in one of the two alone: {differ:?}");
    // Symbols at an old version (with a single `@`), for programs that were linked long ago.
    let old = |all: &std::collections::BTreeSet<String>| -> Vec<String> {
        all.iter().filter(|name| !name.contains("@@")).cloned().collect()
    };
    assert_eq!((old(&ours), old(&ours).len()), (old(&theirs), 20));
}

#[test]
fn threads_are_bound_as_libgomp_binds_them() {
    let texts = same(
        "places",
        &[
            &[],
            &[("OMP_PROC_BIND", "false"), ("OMP_PLACES", "cores")],
            &[("OMP_PROC_BIND", "close")],
            &[("OMP_PROC_BIND", "spread,close"), ("OMP_PLACES", "threads")],
            &[("OMP_PROC_BIND", "primary"), ("OMP_PLACES", "cores(1)")],
            &[("OMP_PROC_BIND", "close"), ("OMP_PLACES", "sockets")],
            // Several places may have the same CPU.
            &[("OMP_PROC_BIND", "close"), ("OMP_PLACES", "{0}:3:0,{0}")],
            &[("OMP_PROC_BIND", "spread,spread"), ("OMP_PLACES", "{0}:8:0")],
        ],
    );
    if let [plain, off, .., several] = texts.as_slice() {
        assert!(plain.starts_with("0 places: 0\n") && off == plain, "{plain}");
        assert!(several.starts_with("8 places:") && several.contains("place 7"), "{several}");
    }
}

/// With OMP_DISPLAY_AFFINITY, a program must write the same lines on standard error under both
/// libraries. Lines of threads that begin at the same time are sorted.
#[test]
fn affinity_is_shown_when_it_is_new() {
    let Some(folder) = built() else { return };
    compile(folder.path(), "affinity");
    for bind in ["false", "close", "spread"] {
        let settings = [
            ("OMP_PROC_BIND", bind),
            ("OMP_DISPLAY_AFFINITY", "true"),
            ("OMP_AFFINITY_FORMAT", "level %L thread %0.3n of %N on %A"),
        ];
        let sorted = |output: Output| {
            let text = String::from_utf8(output.stderr).unwrap();
            let mut lines: Vec<&str> = text.lines().collect();
            // Each thread prints its line, which begins with `level`, when it begins; so such lines
            // in a row come in any order.
            lines.split_mut(|line| !line.starts_with("level")).for_each(<[&str]>::sort_unstable);
            lines.join("\n")
        };
        let theirs = sorted(run(&mut limited(folder.path(), "affinity", &settings)));
        let mut command = limited(folder.path(), "affinity", &settings);
        let ours = sorted(run(command.env("LD_LIBRARY_PATH", folder.path())));
        assert_eq!(ours, theirs, "{bind}");
        assert!(ours.contains("level 1 thread 001 of 3 on"), "{ours}");
    }
}

#[test]
fn loading_changes_no_affinity() {
    let Some(folder) = built() else { return };
    compile(folder.path(), "affinity");
    let text = |settings: &[(&str, &str)]| {
        let mut command = limited(folder.path(), "affinity", settings);
        String::from_utf8(run(command.arg("1").env("LD_LIBRARY_PATH", folder.path())).stdout).unwrap()
    };
    let all = std::thread::available_parallelism().unwrap();
    assert_eq!(text(&[]), format!("{all} -1 {all}\n"));
    // A thread is bound to its place when it first asks the runtime for something, so one CPU is
    // left.
    assert_eq!(text(&[("OMP_PLACES", "threads")]), format!("{all} 0 1\n"));
}
