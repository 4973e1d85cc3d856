//! `baton try` on programs whose answer is certain whatever else the machine does.

use crate::{common, schema};
use std::path::Path;
use std::process::{Command, Output};

/// A program of two threads that each count under a lock of their own: no lock is ever waited for.
const APART: &str = r#"
#include <pthread.h>
static struct { pthread_mutex_t lock; long n; char pad[128]; } own[2] = {{PTHREAD_MUTEX_INITIALIZER}, {PTHREAD_MUTEX_INITIALIZER}};
static void *work(void *x) {
    long me = (long)x;
    for (int i = 0; i < 20000; i++) { pthread_mutex_lock(&own[me].lock); own[me].n++; pthread_mutex_unlock(&own[me].lock); }
    return 0;
}
int main(void) {
    pthread_t t[2];
    for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, work, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}"#;

fn baton(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(common::installed().join("bin/baton"));
    command.env("NO_COLOR", "1").env_remove("LD_PRELOAD").env("XDG_DATA_HOME", folder).env("TMPDIR", folder);
    command.current_dir(folder).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The one document on standard output, which fits its schema.
fn answer(out: &Output) -> serde_json::Value {
    let answer = serde_json::from_slice(&out.stdout).expect("standard output is JSON alone");
    let schema = serde_json::from_str(include_str!("../../../../docs/schema/try.schema.json")).unwrap();
    assert_eq!(schema::violations(&schema, &answer), Vec::<String>::new(), "{answer}");
    answer
}

#[test]
fn without_competition_no_lock_will_help_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    common::compiled(folder.path(), "apart", APART, &[]);
    let before = folder.path().read_dir().unwrap().count();
    let out = baton(folder.path(), &["try", "--json", "./apart"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let answer = answer(&out);
    assert_eq!(answer["answer"], "no-lock-helps", "{answer}");
    assert!(answer["text"].as_str().unwrap().starts_with("no lock will help: for at most"), "{answer}");
    assert!(answer["measured"].as_array().unwrap().is_empty() && answer["run"].is_null());
    assert_eq!(folder.path().read_dir().unwrap().count(), before, "no profile was asked for");
}

#[test]
fn an_existing_profile_is_tried_and_a_base_must_be_another_program() {
    let folder = tempfile::tempdir().unwrap();
    common::compiled(folder.path(), "apart", APART, &[]);
    let out = baton(folder.path(), &["profile", "-o", "kept", "./apart"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let out = baton(folder.path(), &["try", "kept"]);
    // On a busy machine the runs may differ by more than the locks do.
    let start = match out.status.code() {
        Some(3) => "cannot tell",
        code => {
            assert_eq!(code, Some(0), "{}", text(&out.stderr));
            "no lock will help: "
        }
    };
    assert!(text(&out.stdout).starts_with(start), "{}", text(&out.stdout));
    let out = baton(folder.path(), &["try", "--against", "kept", "kept"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("the same program with the same arguments"), "{}", text(&out.stderr));
}

/// A program that sleeps twenty times as long as its base is slower, however busy the machine is.
#[test]
fn a_regression_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let sleeps = |ms: u32| {
        format!(
            "#include <pthread.h>\n#include <unistd.h>\nstatic void *f(void *x) {{ usleep({ms} * 1000); return x; }}\n\
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); return pthread_join(t, 0); }}\n"
        )
    };
    common::compiled(folder.path(), "base", &sleeps(5), &[]);
    common::compiled(folder.path(), "slow", &sleeps(100), &[]);
    let out = baton(folder.path(), &["profile", "-o", "main", "./base"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let out = baton(folder.path(), &["try", "--json", "--budget", "10m", "--against", "main", "./slow"]);
    assert_eq!(out.status.code(), Some(4), "{}\n{}", text(&out.stdout), text(&out.stderr));
    let answer = answer(&out);
    assert_eq!((&answer["answer"], &answer["exit_code"]), (&"regression".into(), &4.into()), "{answer}");
    assert!(answer["text"].as_str().unwrap().contains("slower than main"), "{answer}");
    assert!(answer["measured"][1]["times_ns"].as_array().unwrap().len() >= 8, "{answer}");
}

/// Chip files and their names are found beside the command, from any current folder.
#[test]
fn chips_are_found_from_any_folder() {
    let folder = tempfile::tempdir().unwrap();
    let shipped = common::installed().join("share/baton/chips");
    std::fs::create_dir_all(&shipped).unwrap();
    std::fs::copy(common::root().join("chips/ocor64.toml"), shipped.join("ocor64.toml")).unwrap();
    let out = baton(folder.path(), &["chips", "list"]);
    assert!(text(&out.stdout).contains("share/baton/chips/ocor64.toml"), "{}", text(&out.stdout));
    let out = baton(folder.path(), &["chips", "show", "ocor64"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let out = baton(folder.path(), &["chips", "show", "ocor46"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("did you mean `ocor64`?"), "{}", text(&out.stderr));
}

/// A study's own chip and profiles are found beside the command. The study is then refused because
/// it has no folder for its page's pictures.
#[test]
fn a_studys_own_files_are_found_from_any_folder() {
    let folder = tempfile::tempdir().unwrap();
    let shipped = common::installed().join("share/baton");
    for (from, name) in [("chips", "ocor64.toml"), ("profiles/ocor", "")] {
        let (from, to) = (common::root().join(from), shipped.join(from));
        std::fs::create_dir_all(&to).unwrap();
        for entry in from.read_dir().unwrap().map(|entry| entry.unwrap()) {
            if name.is_empty() || entry.file_name() == name {
                std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
    }
    let out = baton(folder.path(), &["study", "ocor", "--quick", "--markdown", "page"]);
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("--figures DIR"), "{}", text(&out.stderr));
}

/// Ctrl-C in the middle of the measurement: exit code 130, and the recording that was made on the way is gone.
#[test]
fn an_interruption_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let source = |name: &str| {
        format!(
            "#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n\
             static void *f(void *x) {{ usleep(300000); return x; }}\n\
             int main(void) {{ FILE *runs = fopen(\"runs\", \"a\"); fputs(\"{name}\", runs); fclose(runs);\n\
             pthread_t t; pthread_create(&t, 0, f, 0); return pthread_join(t, 0); }}\n"
        )
    };
    common::compiled(folder.path(), "a", &source("a"), &[]);
    common::compiled(folder.path(), "b", &source("b"), &[]);
    assert_eq!(baton(folder.path(), &["profile", "-o", "main", "./a"]).status.code(), Some(0));
    let mut command = Command::new(common::installed().join("bin/baton"));
    command.env_remove("LD_PRELOAD").env("TMPDIR", folder.path()).current_dir(folder.path());
    command.args(["try", "--budget", "10m", "--against", "main", "./b"]).stderr(std::process::Stdio::null());
    // A job in a shell's background is started with SIGINT ignored, and its children inherit that.
    // SAFETY: signal is async-signal-safe.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut command, || {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let mut child = command.spawn().unwrap();
    // Both programs were recorded, and two runs of the measurement have begun; at least eight runs
    // of each program are to come.
    while std::fs::read(folder.path().join("runs")).map_or(0, |runs| runs.len()) < 4 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let left: Vec<_> = folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("baton-try")), "{left:?}");
}
