//! A recording is replayed on fast and slow cores: slow ones stretch what is computed, and a policy decides who gets the fast ones.

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

/// Threads that compute, and hardly meet.
fn computing(threads: u32) -> Trace {
    let work = Work { threads, rounds: 200, think: 50_000, critical: 100, lines: 0, sleep: None };
    record(&common::chip(&CORES), work, 1).0
}

fn ask(trace: &Trace, ratio: f64, policies: &[&str]) -> Result<Vec<Predicted>, PredictError> {
    let policies = policies.iter().map(|&policy| policy.to_owned()).collect();
    let variants = Variants::Cores(Asymmetric { shape: Shape { fast: 1, slow: 4 }, ratio, policies });
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
