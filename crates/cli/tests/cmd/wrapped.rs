//! Locks behind wrappers: the report tells them apart by their callers, and each of their names is one for `run` and `whatif`.

use crate::common;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

/// Mutexes behind one or two wrappers, each owner with its own; two globals that calls initialise; and locks behind two other wrappers that
/// no call initialises. Three threads take each of the named locks 40 times, and the four shards together.
const CXX: &str = r#"
#include <pthread.h>
#include <unistd.h>
#define OUT __attribute__((noinline))
#define STAYS asm volatile("")
namespace port {
struct Mutex {
    pthread_mutex_t mutex;
    OUT Mutex() { pthread_mutex_init(&mutex, nullptr); STAYS; }
    OUT void Lock() { pthread_mutex_lock(&mutex); STAYS; }
    OUT void Unlock() { pthread_mutex_unlock(&mutex); STAYS; }
};
}
struct InstrumentedMutex {
    port::Mutex inner;
    OUT InstrumentedMutex() { STAYS; }
    OUT void Lock() { inner.Lock(); STAYS; }
    OUT void Unlock() { inner.Unlock(); STAYS; }
};
struct Monitor {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    OUT void enter() { pthread_mutex_lock(&mutex); STAYS; }
    OUT void exit() { pthread_mutex_unlock(&mutex); STAYS; }
};
struct ObjectLocker {
    Monitor &monitor;
    OUT ObjectLocker(Monitor &monitor) : monitor(monitor) { monitor.enter(); STAYS; }
    OUT ~ObjectLocker() { monitor.exit(); STAYS; }
};
static volatile long n;
struct Cache {
    InstrumentedMutex mutex;
    OUT Cache() { STAYS; } // the cache's
    OUT void get() { mutex.Lock(); n = n + 1; usleep(2000); mutex.Unlock(); }
};
struct Log {
    InstrumentedMutex mutex;
    OUT Log() { STAYS; } // the log's
    OUT void write() { mutex.Lock(); n = n + 1; mutex.Unlock(); }
};
struct Shard {
    port::Mutex mutex;
    OUT Shard() { STAYS; } // the shards'
    OUT void put() { mutex.Lock(); n = n + 1; mutex.Unlock(); }
};
static port::Mutex settings;
static pthread_mutex_t table_lock;
static Cache *cache;
static Log *logger;
static Shard *shards;
static Monitor *queue, *names;
OUT static void push() {
    ObjectLocker locker(*queue); // the queue's
    n = n + 1;
}
OUT static void intern() {
    ObjectLocker locker(*names); // the names'
    n = n + 1;
}
OUT static void *work(void *) {
    for (int i = 0; i < 40; i++) {
        cache->get();
        logger->write();
        shards[i % 4].put();
        settings.Lock();
        settings.Unlock();
        pthread_mutex_lock(&table_lock);
        pthread_mutex_unlock(&table_lock);
        push();
        intern();
    }
    return nullptr;
}
int main() {
    pthread_mutex_init(&table_lock, nullptr);
    cache = new Cache;
    logger = new Log;
    shards = new Shard[4];
    queue = new Monitor;
    names = new Monitor;
    pthread_t threads[3];
    for (auto &thread : threads) pthread_create(&thread, nullptr, work, nullptr);
    for (auto &thread : threads) pthread_join(thread, nullptr);
}
"#;

/// A folder with a program and its recording, `p`; `None` without a compiler for it.
fn recorded(compiler: &str, file: &str, source: &str, test: &str) -> Option<tempfile::TempDir> {
    if !baton_needs::has(compiler, test) {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(file), source).unwrap();
    let mut command = Command::new(compiler);
    command.current_dir(folder.path()).args(["-O1", "-g", "-o", "app", file, "-lpthread"]);
    assert!(command.status().unwrap().success());
    let out = baton(folder.path(), &["profile", "-o", "p", "./app"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    Some(folder)
}

fn baton(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(common::installed().join("bin/baton"));
    command.env("NO_COLOR", "1").env_remove("LD_PRELOAD").env("XDG_DATA_HOME", folder).current_dir(folder);
    command.args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(folder: &Path, args: &[&str]) -> Value {
    let out = baton(folder, args);
    assert!(out.status.success(), "{args:?}: {}", text(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("standard output is JSON alone")
}

/// Each class of the recording: how many locks it has, and how often they were taken.
fn classes(folder: &Path) -> BTreeMap<String, (u64, u64)> {
    let report = json(folder, &["report", "p", "--json"]);
    let class = |class: &Value| {
        let figure = |name: &str| class[name].as_u64().unwrap();
        (class["name"].as_str().unwrap().to_owned(), (figure("locks"), figure("acquisitions")))
    };
    report["classes"].as_array().unwrap().iter().map(class).collect()
}

/// Returns how many acquisitions a run serves if it replaces the locks called `name`.
fn served(folder: &Path, name: &str) -> u64 {
    let lock = format!("{name}=mcs");
    let out = baton(folder, &["run", "--lock", &lock, "--stats", "stats", "./app"]);
    let said = text(&out.stderr);
    assert!(out.status.success() && !said.contains("warning"), "{lock}: {said}");
    let stats = std::fs::read_to_string(folder.join("stats")).unwrap();
    let line: Value = serde_json::from_str(stats.lines().last().unwrap()).unwrap();
    line["served"].as_u64().unwrap()
}

/// Returns how many locks a name stands for in `whatif`, and how many times faster the program gets
/// if the sections under these locks take a tenth of their time.
fn shrunk(folder: &Path, name: &str) -> (u64, f64) {
    let shrink = format!("{name}=0.1");
    let said = json(folder, &["whatif", "p", "--shrink", &shrink, "--seeds", "1", "--json"]);
    let count = |note: &Value| {
        let (_, rest) = note.as_str()?.split_once(&format!("{name} stands for "))?;
        rest.split(' ').next()?.parse().ok()
    };
    let locks = said["notes"].as_array().unwrap().iter().find_map(count).unwrap_or(1);
    (locks, said["results"].as_array().unwrap().last().unwrap()["speedup"].as_f64().unwrap())
}

/// `file:LINE` of the line of a program with this text in it.
fn line(file: &str, source: &str, with: &str) -> String {
    let at = source.lines().position(|line| line.contains(with)).unwrap();
    format!("{file}:{}", at + 1)
}

#[test]
fn callers_name_locks_behind_wrappers_and_every_frame_is_an_address() {
    let test = "callers_name_locks_behind_wrappers_and_every_frame_is_an_address";
    let Some(folder) = recorded("c++", "app.cpp", CXX, test) else { return };
    let here = folder.path();
    let at = |with: &str| line("app.cpp", CXX, with);
    let cache = format!("from Cache::Cache ({})", at("the cache's"));
    let shards = format!("from Shard::Shard ({})", at("the shards'"));
    let push = format!("in push ({})", at("the queue's"));
    let log = format!("from Log::Log ({})", at("the log's"));
    let intern = format!("in intern ({})", at("the names'"));
    let alone = |name: &str| (name.to_owned(), (1, 120));
    let mut expected: BTreeMap<String, (u64, u64)> =
        [&*cache, &*log, &*push, &*intern, "settings", "table_lock"].into_iter().map(alone).collect();
    expected.insert(shards.clone(), (4, 120));
    assert_eq!(classes(here), expected);

    let third = format!("{shards} #3");
    for (name, locks, acquisitions) in [
        (cache.as_str(), 1, 120),
        ("Log::Log", 1, 120),
        (&shards, 4, 120),
        (&third, 1, 30),
        (&format!("{shards} except #3"), 3, 90),
        ("settings", 1, 120),
        ("table_lock", 1, 120),
        (&push, 1, 120),
        ("intern", 1, 120),
        // These functions are on the stacks too: between the lock's call and the function that
        // names the lock, or further out.
        ("port::Mutex::Mutex", 7, 480),
        ("InstrumentedMutex::InstrumentedMutex", 2, 240),
        ("ObjectLocker::ObjectLocker", 2, 240),
        ("main", 7, 480),
    ] {
        let (stands_for, gain) = shrunk(here, name);
        assert_eq!(stands_for, locks, "{name}");
        let has_the_cache = name == cache || ["port::", "Instr", "main"].iter().any(|begin| name.starts_with(begin));
        assert!(if has_the_cache { gain > 2.0 } else { gain < 1.3 }, "{name}: {gain}");
        assert_eq!(served(here, name), acquisitions, "{name}");
    }
    let split = format!("Cache::Cache=2,{third}=2");
    json(here, &["whatif", "p", "--split", &split, "--lock", "Log::Log=mcs,default=glibc", "--seeds", "1", "--json"]);

    // A number of a lock that no call initialises follows the order in which threads took the locks
    // in one run, so `run` refuses it.
    let out = baton(here, &["run", "--lock", &format!("{push} except #1=mcs"), "./app"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("in the order in which one run took them first"), "{}", text(&out.stderr));
}

/// In C: `lock_new` calls `lock_init` for the tables and for the log, and `lock_init` is called for a global as well. One of the six
/// tables has nearly all of the waiting.
const C: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#define OUT __attribute__((noinline))
struct lock { pthread_mutex_t m; };
static struct lock registry, *tables[6], *wal;
static volatile long n;
OUT static int lock_init(struct lock *l) { int e = pthread_mutex_init(&l->m, 0); n++; return e; }
OUT static struct lock *lock_new(void) { struct lock *l = malloc(sizeof *l); lock_init(l); n++; return l; }
OUT static void acquire(struct lock *l) { pthread_mutex_lock(&l->m); n++; }
OUT static void release(struct lock *l) { pthread_mutex_unlock(&l->m); __asm__ volatile(""); }
OUT static struct lock *table_open(void) {
    struct lock *l = lock_new(); // a table's
    n++;
    return l;
}
OUT static struct lock *wal_open(void) {
    struct lock *l = lock_new(); // the log's
    n++;
    return l;
}
static void *work(void *x) {
    for (int i = 0; i < 60; i++) {
        struct lock *table = tables[i % 2 ? 4 : i / 2 % 6];
        acquire(table);
        if (table == tables[4]) usleep(1000);
        release(table);
        acquire(wal);
        release(wal);
        acquire(&registry);
        release(&registry);
    }
    return x;
}
int main(void) {
    pthread_t t[3];
    lock_init(&registry);
    for (int i = 0; i < 6; i++) tables[i] = table_open();
    wal = wal_open();
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    return 0;
}
"#;

#[test]
fn a_hot_lock_among_its_sisters_has_a_name_of_its_own() {
    let Some(folder) = recorded("cc", "app.c", C, "a_hot_lock_among_its_sisters_has_a_name_of_its_own") else { return };
    let here = folder.path();
    let tables = format!("from table_open ({})", line("app.c", C, "a table's"));
    let hot = format!("hot one of 6 locks {tables} #5");
    let others = format!("{tables} except #5");
    let wal = format!("from wal_open ({})", line("app.c", C, "the log's"));
    // A thread takes the hot table in half of its 60 turns, and in the other half each of the six
    // tables five times. Three threads make 3 × 35 acquisitions of the hot table and 3 × 25 of the
    // other five.
    let expected = [(&hot, (1, 105)), (&others, (5, 75)), (&wal, (1, 180)), (&"registry".to_owned(), (1, 180))];
    assert_eq!(classes(here), expected.map(|(name, figures)| (name.clone(), figures)).into());
    for (name, (locks, acquisitions)) in expected {
        let (stands_for, gain) = shrunk(here, name);
        assert_eq!(stands_for, locks, "{name}");
        assert!(if *name == hot { gain > 2.0 } else { gain < 1.3 }, "{name}: {gain}");
        assert_eq!(served(here, name), acquisitions, "{name}");
    }
}
