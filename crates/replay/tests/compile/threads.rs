//! Tests what becomes of threads: their number, their CPUs, and when they begin.

use super::{END, SITE, START, acquire, chip, program, release, trace};
use crate::common;
use baton_replay::compile::{Probes, compile};
use baton_replay::program::Op;
use baton_replay::scale::{self, ScaleError};
use baton_replay::{Ask, predict};
use baton_trace::What;

#[test]
fn more_threads_repeat_the_recorded_ones() {
    let mut events = vec![(0, 0, START)];
    for i in 0..2u64 {
        events.push((1, 0, What::Create { site: SITE }));
        events.push((2, 0, What::Created { handle: 10 + i, error: 0 }));
        events.push((3, i as u32 + 1, What::ThreadStart { handle: 10 + i }));
        events.extend([(100 + 50 * i, i as u32 + 1, acquire()), (120 + 50 * i, i as u32 + 1, release())]);
        events.push((300, 0, What::JoinBegin { handle: 10 + i, site: SITE }));
        events.push((301, 0, What::JoinEnd { handle: 10 + i, error: 0 }));
    }
    let program = program(&events);
    let (more, model) = scale::to(program.clone(), 5).unwrap();
    let count = |is: fn(&Op) -> bool| more.threads[0].ops.to_vec().iter().filter(|op| is(op)).count();
    assert_eq!((count(|op| matches!(op, Op::Spawn(_))), count(|op| matches!(op, Op::Join(_)))), (5, 5));
    assert_eq!(more.threads[3].ops, more.threads[1].ops);
    assert!(model.contains("2.5 times the work"), "{model}");
    assert_eq!(scale::to(program.clone(), 1), Err(ScaleError::Fewer { asked: 1, has: 2 }));
    assert_eq!(scale::to(program, 5000), Err(ScaleError::Many(5000)));
    let alone = compile(&trace(&[(0, 0, START), (9, 0, END)]), &chip(), Probes::Kept);
    assert_eq!(scale::to(alone, 2), Err(ScaleError::Alone));
}

#[test]
fn an_empty_trace_is_refused() {
    let ask = Ask::default();
    let refused = predict(&trace(&[]), &chip(), &ask, &|| {}).unwrap_err();
    assert_eq!(refused.to_string(), "the trace is empty: there is nothing to replay");
}

/// The events of two threads that compute for a millisecond each, on the CPUs of the masks `first`
/// and `second`.
fn two_workers(first: &[u64], second: &[u64]) -> Vec<(u64, u32, What)> {
    let mut events = vec![(0, 0, What::ThreadStart { handle: 1 })];
    let mut says = |time, thread, words: &[u64]| {
        events.extend(baton_trace::Affinity::records(0, words).map(|what| (time, thread, what)));
    };
    says(0, 0, &[0b11_0000]);
    says(30, 1, first);
    says(30, 2, second);
    for handle in [2, 3] {
        events.push((10 * handle, 0, What::Create { site: SITE }));
        events.push((10 * handle + 5, 0, What::Created { handle, error: 0 }));
        events.push((30, handle as u32 - 1, What::ThreadStart { handle }));
        events.push((1_000_030, handle as u32 - 1, What::ThreadEnd { handle }));
    }
    for handle in [2, 3] {
        events.push((100 * handle, 0, What::JoinBegin { handle, site: SITE }));
        events.push((1_000_100 + handle, 0, What::JoinEnd { handle, error: 0 }));
    }
    events.push((1_000_200, 0, END));
    events.sort_by_key(|event| event.0);
    events
}

/// CPUs 4 and 5 of the recorded machine become cores 0 and 1. Two threads that may use only one of
/// them take turns on it, even if other cores are idle.
#[test]
fn threads_stay_on_their_cpus() {
    let chip = common::chip(&["core.clock_hz=1000000000", "core.count=4", "core.per_cluster=4"]);
    let run = |events: &[(u64, u32, What)], cpus| {
        let program = std::sync::Arc::new(compile(&trace(events), &chip, Probes::Kept));
        let choice = baton_replay::run::Choice { lock: "futex".into(), wait: baton_machine::Wait::Futex };
        let setup = baton_replay::run::Setup::new(choice, cpus);
        (baton_replay::run::run(&program, &chip, &setup).unwrap().time.0, program)
    };
    let both = [0b11_0000u64];
    let (apart, program) = run(&two_workers(&[1 << 4], &[1 << 5]), 2);
    assert_eq!([0, 1, 2].map(|i| program.threads[i].cpus.clone()), [vec![], vec![0], vec![1]]);
    assert!(program.notes.iter().any(|note| note.starts_with("2 threads were bound")), "{:?}", program.notes);
    let (shared, _) = run(&two_workers(&[1 << 5], &[1 << 5]), 4);
    let (free, program) = run(&two_workers(&both, &both), 2);
    assert!(program.threads.iter().all(|thread| thread.cpus.is_empty()));
    assert!(apart < 1_200_000 && free < 1_200_000, "{apart} apart, {free} free");
    assert!(shared > 1_900_000, "{shared} on one");
    // The recorded program could use two CPUs, so two of the four cores are in use.
    assert_eq!(baton_replay::compile::cpus(&trace(&two_workers(&both, &both)), &chip), 2);
}

#[test]
fn a_handle_of_an_earlier_thread_is_not_the_new_ones() {
    let program = program(&[
        (0, 0, START),
        (5, 1, What::ThreadStart { handle: 7 }),
        (10, 1, What::ThreadEnd { handle: 7 }),
        (20, 0, What::Create { site: SITE }),
        (25, 2, What::ThreadStart { handle: 7 }),
        (30, 0, What::Created { handle: 7, error: 0 }),
        (40, 2, What::ThreadEnd { handle: 7 }),
    ]);
    assert!(program.threads[0].ops.to_vec().contains(&Op::Spawn(2)), "{:?}", program.threads[0].ops.to_vec());
}

#[test]
fn a_thread_that_begins_twice_is_started_once() {
    let mut events = vec![(0, 0, START)];
    for t in [10, 20] {
        events.push((t, 0, What::Create { site: SITE }));
        events.push((t + 1, 1, What::ThreadStart { handle: 5 }));
        events.push((t + 2, 0, What::Created { handle: 5, error: 0 }));
    }
    let program = program(&events);
    assert_eq!(program.threads[0].ops.to_vec().iter().filter(|op| **op == Op::Spawn(1)).count(), 1);
}
