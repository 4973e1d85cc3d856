//! Tests what becomes of locks: recursive locks, spin locks, and locks that another thread
//! releases.

use super::{END, LOCK, MODE, SITE, START, acquire, chip, program, release, trace};
use baton_replay::compile::{Probes, compile};
use baton_replay::program::Op;
use baton_replay::{Ask, predict};
use baton_trace::{How, Lock, What};

#[test]
fn a_recursive_lock_is_taken_once_and_a_second_life_is_another_lock() {
    let program = program(&[
        (0, 0, START),
        (10, 0, acquire()),
        (20, 0, acquire()),
        (30, 0, release()),
        (40, 0, release()),
        (50, 0, What::LockInit { lock: LOCK, site: SITE }),
        (60, 0, acquire()),
        (70, 0, release()),
    ]);
    let locks: Vec<_> = program.threads[0].ops.iter().filter(|op| !matches!(op, Op::Work(_))).collect();
    assert_eq!(locks, [Op::Lock(0), Op::Unlock(0), Op::Lock(1), Op::Unlock(1)]);
}

#[test]
fn a_spin_lock_stays_one_whatever_lock_is_asked_for() {
    let spin = Lock { address: 900, kind: baton_trace::LockKind::Spin };
    let trace = trace(&[
        (0, 0, START),
        (0, 1, START),
        (100, 0, What::Acquire { lock: spin, mode: MODE, site: SITE }),
        (101, 1, What::Request { lock: spin, mode: MODE, site: SITE }),
        (90_000, 0, What::Release { lock: spin, mode: MODE, site: SITE }),
        (90_001, 1, What::Acquired { lock: spin, mode: MODE, how: How::OPAQUE }),
        (90_010, 0, END),
        (180_000, 1, What::Release { lock: spin, mode: MODE, site: SITE }),
        (180_010, 1, END),
    ]);
    let program = compile(&trace, &chip(), Probes::Kept);
    assert!(program.locks[0].spins);
    let choices = ["futex", "mcs"].map(|lock| baton_replay::run::Choice {
        lock: lock.into(),
        wait: baton_sync::lock::info(lock).unwrap().wait(None).unwrap(),
    });
    let ask = Ask { choices: choices.into(), ..Ask::default() };
    let prediction = predict(&trace, &chip(), &ask, &|| {}).unwrap();
    let [_, futex, mcs] = &prediction.results[..] else { panic!("three rows") };
    assert_eq!((futex.time_ns, futex.spin_ns), (mcs.time_ns, mcs.spin_ns));
    assert!(mcs.spin_ns.median > 50_000, "{mcs:?}: the second spins while the first holds it");
}

#[test]
fn a_mutex_that_another_thread_gives_up_is_a_semaphore() {
    let program = program(&[
        (0, 0, START),
        (0, 1, START),
        (10, 0, acquire()),
        (20, 1, release()),
        (30, 0, acquire()),
        (40, 1, release()),
    ]);
    let steps = |thread: usize| {
        let ops = program.threads[thread].ops.iter().filter(|op| !matches!(op, Op::Work(_) | Op::Delay(_)));
        ops.collect::<Vec<_>>()
    };
    assert!(steps(0).contains(&Op::SemTake(0)) && !steps(0).contains(&Op::Lock(0)), "{:?}", steps(0));
    assert_eq!(steps(1).iter().filter(|op| **op == Op::SemPost(0)).count(), 2, "{:?}", steps(1));
    assert_eq!(program.semaphores, [1]);
}
