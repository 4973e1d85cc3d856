//! Answers that were wrong once: which section others wait for, who is woken for nothing, and what
//! is a wait for a lock.

use crate::causes::{A, B, BROADCAST, DONE, MORE, OTHER, Run, SITE, US, X, has};
use baton_report::Profile;
use baton_report::model::Report;
use baton_trace::{Lock, What};

/// Thread 0 holds `a_lock` alone at one place for 700 µs. Then all threads hold it by turns, for
/// which the others wait, at another place. The advice names the place that others waited for.
#[test]
fn the_advice_is_on_the_section_that_others_waited_for() {
    let mut run = Run::new();
    run.take(1, 0, A, X, OTHER).give(701, 0, A, X);
    run.take(710, 0, A, X, SITE);
    for thread in 1..4 {
        run.want(711, thread, A, X);
    }
    run.give(810, 0, A, X);
    for thread in 1..4u64 {
        let at = 712 + thread * 100;
        run.got(at, thread as u32, A, X).give(at + 98, thread as u32, A, X);
    }
    let report = run.end(1120);
    let step = report.verdict.next.iter().find(|step| step.text.contains("critical section")).expect("the step");
    assert!(step.text.starts_with("make a_lock's critical section in 0x10 shorter"), "{:?}", report.verdict);
}

/// Thread 0 takes one of many row locks inside of `a_lock`, and no thread waits for a row: to split
/// `a_lock` helps.
#[test]
fn inner_locks_that_nobody_waits_for_do_not_take_the_waits() {
    let mut run = Run::new();
    let row = |turn: u64| Lock::mutex(0x8000 + turn * 64);
    for turn in 0..20u64 {
        let at = 10 + turn * 100;
        run.take(at, 0, A, X, SITE).take(at + 1, 0, row(turn), X, OTHER);
        for thread in 1..4 {
            run.want(at + 2, thread, A, X);
        }
        run.give(at + 90, 0, row(turn), X).give(at + 91, 0, A, X);
        for thread in 1..4 {
            let begin = at + 91 + u64::from(thread) * 2;
            run.got(begin, thread, A, X).give(begin + 1, thread, A, X);
        }
    }
    let verdict = run.end(2100).verdict;
    has(&verdict, "sections", &["inside of a_lock's"]);
    assert!(!verdict.headline.contains("most of that is done under"), "{verdict:?}");
    assert!(
        verdict.next[0].text.starts_with("make a_lock's critical section in 0x10 shorter, or split"),
        "{verdict:?}"
    );
}

/// In each of 20 rounds thread 0 broadcasts, and the three others, which wait with `a_lock`, work
/// under it one after another for `work` µs. Each then gives the lock up, or does so only by waiting
/// again (`keeps`).
fn rounds(work: u64, keeps: bool) -> Report {
    let mut run = Run::new();
    for thread in 1..4 {
        let at = u64::from(thread);
        run.take(at, thread, A, X, SITE).wait(at, thread, MORE);
    }
    let length = 3 * (work + 10) + 100;
    for round in 0..20u64 {
        let at = 100 + round * length;
        run.take(at, 0, A, X, OTHER).at(at, 0, What::CondBroadcast { condition: MORE, site: BROADCAST });
        run.wait(at + 1, 0, DONE);
        for thread in 1..4u64 {
            let begin = at + 10 + (thread - 1) * (work + 10);
            let thread = thread as u32;
            run.wake(begin, thread, MORE);
            if thread == 3 {
                run.at(begin + work, 3, What::CondSignal { condition: DONE, site: OTHER });
            }
            if keeps {
                run.wait(begin + work, thread, MORE);
            } else {
                run.give(begin + work, thread, A, X);
                run.take(at + length - 20, thread, A, X, SITE).wait(at + length - 20, thread, MORE);
            }
        }
        run.wake(at + length - 50, 0, DONE).give(at + length - 49, 0, A, X);
    }
    let end = 100 + 20 * length;
    run.at(end, 0, What::CondBroadcast { condition: MORE, site: BROADCAST });
    for thread in 1..4u64 {
        run.wake(end + thread, thread as u32, MORE).give(end + thread, thread as u32, A, X);
    }
    run.end(end + 10)
}

#[test]
fn work_under_the_mutex_after_a_broadcast_is_sections_of_that_mutex() {
    for keeps in [false, true] {
        let report = rounds(200, keeps);
        has(&report.verdict, "sections", &["inside of a_lock's"]);
        assert!(report.verdict.shares[0].share > 0.5, "{:?}", report.verdict);
        let step = &report.verdict.next[0].text;
        assert!(step.starts_with("make a_lock's critical section in 0x10 shorter"), "{:?}", report.verdict);
        assert!(report.verdict.most_by_lock > 0.0 && report.verdict.most_by_lock < 0.2, "{:?}", report.verdict);
    }
}

#[test]
fn threads_that_work_under_the_mutex_are_not_woken_for_nothing() {
    let report = rounds(40, true);
    let condition = report.waitables.iter().find(|waitable| waitable.name == "more").unwrap();
    assert_eq!((condition.woken, condition.futile), (63, 0));
    let said = format!("{:?}", report.verdict);
    assert!(!said.contains("signal more") && !said.contains("for nothing"), "{said}");
}

/// All threads take `b_lock` by trying again and again, while another holds it for 100 µs.
#[test]
fn a_loop_of_tries_is_a_wait() {
    let mut run = Run::new();
    for turn in 0..29u64 {
        let (at, holder) = (10 + turn * 100, (turn % 4) as u32);
        if turn > 0 {
            for ns in ((at - 99) * US..(at + 1) * US).step_by(500) {
                run.at_ns(ns, holder, What::TryFail { lock: B, mode: X, site: SITE });
            }
        }
        run.take(at + 1, holder, B, X, SITE).give(at + 99, holder, B, X);
    }
    let report = run.end(2_920);
    has(&report.verdict, "sections", &["inside of b_lock's"]);
    let lock = report.locks.iter().find(|lock| lock.name == "b_lock").unwrap();
    assert_eq!((lock.usage.contended, lock.usage.failed_tries), (28, 0));
    assert!(lock.usage.sections_ns.0 > 28 * 90 * US, "{lock:?}");
}

/// Where several threads run, one of them may spin on a variable, which no event shows.
#[test]
fn what_spins_in_code_of_the_programs_own_is_said_not_to_be_seen() {
    let gain = |report: Report| report.verdict.gains[0].clone();
    let several = gain(Run::new().end(1000));
    assert!(several.starts_with("by another lock: nothing that is seen; "), "{several}");
    assert!(several.ends_with("locks that spin in the program's own code are not seen"), "{several}");
    let mut run = Run::new();
    for thread in 1..4 {
        run.at(10, thread, What::ThreadEnd { handle: 100 + u64::from(thread) });
    }
    run.at(1000, 0, What::ThreadEnd { handle: 100 });
    let alone = gain(Profile::of(run.0.build()).report);
    assert!(alone.starts_with("by another lock: nothing; in "), "{alone}");
}
