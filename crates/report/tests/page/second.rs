//! The second cause of a verdict.

use super::causes::{A, B, Run, SITE, US, X, has};
use super::schema;
use baton_report::terminal::{self, Style};
use baton_report::{Profile, export, html};
use baton_trace::{OffReason, What};

/// Thread 0 works for 100 µs and holds `a_lock` for `held` µs, while thread 1 waits for it.
fn works_and_holds(held: u64) -> Profile {
    let mut run = Run::new();
    run.take(100, 0, A, X, SITE).want(101, 1, A, X);
    run.give(100 + held, 0, A, X).got(101 + held, 1, A, X).give(102 + held, 1, A, X);
    run.profile(102 + held)
}

#[test]
fn a_second_cause_is_named_if_it_takes_nearly_as_much() {
    let profile = works_and_holds(90);
    let report = &profile.report;
    let verdict = &report.verdict;
    has(verdict, "running", &["own work limits it: 54.", " Nearly as much: a_lock's critical sections, 45.9%."]);
    let second = verdict.second.as_ref().expect("a second cause");
    assert_eq!((second.limit.as_str(), second.total_ns.0), ("sections", 90 * US));
    let told = terminal::summary(report, Style::default());
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = "Nearly as much: a_lock's critical sections, 45.9%";
    assert!(told.contains(sentence), "{told}");
    assert!(html::page(&profile, &[]).contains(sentence), "the page has the verdict");
    let mut json = Vec::new();
    export::write_json(&profile, &mut json).expect("memory takes everything");
    let schema = serde_json::from_str(include_str!("../../../../docs/schema/report.schema.json")).expect("JSON");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(schema::violations(&schema, &json), Vec::<String>::new());
    assert_eq!(json["verdict"]["second"]["limit"], "sections");
}

#[test]
fn a_cause_that_takes_less_than_four_fifths_is_not_named() {
    // The program's own work takes 6 µs more.
    for (held, named) in [(86, true), (84, false)] {
        let verdict = works_and_holds(held).report.verdict;
        has(&verdict, "running", &[]);
        assert_eq!((verdict.second.is_some(), verdict.headline.contains("Nearly")), (named, named), "{verdict:?}");
    }
}

/// Thread 0 works for 100 µs, holds `a_lock` for 50 µs and `b_lock` for 40 µs, while thread 1 waits for them.
#[test]
fn sections_of_several_locks_count_together() {
    let mut run = Run::new();
    run.take(100, 0, A, X, SITE).want(101, 1, A, X).give(150, 0, A, X).got(151, 1, A, X).give(151, 1, A, X);
    run.take(152, 0, B, X, SITE).want(153, 1, B, X).give(192, 0, B, X).got(193, 1, B, X).give(193, 1, B, X);
    let verdict = run.end(193).verdict;
    has(&verdict, "running", &["Nearly as much: critical sections, 45.7%, of which 25.4% inside of a_lock's."]);
}

/// The path is the thread's own work to 54%, and the thread is blocked for the rest.
#[test]
fn own_work_is_no_second_cause_if_the_first_is_not_known() {
    let mut run = Run::new();
    run.at(1, 0, What::OnCpu { tid: 0, cpu: 0 });
    run.at(50, 0, What::OffCpu { tid: 0, reason: OffReason::Blocked }).at(95, 0, What::OnCpu { tid: 0, cpu: 0 });
    let verdict = run.end(100).verdict;
    has(&verdict, "cannot-tell", &["Cannot tell"]);
    assert!(verdict.second.is_none() && !verdict.headline.contains("Nearly"), "{verdict:?}");
}
