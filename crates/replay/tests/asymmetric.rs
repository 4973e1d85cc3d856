//! Tests replays of a recording on fast and slow cores: slow cores stretch what threads compute,
//! and a policy decides which threads get the fast cores.

mod common;

use baton_machine::Wait;
use baton_replay::asymmetric::{Asymmetric, NoPolicy, OnCores, Shape};
use baton_replay::predict::{PredictError, Predicted};
use baton_replay::run::Choice;
use baton_replay::variant::{Variant, Variants};
use baton_replay::{Ask, predict};
use baton_trace::Trace;
use common::{Work, record};

const CORES: [&str; 2] = ["core.count=5", "core.per_cluster=5"];

/// Records threads that compute nearly all the time, and seldom meet at the lock.
fn computing(threads: u32) -> Trace {
    let work = Work { threads, rounds: 200, think: 50_000, critical: 100, lines: 0, sleep: None };
    record(&common::chip(&CORES), work, 1).0
}

fn ask(trace: &Trace, ratio: f64, policies: &[&str]) -> Result<Vec<Predicted>, PredictError> {
    ask_of(trace, ratio, 0.0, policies)
}

fn ask_of(trace: &Trace, ratio: f64, memory_bound: f64, policies: &[&str]) -> Result<Vec<Predicted>, PredictError> {
    let policies = policies.iter().map(|&policy| policy.to_owned()).collect();
    let variants = Variants::Cores(Asymmetric { shape: Shape { fast: 1, slow: 4 }, ratio, policies, memory_bound });
    let choices = vec![Choice { lock: "futex".into(), wait: Wait::Futex }];
    let ask = Ask { choices, variants, ..Ask::default() };
    predict(trace, &common::chip(&CORES), &ask, &|| {}).map(|prediction| prediction.results)
}

fn cores(row: &Predicted) -> &OnCores {
    match &row.variant {
        Some(Variant::Asymmetric(cores)) => cores,
        other => panic!("{other:?}"),
    }
}

#[test]
fn slow_cores_stretch_what_is_computed() {
    let trace = computing(5);
    let [equal, slow] = [1.0, 2.0].map(|ratio| ask(&trace, ratio, &["amp-default"]).unwrap());
    assert_eq!(equal[0].time_ns, slow[0].time_ns, "the recorded lock's cores are all fast");
    let stretched = slow[1].concurrent_ns.median as f64 / equal[1].concurrent_ns.median as f64;
    assert!((1.95..2.01).contains(&stretched), "{stretched}");
}

/// Each policy has a row for both ends of the range, 0 and 0.5 of the computing waiting for memory,
/// and is compared with the first policy's row at the same end. At 0.5, slow cores of half the
/// clock stretch the time to 1.5.
#[test]
fn computing_that_waits_for_memory_loses_nothing_on_slow_cores() {
    let trace = computing(5);
    let policies = ["amp-default", "busy-fcs"];
    let rows = ask_of(&trace, 2.0, 0.5, &policies).unwrap();
    let shares: Vec<(&str, f64)> =
        rows[1..].iter().map(|row| (cores(row).policy.as_str(), cores(row).memory_bound)).collect();
    assert_eq!(shares, [("amp-default", 0.0), ("amp-default", 0.5), ("busy-fcs", 0.0), ("busy-fcs", 0.5)]);
    let less = [1, 2, 3, 4].map(|at: usize| cores(&rows[at]).less_time.is_some());
    assert_eq!(less, [false, false, true, true]);
    let (all_fast, half) = (rows[0].concurrent_ns.median, rows[2].concurrent_ns.median);
    let stretched = half as f64 / all_fast as f64;
    assert!((1.46..1.52).contains(&stretched), "{stretched}");
    // The rows for 0 are the same, whatever the other end of the range is.
    let alone = ask(&trace, 2.0, &policies).unwrap();
    assert_eq!((&alone[1].by_seed_ns, &alone[2].by_seed_ns), (&rows[1].by_seed_ns, &rows[3].by_seed_ns));
    let whole = ask_of(&trace, 2.0, 1.0, &policies).unwrap();
    let stretched = whole[2].concurrent_ns.median as f64 / all_fast as f64;
    assert!((0.99..1.02).contains(&stretched), "{stretched}");
}

#[test]
fn a_policy_that_keeps_fast_cores_busy_gives_them_to_a_thread_that_is_alone() {
    let rows = ask(&computing(1), 3.0, &["amp-default", "busy-fcs"]).unwrap();
    assert_eq!(rows.len(), 3);
    let [first, second] = [cores(&rows[1]), cores(&rows[2])];
    assert_eq!((first.policy.as_str(), second.policy.as_str()), ("amp-default", "busy-fcs"));
    assert!(first.less_time.is_none() && first.less_overhead.is_none());
    let (fast, slow) = (second.placed.fast_cycles, second.placed.slow_cycles);
    assert!(fast > 9 * slow, "{fast} {slow}");
    let gain = 1.0 - rows[2].time_ns.median as f64 / rows[1].time_ns.median as f64;
    assert!((second.less_time.unwrap().median - 100.0 * gain).abs() < 1.0);
}

/// The thread that computes begins on the fast core with one of the first five seeds, as there are
/// five cores, and on a slow one with the others. So the range of what a policy gains has both ends:
/// nothing, and half of the time.
#[test]
fn each_seed_lets_another_thread_begin_on_the_fast_core() {
    let trace = computing(1);
    let policies = ["amp-default".to_owned(), "busy-fcs".to_owned()].into();
    let shape = Shape { fast: 1, slow: 4 };
    let variants = Variants::Cores(Asymmetric { shape, ratio: 2.0, policies, memory_bound: 0.0 });
    let choices = vec![Choice { lock: "futex".into(), wait: Wait::Futex }];
    let ask = Ask { choices, variants, seeds: 6, ..Ask::default() };
    let rows = predict(&trace, &common::chip(&CORES), &ask, &|| {}).unwrap().results;
    let times = &rows[1].by_seed_ns;
    let most = *times.iter().max().unwrap() as f64;
    let fast: Vec<bool> = times.iter().map(|&ns| (ns as f64) < 0.55 * most).collect();
    assert_eq!(fast[..5].iter().filter(|&&fast| fast).count(), 1, "{times:?}");
    assert_eq!(fast[5], fast[0], "the sixth seed begins as the first one: {times:?}");
    let less = cores(&rows[2]).less_time.unwrap();
    assert!(less.low.abs() < 1.0 && less.high > 45.0, "{less:?}");
}

#[test]
fn what_cannot_be_asked_is_told() {
    let trace = computing(1);
    let static_ipc = PredictError::Asymmetric(Box::new(NoPolicy::SpeedUps("static-ipc".to_owned())));
    assert_eq!(ask(&trace, 2.0, &["static-ipc"]).unwrap_err(), static_ipc);
    let unknown = ask(&trace, 2.0, &["fastest"]).unwrap_err().to_string();
    assert!(unknown.contains("os.scheduler") && unknown.contains("fastest"), "{unknown}");
    for text in ["", "4", "0+4", "1+", "1+x", "1+1025", "1-4"] {
        assert!(text.parse::<Shape>().unwrap_err().contains("expected FAST+SLOW"), "{text}");
    }
    assert_eq!("4 + 12".parse(), Ok(Shape { fast: 4, slow: 12 }));
}
