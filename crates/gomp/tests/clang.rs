//! Tests of C programs that clang compiled under Baton's library. Most must print the same under
//! LLVM's libomp.

mod common;

use common::{compile, limited, run};
use std::path::Path;
use std::process::{Command, Output};

/// The compiler, and a folder with Baton's library.
fn built() -> Option<(&'static str, tempfile::TempDir)> {
    let clang = baton_needs::first_of(&["clang-19"], "clang")?;
    Some((clang, common::library("clang")?))
}

fn text(output: Output) -> String {
    String::from_utf8(output.stdout).unwrap()
}

fn ours(folder: &Path, program: &str, settings: &[(&str, &str)]) -> Output {
    run(limited(folder, program, settings).env("LD_LIBRARY_PATH", folder))
}

/// Runs a program on both libraries with 1, 2, 3 and 8 threads, and checks that it prints the same.
fn same(program: &str) -> Vec<String> {
    let Some((clang, folder)) = built() else { return Vec::new() };
    compile(clang, &["-Wno-pass-failed"], folder.path(), program);
    let one = |threads: &&str| {
        // With the policy `passive`, LLVM's library lets threads sleep that tasks wait for.
        let settings = [("OMP_NUM_THREADS", *threads)];
        let theirs = text(run(&mut limited(folder.path(), program, &settings)));
        assert_eq!(text(ours(folder.path(), program, &settings)), theirs, "{program}, {threads} threads");
        theirs
    };
    ["1", "2", "3", "8"].iter().map(one).collect()
}

#[test]
fn regions_loops_and_locks_are_as_libomp_has_them() {
    for text in same("clang") {
        assert!(text.contains("words: 866 by 1") && text.contains("dynamic: all 1"), "{text}");
    }
}

#[test]
fn tasks_are_as_libomp_has_them() {
    for text in same("clang_tasks") {
        assert!(text.contains("tasks: all 1") && text.contains("taskloop: all 1"), "{text}");
    }
}

#[test]
fn events_that_a_waiting_threads_descendant_fulfils() {
    same("fulfilled").iter().for_each(|text| assert_eq!(text, common::FULFILLED));
}

#[test]
fn a_task_outside_of_regions_that_follows_an_event() {
    same("outside").iter().for_each(|text| assert_eq!(text, common::OUTSIDE));
}

#[test]
fn atomic_updates_that_clang_does_not_call_are_as_libomp_has_them() {
    for text in same("clang_atomics") {
        assert!(text.contains("all 64 bits: 1") && text.contains("together: 6000 4000"), "{text}");
    }
}

#[test]
fn reductions_are_as_libomp_has_them_in_each_way() {
    let plain = same("clang_reduce");
    let Some((clang, folder)) = built() else { return };
    compile(clang, &[], folder.path(), "clang_reduce");
    for (threads, plain) in ["1", "2", "3", "8"].into_iter().zip(plain) {
        assert!(plain.contains("all 1 1, teams 1") && plain.contains("tasks: 1, 1, 1"), "{plain}");
        for way in
            [("KMP_FORCE_REDUCTION", "tree"), ("KMP_FORCE_REDUCTION", "critical"), ("KMP_DETERMINISTIC_REDUCTION", "1")]
        {
            let printed = text(ours(folder.path(), "clang_reduce", &[("OMP_NUM_THREADS", threads), way]));
            assert_eq!(printed, plain, "{way:?}, {threads} threads");
        }
    }
    // Where regions may be cancelled, no tree is taken; six threads have a second level of it else.
    for way in [&[("OMP_CANCELLATION", "true")][..], &[]] {
        let settings = [&[("OMP_NUM_THREADS", "6"), ("KMP_FORCE_REDUCTION", "tree")], way].concat();
        assert!(text(ours(folder.path(), "clang_reduce", &settings)).contains("many: 3200 1 100800"));
    }
    let output = ours(folder.path(), "clang_reduce", &[("OMP_NUM_THREADS", "2"), ("KMP_FORCE_REDUCTION", "shrub")]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("KMP_FORCE_REDUCTION") && said.contains("shrub"), "{said}");
}

#[test]
fn each_setting_of_the_runtime_serves_clang() {
    let Some((clang, folder)) = built() else { return };
    compile(clang, &[], folder.path(), "clang_tasks");
    let plain = text(ours(folder.path(), "clang_tasks", &[("OMP_NUM_THREADS", "3")]));
    for setting in [("BATON_OMP_TASKS", "team"), ("BATON_OMP_LOCK", "mcs"), ("BATON_OMP_BARRIER", "two-level")] {
        let settings = [("OMP_NUM_THREADS", "3"), ("OMP_WAIT_POLICY", "passive"), setting];
        assert_eq!(text(ours(folder.path(), "clang_tasks", &settings)), plain, "{setting:?}");
    }
    // LLVM's own library stops here at an assertion, so the line is written down.
    let cancelled = text(ours(folder.path(), "clang_tasks", &[("OMP_NUM_THREADS", "3"), ("OMP_CANCELLATION", "true")]));
    assert_eq!(cancelled, plain.replace("cancel 0: 1 24 1 11 1", "cancel 1: 1 24 0 0 1"));
}

#[test]
fn objects_of_both_compilers_share_threads_and_settings() {
    let Some((clang, folder)) = built() else { return };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/mixed.c");
    for (compiler, options) in [(clang, &["-DHALF=clang"][..]), ("gcc", &["-DHALF=gcc", "-DMAIN"])] {
        let object = folder.path().join(compiler).with_extension("o");
        run(Command::new(compiler).args(["-O1", "-fopenmp", "-c", "-o"]).arg(object).args(options).arg(&source));
    }
    let mut link = Command::new("gcc");
    link.current_dir(folder.path()).args(["-o", "mixed", &format!("{clang}.o"), "gcc.o", "-lgomp", "-l:libomp.so.5"]);
    run(&mut link);
    for threads in [1, 3] {
        let settings = [("OMP_NUM_THREADS", &*threads.to_string()), ("OMP_WAIT_POLICY", "passive")];
        let wanted =
            format!("sums: 4950 4950\nthreads of the process: {threads}\nin one region: 2 20\none setting: 1\n");
        assert_eq!(text(ours(folder.path(), "mixed", &settings)), wanted);
    }
}

#[test]
fn threadprivate_variables_have_copies_without_the_compilers_help() {
    let Some((clang, folder)) = built() else { return };
    compile(clang, &["-fnoopenmp-use-tls", "-Wno-pass-failed"], folder.path(), "clang");
    let printed = text(ours(folder.path(), "clang", &[("OMP_NUM_THREADS", "3")]));
    assert!(printed.contains("copyprivate: 48") && printed.contains("copyin: 48"), "{printed}");
    assert!(printed.contains("copies: 0 wrong"), "{printed}");
}

#[test]
fn affinity_is_shown_as_libomp_shows_it() {
    let Some((clang, folder)) = built() else { return };
    std::fs::write(
        folder.path().join("shown.c"),
        "#include <omp.h>\n#include <stdio.h>\nint main(void) { printf(\"before\\n\"); \
         omp_display_affinity(\"%05n|%.5N|%0.5L|%X|%{foo}|%%|%5{num_threads}\"); \
         omp_display_affinity(NULL); printf(\"behind\\n\"); }\n",
    )
    .unwrap();
    run(Command::new(clang).current_dir(folder.path()).args(["-fopenmp", "-o", "shown", "shown.c"]));
    // Numbers of processes and threads differ.
    let settings = [("OMP_NUM_THREADS", "2"), ("OMP_AFFINITY_FORMAT", "%n of %N: %{nothing")];
    let theirs = text(run(&mut limited(folder.path(), "shown", &settings)));
    assert_eq!(text(ours(folder.path(), "shown", &settings)), theirs);
}

#[test]
fn variables_of_llvm_are_read_and_unknown_ones_told() {
    let Some((clang, folder)) = built() else { return };
    std::fs::write(
        folder.path().join("set.c"),
        "#include <omp.h>\n#include <stdio.h>\nint main(void) { printf(\"%d %zu %d %d\\n\", omp_get_thread_limit(), \
         kmp_get_stacksize_s(), omp_get_proc_bind(), omp_get_num_places() > 0); \
         omp_sched_t kind; int chunk; omp_get_schedule(&kind, &chunk); printf(\"schedule %d %d\\n\", kind, chunk); }\n",
    )
    .unwrap();
    run(Command::new(clang).current_dir(folder.path()).args(["-fopenmp", "-o", "set", "set.c"]));
    let set = |settings: &[(&str, &str)]| {
        let output = ours(folder.path(), "set", settings);
        (String::from_utf8(output.stderr.clone()).unwrap(), text(output))
    };
    let (said, printed) = set(&[("KMP_ALL_THREADS", "7"), ("KMP_STACKSIZE", "1m"), ("KMP_AFFINITY", "compact")]);
    assert_eq!((said.as_str(), printed.as_str()), ("", "7 1048576 3 1\nschedule 1 0\n"));
    assert!(set(&[("OMP_SCHEDULE", "dynamic,4")]).1.ends_with("schedule 2 4\n"));
    let (said, _) = set(&[("KMP_AFFINITY", "compakt"), ("KMP_BLOCKTIME", "soon"), ("KMP_TASKLOOP_MIN_TASKS", "3")]);
    for told in ["KMP_AFFINITY: `compakt`", "KMP_BLOCKTIME: `soon`", "without effect: KMP_TASKLOOP_MIN_TASKS"] {
        assert!(said.contains(told), "{said}");
    }
    let (said, _) = set(&[("OMP_STACKSIZE", "much"), ("KMP_HW_SUBSET", "1t")]);
    assert_eq!(said, "OMP: Warning #42: OMP_STACKSIZE: \"much\" is an invalid value; ignored.\n");
    assert!(set(&[("KMP_HW_SUBSET", "999s")]).0.contains("KMP_HW_SUBSET: too many"));
    assert!(set(&[("KMP_DISP_NUM_BUFFERS", "0")]).0.contains("KMP_DISP_NUM_BUFFERS=\"0\": value too small."));
    let (said, _) = set(&[("KMP_SETTINGS", "1"), ("OMP_PLACES", "sockets(")]);
    assert!(said.contains("OMP: Warning #250: OMP_PLACES: syntax error, using sockets."), "{said}");
    assert!(said.contains("   OMP_PLACES=sockets(\n") && said.contains("   OMP_PLACES='sockets'\n"), "{said}");
    assert_eq!(set(&[("KMP_AFFINITY", "compakt"), ("KMP_WARNINGS", "0")]).0, "");
}

/// What the tool of `tests/programs/tool.c` prints while it follows `program`; without `library` under
/// LLVM's own.
fn followed(folder: &Path, program: &str, library: bool, settings: &[(&str, &str)]) -> String {
    let mut command = limited(folder, program, &[("OMP_TOOL_LIBRARIES", "./tool.so")]);
    command.current_dir(folder).envs(settings.iter().copied());
    let output = if library { command.env("LD_LIBRARY_PATH", folder).output() } else { command.output() }.unwrap();
    assert!(output.status.success(), "{program} {settings:?}: {output:?}");
    text(output)
}

#[test]
fn a_tool_follows_programs_of_both_compilers_as_under_libomp() {
    let Some((clang, folder)) = built() else { return };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/tool.c");
    let mut tool = Command::new(clang);
    run(tool.current_dir(&folder).args(["-shared", "-fPIC", "-o", "tool.so"]).arg(source));
    let folder = folder.path();
    compile(clang, &[], folder, "tooled");
    // LLVM's library passes other values than the tool expects here and there; its counts are right.
    let counted = |text: String| text.lines().filter(|line| !line.starts_with("fault")).collect::<Vec<_>>().join("\n");
    let theirs = counted(followed(folder, "tooled", false, &[]));
    let ours = followed(folder, "tooled", true, &[]);
    assert_eq!(ours.trim_end(), theirs);
    assert!(
        ours.contains("control 42\n") && ours.contains("\ntask dependence 1\n") && ours.ends_with("end 5\n"),
        "{ours}"
    );
    for mode in ["null", "refuse"] {
        assert_eq!(followed(folder, "tooled", true, &[("MODE", mode)]), "control -2\nsum 43\n");
    }
    assert_eq!(followed(folder, "tooled", true, &[("OMP_TOOL", "disabled")]), "control -2\nsum 43\n");
    compile("gcc", &[], folder, "tooled");
    // GCC says neither which barriers are explicit, nor what a master block is; else it is the same.
    let barriers = |text: &str| {
        text.replace("barrier explicit 4\nbarrier of a work-share 12\n", "barrier 8\nbarrier of a work-share 8\n")
    };
    let wanted = barriers(&ours).replace("control 42\n", "").replace("masked 2\n", "");
    assert_eq!(followed(folder, "tooled", true, &[("BATON_OMP_TASKS", "team"), ("BATON_OMP_LOCK", "mcs")]), wanted);
}

#[test]
fn a_tool_that_cannot_be_started_is_told() {
    let Some((clang, folder)) = built() else { return };
    std::fs::write(folder.path().join("one.c"), "#include <omp.h>\nint main(void) { return omp_get_thread_num(); }\n")
        .unwrap();
    run(Command::new(clang).current_dir(&folder).args(["-fopenmp", "-o", "one", "one.c"]));
    let said = |settings: &[(&str, &str)]| String::from_utf8(ours(folder.path(), "one", settings).stderr).unwrap();
    let missing = said(&[("OMP_TOOL_LIBRARIES", "/nowhere/tool.so:libm.so.6")]);
    assert!(missing.contains("OMP_TOOL_LIBRARIES: `/nowhere/tool.so` cannot be loaded"), "{missing}");
    assert!(missing.contains("`libm.so.6` has no `ompt_start_tool`"), "{missing}");
    assert!(said(&[("OMP_TOOL", "maybe")]).contains("`maybe` is neither `enabled` nor `disabled`"));
    let verbose = said(&[("OMP_TOOL_LIBRARIES", "libm.so.6"), ("OMP_TOOL_VERBOSE_INIT", "stderr")]);
    assert!(verbose.contains("no tool is started"), "{verbose}");
}

#[test]
fn what_only_llvms_library_has_is_as_there() {
    let Some((clang, folder)) = built() else { return };
    compile(clang, &["-Wno-pass-failed"], folder.path(), "llvms");
    let settings = [
        ("OMP_SCHEDULE", "trapezoidal,3"),
        ("OMP_THREAD_LIMIT", "16"),
        ("KMP_ENABLE_TASK_THROTTLING", "0"),
        ("OMP_NUM_THREADS", "1"),
    ];
    let output = ours(folder.path(), "llvms", &settings);
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(said.contains("too few"), "{said}");
    let printed = text(output);
    let expected = "schedule: 101 3\nlate: 2\nlists: 3 2 2\nlists: 2 2 2\nstrict: 1\n\
                    trapezoidal: 0-49 50-83 84-99 all 100\nguided in vectors: 0-99 all 100\n\
                    as said, in vectors: 0-47 48-83 84-99 all 100\nqueue: early 0\noffload: 0\n";
    assert_eq!(printed, expected);
}

#[test]
fn threads_are_bound_and_teams_shown_as_libomp_does() {
    let Some((clang, folder)) = built() else { return };
    compile(clang, &[], folder.path(), "bound");
    let print = |settings: &[(&str, &str)]| {
        let theirs = text(run(&mut limited(folder.path(), "bound", settings)));
        assert_eq!(text(ours(folder.path(), "bound", settings)), theirs, "{settings:?}");
        theirs
    };
    let places = ("OMP_PLACES", "threads");
    let shown = print(&[places, ("OMP_DISPLAY_AFFINITY", "true"), ("OMP_AFFINITY_FORMAT", "first %L %N")]);
    assert_eq!(shown.matches("shown: ").count(), 4, "{shown}");
    print(&[places, ("KMP_TEAMS_PROC_BIND", "close")]);
    print(&[places, ("KMP_TEAMS_PROC_BIND", "primary")]);
    print(&[places, ("KMP_HW_SUBSET", "1s,1c,1t")]);
    assert!(print(&[("KMP_AFFINITY", "reset,granularity=thread,compact")]).contains("behind: all 1"));
}
