//! Programs in C and C++ whose queues the user chooses, built with what `make install` leaves.

use crate::common;
use crate::package::{self, KINDS, run, said};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Installs the C library under a folder. Cargo builds it here, as no test can link it.
fn install(prefix: &Path) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    run(build.current_dir(common::root()).args(["build", "--quiet", "--profile", "test", "--package", "baton-capi"]));
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../debug");
    let set = |key: &str, value: &Path| format!("{key}={}", value.display());
    let mut make = Command::new("make");
    make.current_dir(common::root()).args(["-s", "install-c"]);
    run(make.args([set("PREFIX", prefix), set("BUILT", &built)]));
}

/// Compiles a program in the folder where the library is installed.
fn compile(prefix: &Path, (compiler, standard): (&str, &str), source: &Path) -> PathBuf {
    let lib = prefix.join("lib");
    let mut find = Command::new("pkg-config");
    let flags = run(find.env("PKG_CONFIG_PATH", lib.join("pkgconfig")).args(["--cflags", "--libs", "baton"]));
    let program = prefix.join(source.file_name().unwrap()).with_added_extension("program");
    let mut command = Command::new(compiler);
    command.args([standard, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o"]).arg(&program).arg(source);
    command.args(flags.split_whitespace()).arg(format!("-Wl,-rpath,{}", lib.display())).arg("-lpthread");
    run(&mut command);
    program
}

/// Makes a queue for many senders and many receivers, which an algorithm for one of each does not serve.
const MANY: &str = r#"
#include <baton.h>
#include <errno.h>
#include <stdio.h>
int main(void) {
    int item = 7;
    baton_choice *queue = baton_choice_new(BATON_MANY_TO_MANY, sizeof item, 3);
    for (int i = 0; i < 3; i++) if (baton_choice_tryput(queue, &item) != 0) return 1;
    int full = baton_choice_tryput(queue, &item) == EAGAIN, got = baton_choice_get(queue, &item) == 0 && item == 7;
    if (baton_choice_new(2, sizeof item, 3) != NULL || baton_choice_new(0, 0, 3) != NULL) return 1;
    if (baton_choice_new(0, 1, 0) != NULL) return 1;
    printf("%s %zu %d %d, %s\n", baton_choice_name(queue), baton_choice_capacity(queue), full, got, baton_last_error());
    baton_choice_free(queue);
    return 0;
}
"#;

fn is_as_asked(baton: &Path, prefix: &Path, stages: &Path) {
    for asked in KINDS {
        let name = asked.split('=').next().unwrap();
        let mut command = Command::new(baton);
        let (code, out, error) =
            said(command.current_dir(prefix).args(["run", "--queue", asked, "--"]).arg(stages).args(["10", "1"]));
        assert_eq!((code, out.as_str()), (Some(0), "285\n"), "{error}");
        assert!(error.contains("; 2 queues are as asked"), "{error}");
        assert!(error.contains(&format!("stages: queues {name} and {name}\n")), "{error}");
    }
    let (code, out, error) = said(Command::new(stages).args(["10", "1"]).env("BATON_QUEUE", "rong"));
    assert_eq!((code, out.as_str()), (Some(0), "285\n"));
    assert!(error.contains("BATON_QUEUE=`rong`: expected spsc, ring"), "{error}");
    assert!(error.contains("stages: queues spsc and spsc\n"), "{error}");
}

#[test]
fn a_user_chooses_the_queues_of_c_and_cpp() {
    const NAME: &str = "a_user_chooses_the_queues_of_c_and_cpp";
    if !["c++", "pkg-config"].iter().all(|program| baton_needs::has(program, NAME)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (prefix, baton) = (folder.path(), common::installed().join("bin/baton"));
    install(prefix);
    let examples = common::root().join("examples/queues");
    for (compiler, source, place) in
        [(("cc", "-std=gnu11"), "stages.c", "reads"), (("c++", "-std=c++17"), "stages.cpp", "stages.cpp:")]
    {
        let stages = compile(prefix, compiler, &examples.join(source));
        is_as_asked(&baton, prefix, &stages);
        let recording = tempfile::tempdir().unwrap();
        package::a_profile_names_the_slow_stage(recording.path(), &stages, place);
    }
    let source = prefix.join("many.c");
    std::fs::write(&source, MANY).unwrap();
    let many = compile(prefix, ("cc", "-std=gnu11"), &source);
    for (asked, expected) in [("segments", "segments 3"), ("spsc", "mpmc 3")] {
        let mut command = Command::new(&baton);
        let (code, out, error) = said(command.current_dir(prefix).args(["run", "--queue", asked, "--"]).arg(&many));
        assert_eq!(code, Some(0), "{error}");
        assert!(out.starts_with(&format!("{expected} 1 1, ")), "{out}");
        let kept =
            error.contains("it does not serve several senders or receivers, which the program's queues have (1)");
        assert_eq!(kept, asked == "spsc", "{error}");
    }
}
