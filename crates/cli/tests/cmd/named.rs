//! Locks by name: in `run`, `whatif` and `try`, on a program with two globals and a mutex on the heap.

use crate::{common, schema};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Two threads take `hot` 3000 times each, `cold` 500 times, and one that `make` initialises 250 times.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER, cold = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *made;
static long n;
__attribute__((noinline)) static void make(void) {
    made = malloc(sizeof *made);
    pthread_mutex_init(made, 0); /* made here */
    n++;
}
__attribute__((noinline)) static void idle(void) { n++; }
static void take(pthread_mutex_t *m, int times) {
    for (int i = 0; i < times; i++) { pthread_mutex_lock(m); n++; pthread_mutex_unlock(m); }
}
static void *work(void *x) { take(&hot, 3000); take(&cold, 500); take(made, 250); return x; }
int main(void) {
    pthread_t t[2];
    make();
    idle();
    for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}"#;

/// A folder with the program, `two`, and its recording, `before`.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<&Path> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = common::lasting();
        common::compiled(folder, "two", PROGRAM, &[]);
        // On a busy machine a worker may end so soon after its joiner came that it looks like a background thread.
        let is_whole = |_| {
            let out = baton_in(folder, &["profile", "--force", "-o", "before", "./two"]);
            assert!(out.status.success(), "{}", text(&out.stderr));
            let report: Value =
                serde_json::from_slice(&baton_in(folder, &["report", "before", "--json"]).stdout).unwrap();
            report["background"].as_array().expect("a list").is_empty()
        };
        assert!((0..5).any(is_whole), "each recording has a background thread");
        folder
    })
}

fn baton_in(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(common::installed().join("bin/baton"));
    command.env("NO_COLOR", "1").env_remove("LD_PRELOAD").env("XDG_DATA_HOME", folder).current_dir(folder);
    command.args(args).output().unwrap()
}

fn baton(args: &[&str]) -> Output {
    baton_in(folder(), args)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The line of the program with this text in it, as `two.c:LINE`.
fn line(with: &str) -> String {
    let at = PROGRAM.lines().position(|line| line.contains(with)).unwrap();
    format!("two.c:{}", at + 1)
}

#[test]
fn run_replaces_the_mutexes_that_are_named() {
    let made = line("made here");
    for (lock, served, of_glibc) in [
        ("hot=mcs".to_owned(), 6000, 1500),
        ("hot=mcs,cold=ticket:futex,default=glibc".to_owned(), 7000, 500),
        ("make=clh".to_owned(), 500, 7000),
        (format!("{made}=mcs"), 500, 7000),
        (format!("from make ({made})=mcs,hot=glibc,default=spin-park"), 1500, 6000),
    ] {
        let stats = tempfile::NamedTempFile::new().unwrap();
        let out = baton(&["run", "--lock", &lock, "--stats", stats.path().to_str().unwrap(), "./two"]);
        let said = text(&out.stderr);
        assert!(out.status.success() && !said.contains("warning"), "{lock}: {said}");
        let line: Value = serde_json::from_slice(&std::fs::read(stats.path()).unwrap()).unwrap();
        let counts = (line["served"].as_u64(), line["passed_through"]["glibc"].as_u64());
        assert_eq!(counts, (Some(served), Some(of_glibc)), "{lock}: {line}");
    }
}

/// Two threads call `Cache::get`, into which the compiler puts the standard library's lock, 1000 times each, and lock a mutex of a
/// namespace without a name 300 times.
const CXX: &str = r#"
#include <mutex>
#include <thread>
namespace { std::mutex quiet; long n; }
struct Cache {
    std::mutex lock;
    long hits = 0;
    void get() {
        std::lock_guard<std::mutex> guard(lock); // taken here
        hits++;
    }
};
static void work(Cache *cache) {
    for (int i = 0; i < 1000; i++) cache->get();
    for (int i = 0; i < 300; i++) { std::lock_guard<std::mutex> guard(quiet); n++; }
}
int main() {
    Cache *cache = new Cache;
    std::thread a(work, cache), b(work, cache);
    a.join();
    b.join();
}"#;

#[test]
fn run_finds_what_the_compiler_has_put_into_other_functions() {
    if !baton_needs::has("c++", "run_finds_what_the_compiler_has_put_into_other_functions") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cache.cpp"), CXX).unwrap();
    let mut compiler = Command::new("c++");
    compiler.current_dir(folder.path()).args(["-std=c++17", "-O2", "-g", "-o", "cache", "cache.cpp", "-lpthread"]);
    assert!(compiler.status().unwrap().success());
    let taken = CXX.lines().position(|line| line.contains("taken here")).unwrap() + 1;
    for (name, served) in
        [(format!("cache.cpp:{taken}"), 2000), ("Cache::get".into(), 2000), ("get".into(), 2000), ("quiet".into(), 600)]
    {
        let lock = format!("{name}=mcs");
        let out = baton_in(folder.path(), &["run", "--lock", &lock, "--stats", "stats", "./cache"]);
        assert!(out.status.success(), "{lock}: {}", text(&out.stderr));
        let stats = std::fs::read_to_string(folder.path().join("stats")).unwrap();
        let line: Value = serde_json::from_str(stats.lines().last().unwrap()).unwrap();
        assert_eq!(line["served"].as_u64(), Some(served), "{lock}: {line}");
    }
}

#[test]
fn run_tells_names_without_a_mutex_and_refuses_unknown_ones() {
    let out = baton(&["run", "--lock", "hot=mcs,idle=ticket", "./two"]);
    let said = text(&out.stderr);
    assert!(
        out.status.success() && said.contains("no mutex of the program is called idle: nothing was replaced"),
        "{said}"
    );
    for (lock, says) in [
        ("hit=mcs", "`hit`: no global, function or line of this name in"),
        ("hot=msc", "unknown lock `msc`"),
        ("hot=mcs:paus", "unknown wait policy `paus`"),
        ("hot=mcs,hot=clh", "`hot` is named twice"),
        ("hot=", "expected NAME=LOCK"),
    ] {
        let out = baton(&["run", "--lock", lock, "./two"]);
        assert_eq!(out.status.code(), Some(2), "{lock}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(says), "{lock}: {}", text(&out.stderr));
    }
}

#[test]
fn whatif_has_a_row_for_each_change_and_says_what_it_assumes() {
    let asked = ["whatif", "before", "--seeds", "1", "--lock", "hot=mcs,default=glibc", "--shrink", "hot=2x,cold=0.5"];
    let out = baton(&[&asked[..], &["--split", "hot=16", "--rw", "make=90%", "--json"]].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    let said: Value = serde_json::from_slice(&out.stdout).unwrap();
    let rows: Vec<&str> = said["results"].as_array().unwrap().iter().map(|row| row["lock"].as_str().unwrap()).collect();
    assert_eq!(rows, ["futex", "hot=mcs", "shrink hot=2x,cold=0.5", "split hot=16", "rw make=90%"]);
    let acquisitions = said["results"].as_array().unwrap().iter().map(|row| row["acquisitions"].as_u64().unwrap());
    assert!(acquisitions.clone().all(|n| n == 7500), "{:?}", acquisitions.collect::<Vec<_>>());
    let notes = said["notes"].to_string();
    for assumed in [
        "hot=mcs: all other locks are futex",
        "what threads do under hot takes 0.5 times as long",
        "what threads do under cold takes 0.5 times as long",
        "accesses fall evenly on the 16 parts of hot, and each needs only one part",
        "90% of the holds of make, drawn by the seed, only read",
    ] {
        assert!(notes.contains(assumed), "{assumed}: {notes}");
    }
    // No chip is named, and there is no calibration here.
    let unmeasured = "what locks and wake-ups cost on this machine was never measured";
    assert!(said["trustworthy"] == false && said["reasons"].to_string().contains(unmeasured), "{}", said["reasons"]);
    let sample = common::root().join("chips/sample-host.toml");
    let named = ["whatif", "before", "--seeds", "1", "--lock", "mcs", "--json", "--chip", sample.to_str().unwrap()];
    assert!(!text(&baton(&named).stdout).contains(unmeasured), "the user chose what a lock costs");

    let table = text(&baton(&asked).stdout);
    assert!(table.contains("\nnot trustworthy: "), "{table}");
    let sentences = table.lines().skip_while(|line| !line.starts_with("not trustworthy:"));
    let longest = sentences.take_while(|line| !line.is_empty()).map(|line| line.chars().count()).max();
    assert!(longest <= Some(80), "{table}");
    assert!(
        table.contains("\nshrink hot=2x,cold=0.5  ") && table.contains("note: hot=mcs: all other locks"),
        "{table}"
    );
}

#[test]
fn whatif_runs_the_program_and_says_how_far_off_it_is() {
    let sample = std::fs::read_to_string("../../chips/sample-host.toml").unwrap();
    let here = sample.replacen("name = \"sample-host\"", "name = \"this-host\"", 1);
    std::fs::write(folder().join("here.toml"), here).unwrap();
    let asked = ["whatif", "before", "--chip", "here.toml", "--lock", "mcs", "--seeds", "1", "--check", "3"];
    let out = baton(&[&asked[..], &["--json"]].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    let said: Value = serde_json::from_slice(&out.stdout).expect("standard output is JSON alone");
    let schema = serde_json::from_str(include_str!("../../../../docs/schema/whatif.schema.json")).unwrap();
    assert_eq!(schema::violations(&schema, &said), Vec::<String>::new(), "{said}");
    let (alone, own) = (&said["alone"], &said["results"][0]["time_ns"]["median"]);
    assert!(alone["runs"] == 3 && &alone["foretold_ns"] == own, "{said}");
    let table = baton(&asked);
    assert!(text(&table.stdout).contains("\nwithout recording: foretold "), "{}", text(&table.stdout));
    // Another machine's times say nothing of runs on this one.
    let ocor64 = std::path::absolute("../../chips/ocor64.toml").unwrap();
    let out = baton(&["whatif", "before", "--chip", ocor64.to_str().unwrap(), "--check", "3"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("chip `ocor64` stands for another"), "{}", text(&out.stderr));
}

#[test]
fn whatif_refuses_unknown_names_and_values_that_cannot_be() {
    for (option, value, says) in [
        ("--lock", "hto=mcs", "no lock `hto` in the recording; it has `hot`, "),
        ("--lock", "hot=msc", "unknown lock `msc`"),
        ("--shrink", "hot", "--shrink hot: expected NAME=a factor from 0 to 100"),
        ("--shrink", "hot=-1", "expected NAME=a factor from 0 to 100"),
        ("--split", "hot=1", "expected NAME=a number from 2 to 1024"),
        ("--rw", "hot=1.5", "expected NAME=a share from 0 to 1"),
        ("--rw", "nothing=0.5", "no lock `nothing` in the recording; it has "),
        ("--split", "hot=2,hot=3", "name the same lock"),
    ] {
        let out = baton(&["whatif", "before", option, value]);
        assert_eq!(out.status.code(), Some(2), "{option} {value}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(says), "{option} {value}: {}", text(&out.stderr));
    }
    let out = baton(&["whatif", "before", "--split", "hot=2", "--wait", "spin"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("--lock cache_lock=mcs:futex"), "{}", text(&out.stderr));
}

#[test]
fn whatif_says_that_cores_are_left_without_use() {
    let asked = ["whatif", "before", "--lock", "mcs", "--seeds", "1", "--cores", "64"];
    let says = "CPUs, and the replay uses as many of the 64 that chip";
    let said = text(&baton(&asked).stderr);
    assert!(said.contains(says) && said.contains("--cpus 64 uses all of them"), "{said}");
    let said = text(&baton(&[&asked[..], &["--cpus", "64"]].concat()).stderr);
    assert!(!said.contains("--cpus 64 uses all"), "{said}");
}

/// Fast and slow cores are a question about policies: without `--lock` only the recorded lock has
/// rows. The policy that the others are compared with has no remark that it moved no thread.
#[test]
fn whatif_on_fast_and_slow_cores_replays_the_recorded_lock_alone() {
    let asked = ["whatif", "before", "--asymmetric", "1+1", "--policy", "amp-default,pa", "--seeds", "2"];
    let out = text(&baton(&asked).stdout);
    let rows: Vec<&str> = out.lines().filter(|line| line.starts_with("futex ")).collect();
    assert_eq!(rows.len(), 5, "the recorded lock, and two policies at two shares: {out}");
    assert!(rows[1..3].iter().all(|row| row.contains("amp-default") && !row.contains("moved")), "{out}");
    assert!(out.contains("each seed lets another thread begin on a fast core"), "{out}");
}

#[test]
fn try_measures_what_it_was_told() {
    let asked = ["try", "--lock", "hot=spin-park,make=mcs,default=glibc", "--budget", "500ms", "--json", "before"];
    let out = baton(&asked);
    // Which one is faster is the machine's affair.
    assert!(matches!(out.status.code(), Some(0 | 3)), "{}", text(&out.stderr));
    let answer: Value = serde_json::from_slice(&out.stdout).unwrap();
    let measured: Vec<&str> =
        answer["measured"].as_array().unwrap().iter().map(|one| one["lock"].as_str().unwrap()).collect();
    assert_eq!(measured, ["glibc", "hot=spin-park,make=mcs,default=glibc"], "{answer}");
    if answer["answer"] == "use" {
        let run = answer["run"].as_str().unwrap();
        assert!(run.starts_with("baton run --lock hot=spin-park,make=mcs,default=glibc -- "), "{run}");
    }
}
