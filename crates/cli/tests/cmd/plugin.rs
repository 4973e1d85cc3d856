//! `baton run` with a lock of a shared library: the one of `examples/out-of-tree`, and libraries with which something is wrong.

use crate::common;
use std::path::Path;
use std::process::{Command, Output};

/// Four threads count under a mutex; then one thread tries it, without and with a deadline, while
/// the main thread holds it.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long total, ready;
static void *count(void *unused) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        total++;
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    ready++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}
static void *late(void *unused) {
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 20 * 1000 * 1000;
    if (soon.tv_nsec >= 1000 * 1000 * 1000) soon.tv_sec++, soon.tv_nsec -= 1000 * 1000 * 1000;
    printf("%d %d\n", pthread_mutex_trylock(&lock) == EBUSY, pthread_mutex_timedlock(&lock, &soon) == ETIMEDOUT);
    return unused;
}
int main(void) {
    pthread_t t[4], other;
    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, count, 0);
    pthread_mutex_lock(&lock);
    while (ready < 4) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    pthread_mutex_lock(&lock);
    pthread_create(&other, 0, late, 0);
    pthread_join(other, 0);
    pthread_mutex_unlock(&lock);
    printf("%ld\n", total);
    return 0;
}
"#;

/// A plug-in library whose descriptor is wrong in the field that a macro of the compiler's command
/// line sets: version, size or unlock.
const BROKEN: &str = r#"
#include <baton_lock.h>
static void nothing(void *lock) { (void)lock; }
static int taken(void *lock) { (void)lock; return 1; }
#ifndef VERSION
#define VERSION BATON_LOCK_ABI
#endif
#ifndef SIZE
#define SIZE 8
#endif
#ifndef UNLOCK
#define UNLOCK nothing
#endif
const struct baton_lock_plugin broken = {
    .abi = VERSION, .size = SIZE, .align = 8, .init = nothing, .lock = nothing, .trylock = taken, .unlock = UNLOCK,
};
"#;

fn compile(folder: &Path, arguments: &[&str]) {
    let mut cc = Command::new("cc");
    cc.current_dir(folder)
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(common::root().join("crates/capi/include"));
    assert!(cc.args(arguments).status().expect("a C compiler, which `make test` asks for").success(), "{cc:?}");
}

fn run(folder: &Path, options: &[&str]) -> Output {
    let mut baton = Command::new(common::installed().join("bin/baton"));
    baton.current_dir(folder).env("NO_COLOR", "1").env_remove("LD_PRELOAD").arg("run").args(options);
    baton.args(["--", "./program"]).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_lock_of_a_library_serves_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("program.c"), PROGRAM).unwrap();
    compile(folder, &["-o", "program", "program.c", "-lpthread"]);
    let source = common::root().join("examples/out-of-tree/plugin.c");
    compile(folder, &["-shared", "-fPIC", "-o", "libmylock.so", source.to_str().unwrap()]);
    let out = run(folder, &["--lock", "./libmylock.so:mylock"]);
    let (said, err) = (text(&out.stdout), text(&out.stderr));
    assert_eq!((out.status.code(), said.as_str()), (Some(0), "1 1\n4000\n"), "{err}");
    let served = err
        .split("served ")
        .nth(1)
        .and_then(|rest| rest.split_once(" of "))
        .map(|(served, rest)| (served, rest.split([' ', ',']).next().unwrap()));
    let (served, all) = served.unwrap_or_else(|| panic!("no counters: {err}"));
    assert!(served == all && served.parse::<u64>().unwrap() >= 4000, "{err}");
}

#[test]
fn what_is_wrong_with_a_library_is_said_before_the_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("program.c"), "int main(void) { return 0; }").unwrap();
    std::fs::write(folder.join("broken.c"), BROKEN).unwrap();
    compile(folder, &["-o", "program", "program.c"]);
    for (name, definition) in
        [("fits", "-DFITS"), ("version", "-DVERSION=9"), ("size", "-DSIZE=4096"), ("unlock", "-DUNLOCK=0")]
    {
        compile(folder, &["-shared", "-fPIC", definition, "-o", &format!("{name}.so"), "broken.c"]);
    }
    std::fs::write(folder.join("text.so"), "no library").unwrap();
    for (options, expected) in [
        (&["--lock", "./none.so:broken"][..], "plug-in `./none.so`: No such file or directory"),
        (&["--lock", "./text.so:broken"], "cannot be loaded"),
        (&["--lock", "./fits.so:mylock"], "fits.so` has no `mylock`; expected `const struct baton_lock_plugin mylock`"),
        (&["--lock", "./version.so:broken"], "it was built for version 9 of baton_lock.h; expected 1"),
        (&["--lock", "./size.so:broken"], "a lock of 4096 bytes; expected 1 to 1024"),
        (&["--lock", "./unlock.so:broken"], "expected init, lock, trylock and unlock, all not null"),
        (&["--lock", "./fits.so:broken", "--wait", "pause"], "waits in its own way: leave out --wait"),
    ] {
        let out = run(folder, options);
        assert_eq!(out.status.code(), Some(2), "{options:?}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(expected), "{options:?}: {}", text(&out.stderr));
    }
}
