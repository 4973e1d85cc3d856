//! Tests the account on the sketch of the paper's figure 5, written as a log. A unit of the sketch
//! is 100 cycles, so that a stretch can be divided into parts.

use super::*;
use baton_chip::{LockLog, Reason, Stretch, WordChange};
use baton_units::{CpuId, Cycles};

const PARTS: usize = MEMORY_PARTS.len();

fn change(at: u64, thread: u32, from: u32, to: u32) -> WordChange {
    WordChange { at: Cycles(at), word: 64, thread, from, to }
}

fn stretch(from: u64, to: u64, reason: Reason) -> Stretch {
    Stretch { from: Cycles(from), to: Cycles(to), reason, cpu: CpuId(0), parts: [0; PARTS] }
}

/// Thread 0 has the lock from 0 to 200. Thread 1 asks at 100, goes to sleep, and has the lock from
/// 700 to 800. Thread 2 asks at 150, and has the lock from 240 to 440.
fn log() -> (LockLog, Requests) {
    let changes = vec![
        change(0, 0, 0, 1),
        change(180, 1, 1, 2),
        change(200, 0, 2, 0),
        change(240, 2, 0, 1),
        change(440, 2, 1, 0),
        change(700, 1, 0, 2),
        change(800, 1, 2, 0),
    ];
    let mut try_of_2 = stretch(190, 240, Reason::Memory);
    // The try of thread 2 takes 50 cycles: 20 on the way, 20 behind others, and 10 of hits, which
    // no part names.
    try_of_2.parts[MEMORY_PARTS.iter().position(|part| *part == "network").unwrap()] = 20;
    try_of_2.parts[MEMORY_PARTS.iter().position(|part| *part == "home_queueing").unwrap()] = 20;
    let waits = vec![
        vec![],
        vec![
            stretch(100, 180, Reason::Spin),
            stretch(180, 420, Reason::Kernel),
            stretch(420, 600, Reason::Asleep),
            stretch(600, 700, Reason::Switch),
        ],
        vec![stretch(150, 190, Reason::Spin), try_of_2],
    ];
    (LockLog { changes, waits }, vec![vec![0], vec![100], vec![150]])
}

#[test]
fn three_ways_agree_to_the_cycle() {
    let (log, requests) = log();
    let account = Account::of(&log, &requests).unwrap();
    assert_eq!((account.acquisitions, account.entered_spinning), (3, 2));
    assert_eq!(account.sections, 200 + 200 + 100);
    // Thread 1 is blocked from 100 to 700: 100 + 200 of the 600 cycles lie in sections of the
    // others. Thread 2 is blocked for 90 cycles, 50 of them in a section.
    assert_eq!((account.blocked, account.in_sections), (690, 350));
    assert_eq!((account.overhead, account.by_hand_offs, account.residual()), (340, 340, 0));
    // While the lock is free, thread 1 is in the system call from 200 to 240, and asleep or being
    // switched in from 440 to 700. Thread 2 spends 40 of its try's 50 cycles: a fifth of them are
    // hits, two fifths each are on the way and behind others.
    let cause = |cause: Cause| account.by_cause[cause as usize];
    assert_eq!(cause(Cause::SleepPreparation), 40);
    assert_eq!(cause(Cause::WakeUp), 260);
    assert_eq!((cause(Cause::SpinInterval), cause(Cause::Network), cause(Cause::QueueingAtHome)), (8, 16, 16));
    assert_eq!(account.longest_wait, 600);
}

#[test]
fn a_cycle_without_a_reason_shows() {
    let (mut log, requests) = log();
    log.waits[1].remove(2);
    assert_eq!(Account::of(&log, &requests).unwrap().residual(), 160);
}

#[test]
fn what_does_not_pair_is_an_error() {
    let (log, mut requests) = log();
    requests[2].clear();
    assert!(Account::of(&log, &requests).unwrap_err().contains("more than it asked for"));
    requests[2] = vec![241];
    assert!(Account::of(&log, &requests).unwrap_err().contains("before it asked"));
    let torn = LockLog { changes: vec![change(5, 1, 0, 1), change(6, 2, 1, 0)], waits: vec![vec![]; 3] };
    assert!(Account::of(&torn, &vec![vec![], vec![4], vec![]]).is_err());
}

#[test]
fn what_has_no_cause_is_an_error_and_not_a_rest() {
    let (mut log, requests) = log();
    let strange = Reason::ALL.into_iter().find(|reason| Cause::of(*reason).is_none() && *reason != Reason::Memory);
    if let Some(strange) = strange {
        log.waits[1][0].reason = strange;
        assert!(Account::of(&log, &requests).unwrap_err().contains(strange.name()));
    }
    assert!(MEMORY_PARTS.iter().all(|part| Cause::of_part(part).is_some()));
    // Every reason for which a thread may wait for a lock has a cause, but for the reasons of
    // devices, and memory, whose parts have causes.
    let without: Vec<&str> =
        Reason::ALL.into_iter().filter(|reason| Cause::of(*reason).is_none()).map(Reason::name).collect();
    assert_eq!(without, ["memory", "device", "queue_full", "queue_empty"]);
}
