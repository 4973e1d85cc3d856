//! Tests that the report finds causes which another lock cannot cure: it finds each in a program of
//! `examples/cases`, and does not find it in the cured program.

mod common;
use baton_report::Profile;
use baton_report::model::{Report, Waitable};
use baton_trace::Trace;
use common::{Run, folder};
use std::path::Path;
use std::process::Command;

/// A C program: three readers, which sleep while they hold a reader-writer lock, hold it by turns
/// without a gap, and a writer wants it meanwhile. With CURE, the lock prefers writers.
const READERS: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
static pthread_rwlock_t table_lock;
static void *read_table(void *x) {
    for (int i = 0; i < 100; i++) { pthread_rwlock_rdlock(&table_lock); usleep(500); pthread_rwlock_unlock(&table_lock); }
    return x;
}
static void *write_table(void *x) {
    usleep(5000);
    pthread_rwlock_wrlock(&table_lock);
    pthread_rwlock_unlock(&table_lock);
    return x;
}
int main(void) {
    pthread_t t[4];
    pthread_rwlockattr_t a;
    pthread_rwlockattr_init(&a);
#ifdef CURE
    pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
    pthread_rwlock_init(&table_lock, &a);
    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, i ? read_table : write_table, 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    return 0;
}"#;

/// The report on the program `name` of `examples/cases`, compiled with its cure if `cured`.
fn report(name: &str, cured: bool) -> Report {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = root.join("examples/cases").join(format!("{name}.c"));
    recorded(name, &source, cured)
}

fn recorded(name: &str, source: &Path, cured: bool) -> Report {
    compiled(name, source, cured, "-O2")
}

fn compiled(name: &str, source: &Path, cured: bool, level: &str) -> Report {
    let directory = folder(&format!("causes.{name}.{cured}"));
    let program = directory.join(name);
    let mut cc = Command::new("cc");
    cc.args([level, "-g", "-pthread", "-o"]).arg(&program).arg(source);
    if cured {
        cc.arg("-DCURE");
    }
    assert!(cc.status().expect("a C compiler").success(), "{}", source.display());
    let recorded = directory.join("trace");
    std::fs::create_dir(&recorded).unwrap();
    let ran = Run::of(Command::new(&program), name).set("BATON_TRACE", &recorded).run();
    assert!(ran.output.status.success(), "{name}: {}", ran.output.status);
    let report = Profile::of(Trace::open(&recorded).expect("a trace")).report;
    std::fs::remove_dir_all(&directory).unwrap();
    report
}

fn waitable<'a>(report: &'a Report, name: &str) -> &'a Waitable {
    report.waitables.iter().find(|waitable| waitable.name == name).expect("the object")
}

#[test]
fn a_broadcast_for_one_job_wakes_most_threads_for_nothing() {
    let herd = report("herd", false);
    let condition = waitable(&herd, "work_is_there");
    assert!(condition.futile > 1000 && condition.futile * 2 > condition.woken, "{condition:?}");
    assert!(condition.broadcast_at.as_ref().is_some_and(|at| at.starts_with("hand_out")), "{condition:?}");
    let verdict = &herd.verdict;
    assert!(verdict.gains.iter().any(|gain| gain.contains("each wake-up at work_is_there")), "{verdict:?}");
    let cured = report("herd", true);
    assert_eq!(waitable(&cured, "work_is_there").futile, 0, "the last broadcast ends all workers");
    assert!(cured.critical_path.parts.iter().all(|part| part.kind != "futile-wake-ups"));
}

#[test]
fn threads_that_ask_again_and_again_for_tiles_poll() {
    let polls = |report: &Report| report.sites.iter().map(|site| site.polls).sum::<u64>();
    let polling = report("polling", false);
    assert!(polls(&polling) * 2 > polling.totals.acquisitions, "{:?}", polling.totals);
    let part = polling.critical_path.parts.iter().find(|part| part.kind == "polling").expect("the cost of polling");
    assert_eq!(polling.locks[part.lock.expect("a lock") as usize].name, "tiles_lock");
    assert!(polling.verdict.gains.iter().any(|gain| gain.contains("without polling under tiles_lock")));
    let cured = report("polling", true);
    assert!(cured.critical_path.parts.iter().all(|part| part.kind != "polling"), "{:?}", cured.critical_path.parts);
}

#[test]
fn a_writer_starves_where_readers_are_preferred() {
    let most = |report: &Report| report.classes.iter().map(|class| class.usage.starved.writers.most).max().unwrap();
    let directory = folder("causes.readers");
    let source = directory.join("readers.c");
    std::fs::write(&source, READERS).unwrap();
    // Where other programs use the CPUs, readers may fail to overlap for a whole run.
    let mut runs = (0..5).map(|_| recorded("readers", &source, false));
    let starved = runs.find(|report| most(report) >= 10).expect("a writer that starves in one run of five");
    let verdict = &starved.verdict;
    assert!(verdict.next.iter().any(|step| step.text.contains("PTHREAD_RWLOCK_PREFER_WRITER")), "{verdict:?}");
    let cured = recorded("readers", &source, true);
    assert!(most(&cured) < 10, "{}", most(&cured));
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Whether a report names a loop of this kind in which a thread waits.
fn waits_in(report: &Report, call: &str) -> bool {
    report.critical_path.beside.iter().any(|one| one.call == call)
}

/// Two threads share a lock that spins in the program's own code.
const SPINS: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
static atomic_int lock;
static volatile unsigned long sum;
static void work(int n) { for (int i = 0; i < n; i++) sum += i; }
static void *share(void *x) {
    for (int i = 0; i < 60; i++) {
        while (atomic_exchange(&lock, 1)) __builtin_ia32_pause();
        work(2000000);
        lock = 0;
        work(20000);
    }
    return x;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, share, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
"#;

#[test]
fn a_lock_that_spins_in_the_programs_own_code_is_no_work() {
    let directory = folder("causes.spins");
    let source = directory.join("spins.c");
    std::fs::write(&source, SPINS).unwrap();
    // Where one thread has no CPU for most of the run, it hardly waits for the lock.
    let mut runs = (0..5).map(|_| recorded("spins", &source, false));
    let told = |report: &Report| waits_in(report, "pause") && report.verdict.limit == "cannot-tell";
    let told = runs.find(told).expect("a wait for the lock in one run of five");
    let mut places = told.critical_path.beside.iter().filter(|one| one.again).filter_map(|one| one.at.as_deref());
    assert!(places.any(|place| place.starts_with("share (spins.c:")), "{:?}", told.critical_path.beside);
    std::fs::remove_dir_all(&directory).unwrap();
}

/// A thread waits for a flag in a loop without the instruction `pause`. With CURE, no thread waits: both
/// sum the numbers of an array.
const LOOKS: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
static atomic_int ready;
static long numbers[4096];
static volatile long sums[2];
static void sum(int mine, int rounds) {
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < 4096; i++) sums[mine] += numbers[i];
}
static void *wait_for_it(void *x) {
#ifndef CURE
    while (!atomic_load_explicit(&ready, memory_order_acquire));
#endif
    sum(0, 10000);
    return x;
}
static void *make_it(void *x) {
    sum(1, 20000);
    ready = 1;
    return x;
}
int main(void) {
    pthread_t waits, makes;
    pthread_create(&makes, NULL, make_it, NULL);
    pthread_create(&waits, NULL, wait_for_it, NULL);
    pthread_join(waits, NULL);
    pthread_join(makes, NULL);
    return sums[0] != 0;
}
"#;

#[test]
fn a_loop_that_looks_at_a_flag_is_no_work() {
    let directory = folder("causes.looks");
    let source = directory.join("looks.c");
    std::fs::write(&source, LOOKS).unwrap();
    for level in ["-O0", "-O2"] {
        // Where the thread that waits has no CPU meanwhile, it hardly looks at the flag.
        let mut runs = (0..5).map(|_| compiled("looks", &source, false, level));
        let told = runs.find(|report| waits_in(report, "loop")).expect("a wait for the flag in one run of five");
        let at = told.critical_path.beside.iter().find(|one| one.call == "loop").unwrap();
        assert!(at.at.as_ref().is_some_and(|at| at.starts_with("wait_for_it (looks.c:")), "{at:?}");
        assert!(at.instructions.is_some_and(|count| count < 12), "{at:?}");
        // Threads that are mostly without a CPU may limit the run more.
        let verdict = &told.verdict;
        let says = verdict.headline.contains("goes round until another thread writes to a variable");
        assert_eq!(says, verdict.limit == "cannot-tell", "{verdict:?}");
        let works = compiled("looks", &source, true, level);
        assert!(works.critical_path.beside.iter().all(|one| !one.again), "{level}: {:?}", works.critical_path.beside);
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn what_is_done_under_an_inner_lock_is_told() {
    let nested = report("nested", false);
    let name = |lock: u32| nested.locks[lock as usize].name.as_str();
    let part = nested.critical_path.nested.first().expect("nested sections on the path");
    assert_eq!((name(part.outer), name(part.inner)), ("index_lock", "pages_lock"));
    // The step that shortens a section begins with the word "make". There is none if other programs
    // took the CPUs during the recording: the report then only advises to record again.
    let steps = nested.verdict.next.iter().filter(|step| step.text.starts_with("make "));
    for step in steps {
        assert!(step.text.contains("make pages_lock's critical section in write_page"), "{step:?}");
    }
}

#[test]
fn a_lock_that_one_thread_takes_is_named_nowhere() {
    let alone = report("alone", false);
    assert!(alone.critical_path.parts.iter().any(|part| part.kind == "critical-section"), "it is taken");
    let verdict = &alone.verdict;
    assert!(verdict.gains.iter().all(|gain| !gain.contains("process_lock")), "{verdict:?}");
    assert!(verdict.next.iter().all(|step| !step.text.contains("process_lock")), "{verdict:?}");
}
