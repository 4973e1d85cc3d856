//! Locks that threads take very often and hardly ever wait for.

use super::causes::{Run, SITE, has};
use baton_report::model::Verdict;
use baton_trace::{Lock, Mode, What};

const CONFIG: Lock = Lock::rwlock(0x9000);

/// Two threads read under `config_lock`: the first `times` times, the second `others` times, one time after the other
/// every `every` ns.
fn readers(times: u64, others: u64, every: u64) -> Verdict {
    let mut run = Run::new();
    run.0.name_object(CONFIG.address, "config_lock");
    for time in 0..times {
        for thread in 0..2 {
            if thread == 0 || time < others {
                let at = time * every + u64::from(thread) * 10;
                run.at_ns(at, thread, What::Acquire { lock: CONFIG, mode: Mode::Shared, site: SITE });
                run.at_ns(at + 20, thread, What::Release { lock: CONFIG, mode: Mode::Shared, site: SITE });
            }
        }
    }
    run.end(times * every / 1000 + 1).verdict
}

const CANNOT: &str = "by another lock, or fewer acquisitions: cannot tell; config_lock was taken ";

#[test]
fn a_lock_that_is_taken_very_often_leaves_the_limit_open() {
    let verdict = readers(1000, 1000, 100);
    has(&verdict, "cannot-tell", &["config_lock was taken 2.00k times by 2 threads, by each every 105ns"]);
    assert!(verdict.gains[0].starts_with(CANNOT), "{verdict:?}");
    assert!(verdict.next.iter().any(|step| step.text.starts_with("take config_lock less often")), "{verdict:?}");
}

#[test]
fn a_lock_that_is_taken_often_is_mentioned() {
    let verdict = readers(1000, 1000, 500);
    has(&verdict, "running", &["own work limits it"]);
    assert!(verdict.gains[0].starts_with(CANNOT), "{verdict:?}");
}

#[test]
fn a_lock_that_is_taken_seldom_or_by_one_thread_is_not_mentioned() {
    for verdict in [readers(1000, 1000, 2000), readers(1000, 10, 100)] {
        has(&verdict, "running", &[]);
        assert!(!format!("{verdict:?}").contains("fewer acquisitions"), "{verdict:?}");
    }
}
