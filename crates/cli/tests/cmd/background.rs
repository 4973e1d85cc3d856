//! A monitor beside the workers changes neither what limits the program nor what a shorter section
//! wins. All of the program's time is sleep, so that a busy machine changes little.

use crate::common;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Starts `monitor` and three threads of `work`, and stops the monitor when these have ended.
const MAIN: &str = r#"
int main(void) {
    pthread_t m, t[3];
    pthread_create(&m, 0, monitor, 0);
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    stop = 1;
    pthread_join(m, 0);
    return 0;
}"#;

/// Three workers sleep under one lock; a monitor looks at a flag every millisecond.
const MONITORED: &str = r#"
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t hot_lock = PTHREAD_MUTEX_INITIALIZER, stat_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;
static void *monitor(void *x) {
    while (!stop) { pthread_mutex_lock(&stat_lock); pthread_mutex_unlock(&stat_lock); usleep(1000); }
    return x;
}
static void *work(void *x) {
    for (int i = 0; i < 30; i++) { pthread_mutex_lock(&hot_lock); usleep(4000); pthread_mutex_unlock(&hot_lock); usleep(200); }
    return x;
}
"#;

fn baton(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(common::installed().join("bin/baton"));
    command.env("NO_COLOR", "1").env_remove("LD_PRELOAD").env("XDG_DATA_HOME", folder);
    command.current_dir(folder).args(args).output().unwrap()
}

fn json(folder: &Path, args: &[&str]) -> Value {
    let out = baton(folder, args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("standard output is JSON alone")
}

#[test]
fn a_monitor_hides_neither_the_limit_nor_the_gain() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    common::compiled(here, "monitored", &[MONITORED, MAIN].concat(), &[]);
    let out = baton(here, &["profile", "-o", "p", "./monitored"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));

    let report = json(here, &["report", "p", "--json"]);
    if report["threads"][0]["off_cpu_known"] != "all" {
        // Without context switches it is not known that the workers sleep.
        return;
    }
    assert_eq!(report["background"].as_array().map(Vec::len), Some(1), "{}", report["background"]);
    // Threads are numbered in the order in which they first act. Each worker takes its lock 30 times.
    let monitor = report["background"][0]["thread"].as_u64().unwrap();
    let taken = report["threads"][monitor as usize]["acquisitions"].as_u64();
    assert!(taken > Some(30), "{taken:?} acquisitions by the background thread");
    assert_eq!(report["verdict"]["limit"], "sections", "{}", report["verdict"]);
    assert!(report["verdict"]["headline"].as_str().unwrap().contains("hot_lock"), "{}", report["verdict"]);

    let faster = |more: &[&str]| {
        let args = ["whatif", "p", "--lock", "futex", "--shrink", "hot_lock=0.5", "--seeds", "1", "--json"];
        let answer = json(here, &[&args[..], more].concat());
        answer["results"].as_array().unwrap().last().unwrap()["speedup"].as_f64().unwrap()
    };
    let with = faster(&[]);
    assert!((1.6..2.2).contains(&with), "half of nearly all time: {with}");
    let waited_for = faster(&["--until", &monitor.to_string()]);
    assert!(waited_for < 1.1, "a monitor whose work is waited for keeps its length: {waited_for}");

    let out = baton(here, &["report", "p", "--until", "nobody"]);
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.contains("no thread of this recording is called `nobody`"), "{said}");
}

/// The monitor waits with a deadline of 20 ms, until `main` signals. Workers and monitor take their locks
/// through one function.
const SIGNALLED: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#define OUT __attribute__((noinline))
static pthread_mutex_t hot_lock = PTHREAD_MUTEX_INITIALIZER, stop_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stopped = PTHREAD_COND_INITIALIZER;
static int stop;
static volatile long n;
OUT static void take(pthread_mutex_t *m) { pthread_mutex_lock(m); n++; }
OUT static void give(pthread_mutex_t *m) { n++; pthread_mutex_unlock(m); __asm__ volatile(""); }
static void *monitor(void *x) {
    pthread_setname_np(pthread_self(), "monitor");
    take(&stop_lock);
    while (!stop) {
        struct timespec at;
        clock_gettime(CLOCK_REALTIME, &at);
        if ((at.tv_nsec += 20000000) >= 1000000000) { at.tv_sec++; at.tv_nsec -= 1000000000; }
        pthread_cond_timedwait(&stopped, &stop_lock, &at);
    }
    give(&stop_lock);
    return x;
}
static void *work(void *x) {
    for (int i = 0; i < 30; i++) { take(&hot_lock); usleep(4000); give(&hot_lock); usleep(200); }
    return x;
}
int main(void) {
    pthread_t m, t[3];
    pthread_create(&m, 0, monitor, 0);
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    take(&stop_lock);
    stop = 1;
    give(&stop_lock);
    pthread_cond_signal(&stopped);
    pthread_join(m, 0);
    return 0;
}"#;

#[test]
fn a_monitor_that_is_signalled_to_end_does_not_keep_a_prediction_long() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    common::compiled(here, "signalled", SIGNALLED, &[]);
    let out = baton(here, &["profile", "-o", "p", "./signalled"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let report = json(here, &["report", "p", "--json"]);
    if report["threads"][0]["off_cpu_known"] != "all" {
        // Without context switches it is not known that the workers sleep.
        return;
    }
    let found = report["background"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{}", report["background"]);
    let thread = found[0]["thread"].as_u64().unwrap() as usize;
    assert_eq!(report["threads"][thread]["name"], "monitor");
    let args = ["whatif", "p", "--lock", "futex", "--shrink", "hot_lock=0.25", "--seeds", "1", "--json"];
    let answer = json(here, &args);
    let gain = answer["results"].as_array().unwrap().last().unwrap()["speedup"].as_f64().unwrap();
    assert!((2.8..4.5).contains(&gain), "a quarter of nearly all time: {gain}");
}

/// The monitor and the workers take locks through one function. With `SAME` both take one lock,
/// otherwise each side has a lock of its own.
const WRAPPED: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#define OUT __attribute__((noinline))
static pthread_mutex_t hot_lock = PTHREAD_MUTEX_INITIALIZER, stat_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;
static volatile long n;
OUT static void take(pthread_mutex_t *m) { pthread_mutex_lock(m); n++; }
OUT static void give(pthread_mutex_t *m) { n++; pthread_mutex_unlock(m); __asm__ volatile(""); }
static void *monitor(void *x) {
    pthread_setname_np(pthread_self(), "monitor");
    pthread_mutex_t *mine = SAME ? &hot_lock : &stat_lock;
    while (!stop) { take(mine); give(mine); usleep(1000); }
    return x;
}
static void *work(void *x) {
    for (int i = 0; i < 30; i++) { take(&hot_lock); usleep(4000); give(&hot_lock); usleep(200); }
    return x;
}
"#;

#[test]
fn a_monitor_that_locks_as_the_workers_do_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for same in ["-DSAME=0", "-DSAME=1"] {
        common::compiled(here, "wrapped", &[WRAPPED, MAIN].concat(), &[same]);
        let folder_of = &same[2..];
        let out = baton(here, &["profile", "-o", folder_of, "./wrapped"]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let report = json(here, &["report", folder_of, "--json"]);
        let found = report["background"].as_array().unwrap();
        assert_eq!(found.len(), 1, "{same}: {}", report["background"]);
        let thread = found[0]["thread"].as_u64().unwrap() as usize;
        // Under one lock the monitor may take it as often as a worker does, so that its name tells which thread it is.
        assert_eq!(report["threads"][thread]["name"], "monitor", "{same}");
    }
}

/// `main` looks every millisecond whether the workers are done, and a detached thread goes on until the end of the process.
const POLLED: &str = r#"
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t hot_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int done;
static void *heartbeat(void *x) { for (;;) usleep(5000); return x; }
static void *work(void *x) {
    for (int i = 0; i < 30; i++) { pthread_mutex_lock(&hot_lock); usleep(4000); pthread_mutex_unlock(&hot_lock); usleep(200); }
    __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
    return x;
}
int main(void) {
    pthread_t h, t[3];
    pthread_create(&h, 0, heartbeat, 0);
    pthread_detach(h);
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, 0);
    while (done < 3) usleep(1000);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    usleep(20000);
    return 0;
}"#;

#[test]
fn a_heartbeat_and_a_main_that_polls_hide_neither_the_limit_nor_the_gain() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    common::compiled(here, "polled", POLLED, &[]);
    let out = baton(here, &["profile", "-o", "p", "./polled"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let report = json(here, &["report", "p", "--json"]);
    if report["threads"][0]["off_cpu_known"] != "all" {
        return;
    }
    let background = report["background"].as_array().unwrap();
    assert_eq!((background.len(), &background[0]["joined"]), (1, &Value::Bool(false)), "{}", report["background"]);
    assert_eq!(report["verdict"]["limit"], "sections", "{}", report["verdict"]);
    assert!(report["verdict"]["headline"].as_str().unwrap().contains("hot_lock"), "{}", report["verdict"]);
    let args = ["whatif", "p", "--lock", "futex", "--shrink", "hot_lock=0.5", "--seeds", "1", "--json"];
    let answer = json(here, &args);
    let with = answer["results"].as_array().unwrap().last().unwrap()["speedup"].as_f64().unwrap();
    assert!((1.6..2.2).contains(&with), "half of nearly all time: {with}");
}
