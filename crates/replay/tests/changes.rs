//! Tests changes to locks, on recordings for which the answer can be calculated: two threads on two
//! CPUs, with all time under one lock.

mod common;

use baton_chip::Chip;
use baton_machine::Wait;
use baton_replay::change::{Change, ChangeError, Life, Part, Treatment};
use baton_replay::predict::{PredictError, Predicted};
use baton_replay::run::Choice;
use baton_replay::{Ask, Prediction, predict};
use baton_trace::{
    Address, Clock, How, Lock, Meta, Mode, ProcessIndex, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, What,
};

const A: Address = 0x1000;
const B: Address = 0x2000;
const ROUNDS: u64 = 100;
/// Length of a hold in nanoseconds. What the lock itself costs is negligible beside it.
const HOLD: u64 = 1_000_000;

fn chip() -> Chip {
    common::chip(&["core.clock_hz=1000000000", "noise.start=0", "noise.latency=0"])
}

fn push(trace: &mut TraceBuilder, time: u64, thread: u32, what: What) {
    trace.push(Ticks(time), ThreadIndex(thread), what);
}

/// A recording of two threads that hold locks: thread n takes `locks[n]`. If both take the same
/// lock, each waits while the other holds it; if they take two locks, neither ever waits.
fn recorded(locks: [Address; 2]) -> Trace {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    let (mode, site) = (Mode::Exclusive, SiteId(1));
    let shared = locks[0] == locks[1];
    for thread in 0..2 {
        push(&mut trace, u64::from(thread), thread, What::ThreadStart { handle: 1 + u64::from(thread) });
    }
    if shared {
        // Thread 1 asks for the lock 20 µs after thread 0 has taken it.
        push(&mut trace, 20_000, 1, What::Request { lock: Lock::mutex(A), mode, site });
    }
    for round in 0..ROUNDS {
        for thread in 0..2u32 {
            let lock = Lock::mutex(locks[thread as usize]);
            let turn = if shared { 2 * round + u64::from(thread) } else { round };
            let (from, to) = (10 + turn * HOLD, 10 + (turn + 1) * HOLD - 2);
            let at_once = !shared || turn == 0;
            let what = match at_once {
                true => What::Acquire { lock, mode, site },
                false => What::Acquired { lock, mode, how: How::OPAQUE },
            };
            push(&mut trace, from, thread, what);
            push(&mut trace, to, thread, What::Release { lock, mode, site });
            if shared && round + 1 < ROUNDS {
                push(&mut trace, to + 1, thread, What::Request { lock, mode, site });
            }
        }
    }
    let end = 10 + 2 * ROUNDS * HOLD;
    for thread in 0..2 {
        push(&mut trace, end, thread, What::ThreadEnd { handle: 1 + u64::from(thread) });
    }
    trace.build()
}

fn life(address: Address) -> Life {
    Life { process: ProcessIndex(0), address, time: Ticks(0)..Ticks(u64::MAX) }
}

fn change(text: &str, address: Address, treatment: Treatment) -> Change {
    let part = Part { name: "lock".into(), locks: vec![life(address)], treatment };
    Change { text: text.into(), parts: vec![part], ..Change::default() }
}

fn choice(lock: &str, wait: Wait) -> Choice {
    Choice { lock: lock.into(), wait }
}

fn asked(trace: &Trace, choices: Vec<Choice>, changes: Vec<Change>) -> Result<Prediction, PredictError> {
    let ask = Ask { choices, changes, seeds: 3, cpus: Some(2), ..Ask::default() };
    predict(trace, &chip(), &ask, &|| {})
}

/// Returns a row's time divided by the recorded lock's time.
fn share(prediction: &Prediction, row: usize) -> f64 {
    prediction.results[row].time_ns.median as f64 / prediction.results[0].time_ns.median as f64
}

/// Returns a row without its name and its wait policy.
fn figures(row: &Predicted) -> Predicted {
    Predicted { lock: String::new(), wait: String::new(), ..row.clone() }
}

#[test]
fn half_a_section_takes_half_the_time_and_none_takes_next_to_nothing() {
    let trace = recorded([A, A]);
    let changes = [1.0, 0.5, 2.0, 0.0].map(|factor| change(&format!("x{factor}"), A, Treatment::Shrink(factor)));
    let prediction = asked(&trace, Vec::new(), changes.into()).unwrap();
    let own = prediction.results[0].time_ns.median as f64;
    assert!((own / (2 * ROUNDS * HOLD) as f64 - 1.0).abs() < 0.02, "all time is under the lock: {own}");
    assert_eq!(figures(&prediction.results[1]), Predicted { recorded: false, ..figures(&prediction.results[0]) });
    for (row, expected) in [(2, 0.5), (3, 2.0)] {
        assert!((share(&prediction, row) - expected).abs() < 0.02, "{row}: {}", share(&prediction, row));
    }
    assert!(share(&prediction, 4) < 0.05, "{}", share(&prediction, 4));
    assert!(
        prediction.notes[1].contains("x0.5: what threads do under lock takes 0.5 times as long"),
        "{:?}",
        prediction.notes
    );
}

#[test]
fn a_lock_split_often_enough_excludes_no_thread() {
    let trace = recorded([A, A]);
    let changes = [2, 1024].map(|ways| change("split", A, Treatment::Split(ways)));
    let prediction = asked(&trace, Vec::new(), changes.into()).unwrap();
    // With 1,024 parts, the two threads draw the same part once in 1,024 times, so they run side by
    // side; with two parts, they draw the same part half of the time.
    assert!((share(&prediction, 2) - 0.5).abs() < 0.02, "{}", share(&prediction, 2));
    assert!((0.55..0.95).contains(&share(&prediction, 1)), "{}", share(&prediction, 1));
    let acquisitions: Vec<u64> = prediction.results.iter().map(|row| row.counts.acquisitions).collect();
    assert_eq!(acquisitions, [2 * ROUNDS; 3]);
    assert_ne!(prediction.results[1].by_seed_ns[0], prediction.results[1].by_seed_ns[1], "drawn by the seed");
}

#[test]
fn readers_share_a_lock_and_writers_do_not() {
    let trace = recorded([A, A]);
    let changes = [0.0, 1.0, 0.5].map(|share| change("rw", A, Treatment::ReadWrite(share)));
    let prediction = asked(&trace, Vec::new(), changes.into()).unwrap();
    assert!((share(&prediction, 1) - 1.0).abs() < 0.02, "{}", share(&prediction, 1));
    assert!((share(&prediction, 2) - 0.5).abs() < 0.02, "{}", share(&prediction, 2));
    // A thread that draws a write sleeps on while the other thread reads and writes again and
    // again. So readers for half of the holds may save nothing, or up to half of the time.
    assert!((0.48..1.02).contains(&share(&prediction, 3)), "{}", share(&prediction, 3));
    let contended: Vec<u64> = prediction.results.iter().map(|row| row.counts.contended).collect();
    assert!(contended[2] == 0 && 0 < contended[3] && contended[3] < 2 * ROUNDS, "{contended:?}");
}

#[test]
fn a_lock_of_its_own_is_what_it_is_for_all() {
    let mcs = choice("mcs", Wait::SpinPark(128));
    let one = recorded([A, A]);
    let named = change("a=mcs", A, Treatment::Lock(mcs.clone()));
    let prediction = asked(&one, vec![mcs.clone()], vec![named.clone()]).unwrap();
    assert_eq!(figures(&prediction.results[1]), figures(&prediction.results[2]), "the program has one lock");
    assert_eq!(prediction.results[2].lock, "a=mcs");
    // With two locks, the second lock stays as it was recorded, or becomes the default lock of the
    // change.
    let two = recorded([A, B]);
    let by_name = |lock: &Choice, other: Option<&Choice>| Change {
        default: other.cloned(),
        ..change("", A, Treatment::Lock(lock.clone()))
    };
    let futex = choice("futex", Wait::Futex);
    let changes = vec![by_name(&futex, None), by_name(&mcs, Some(&mcs)), by_name(&mcs, None)];
    let prediction = asked(&two, vec![mcs.clone()], changes).unwrap();
    let [own, all, same, both, mixed] = &prediction.results[..] else { panic!("five rows") };
    assert_eq!(figures(same), Predicted { recorded: false, ..figures(own) });
    assert_eq!(figures(both), figures(all));
    assert!(mixed.counts.acquisitions == own.counts.acquisitions && mixed.failed.is_none());
}

#[test]
fn a_recorded_lock_that_baton_does_not_have_is_named() {
    let mut trace = recorded([A, A]);
    trace.meta = Some(Meta { lock: Some("./libmine.so".into()), ..Meta::default() });
    let prediction = asked(&trace, Vec::new(), Vec::new()).unwrap();
    let name = prediction.recorded_lock;
    assert!(name.contains("./libmine.so") && name.contains("futex") && !name.contains("glibc"), "{name}");
}

/// The same event at a `pthread_spinlock_t`.
fn as_spin_lock(what: What) -> What {
    match what {
        What::Request { lock, mode, site } => What::Request { lock: Lock::spin(lock.address), mode, site },
        What::Acquire { lock, mode, site } => What::Acquire { lock: Lock::spin(lock.address), mode, site },
        What::Acquired { lock, mode, how } => What::Acquired { lock: Lock::spin(lock.address), mode, how },
        What::Release { lock, mode, site } => What::Release { lock: Lock::spin(lock.address), mode, site },
        other => other,
    }
}

#[test]
fn what_cannot_be_is_an_error() {
    let trace = recorded([A, A]);
    let error = |change: Change| match asked(&trace, Vec::new(), vec![change]).unwrap_err() {
        PredictError::Change(error) => error,
        other => panic!("{other}"),
    };
    assert_eq!(error(change("", B, Treatment::Split(2))), ChangeError::NotReplayed("lock".into()));
    let mut spinning = TraceBuilder::new(Clock::nanoseconds());
    for event in trace.events() {
        spinning.push(event.time, event.thread, as_spin_lock(event.what));
    }
    let mcs = choice("mcs", Wait::SpinPark(128));
    let replaced = asked(&spinning.build(), Vec::new(), vec![change("", A, Treatment::Lock(mcs))]);
    assert_eq!(replaced.unwrap_err(), PredictError::Change(ChangeError::SpinLock("lock".into())));
    let mut early = change("", A, Treatment::Split(2));
    early.parts[0].locks[0].time.end = Ticks(5);
    assert_eq!(error(early), ChangeError::NotReplayed("lock".into()), "another lock at the same address");
    let mut twice = change("", A, Treatment::Split(2));
    twice.parts.push(Part { name: "again".into(), treatment: Treatment::ReadWrite(0.5), ..twice.parts[0].clone() });
    assert_eq!(error(twice.clone()), ChangeError::Twice { first: "lock".into(), second: "again".into() });
    twice.parts[1].treatment = Treatment::Shrink(0.5);
    assert!(asked(&trace, Vec::new(), vec![twice]).is_ok(), "split and shorter go together");
}
