//! Tests for threads that end soon after their joiner comes, as background threads do, but because
//! their work is done: they told the joiner so.

use crate::background::{Program, found};
use baton_trace::meta::Ends;
use baton_trace::{FutexEnd, How, Lock, Mode, SiteId, WakeReason, What};

const OBJECT: u64 = 0x50;

/// Thread 2 goes round in turns of 100 ticks, the last of which ends at 910. Then it says that it is
/// done, at 920, and thread 0 hears that at 930, comes to join thread 2 at 935, and thread 2 ends
/// at `ended`. `early`: whether it says so in its third turn instead.
fn done(says: &[What], hears: &[What], ended: u64, early: bool) -> Program {
    let back = if early { 700 } else { 0 };
    let mut program = Program::new();
    program.start(0, 2);
    (0..10).for_each(|turn| program.hold(5 + 100 * turn, 2, 0x20, 2));
    says.iter().for_each(|what| program.push(920 - back, 2, *what));
    hears.iter().for_each(|what| program.push(930 - back, 0, *what));
    program.join(935, ended, 2);
    program
}

const SITE: SiteId = SiteId(70);

/// What a thread says, and what thread 0 hears.
fn words() -> [(&'static str, Vec<What>, Vec<What>); 6] {
    let (barrier, semaphore, condition, futex) = (OBJECT, OBJECT, OBJECT, OBJECT);
    let lock = Lock::mutex(0x60);
    let take = [
        What::Acquire { lock, mode: Mode::Exclusive, site: SITE },
        What::Release { lock, mode: Mode::Exclusive, site: SITE },
    ];
    let woken = What::CondWake { condition, reason: WakeReason::Woken };
    [
        (
            "a barrier",
            vec![What::BarrierArrive { barrier, site: SITE }, What::BarrierLeave { barrier, serial: false }],
            vec![What::BarrierArrive { barrier, site: SITE }, What::BarrierLeave { barrier, serial: false }],
        ),
        (
            "a semaphore that thread 0 waits for",
            vec![What::SemPost { semaphore, site: SITE }],
            vec![What::SemTaken { semaphore, how: How::default() }],
        ),
        ("a semaphore", vec![What::SemPost { semaphore, site: SITE }], vec![What::SemTake { semaphore, site: SITE }]),
        ("a condition", vec![What::CondSignal { condition, site: SITE }], vec![woken]),
        (
            "a futex",
            vec![What::FutexWake { futex, site: SITE }],
            vec![What::FutexWaitEnd { futex, end: FutexEnd::Woken }],
        ),
        ("a lock", take.to_vec(), take.to_vec()),
    ]
}

#[test]
fn a_thread_that_told_its_joiner_that_it_was_done_works() {
    for (name, says, hears) in words() {
        for ended in [932, 950, 1_000] {
            assert_eq!(found(&done(&says, &hears, ended, false).trace(Ends::default())), [0; 0], "{name} {ended}");
            if ended > 932 {
                assert_eq!(found(&done(&says, &hears, ended, true).trace(Ends::default())), [2], "{name} {ended}");
            }
        }
        assert_eq!(found(&done(&says, &[], 950, false).trace(Ends::default())), [2], "{name}, unheard");
    }
}

#[test]
fn a_lock_that_a_thread_takes_in_each_turn_says_nothing_about_its_end() {
    let mut program = done(&[], &[], 950, false);
    program.hold(930, 0, 0x20, 61);
    assert_eq!(found(&program.trace(Ends::default())), [2]);
}

#[test]
fn what_the_joiner_hears_after_the_join_tells_nothing() {
    let mut program = done(&[What::SemPost { semaphore: OBJECT, site: SITE }], &[], 950, false);
    program.push(960, 0, What::SemTake { semaphore: OBJECT, site: SITE });
    assert_eq!(found(&program.trace(Ends::default())), [2]);
}

/// Threads 1 to 3 count down under a lock when they are done, and the last one signals thread 0. The others
/// may end late.
#[test]
fn the_last_of_several_workers_speaks_for_all() {
    let mut program = Program::new();
    (1..=3).for_each(|thread| program.start(u64::from(thread), thread));
    for turn in 0..10 {
        (1..=3).for_each(|thread| program.hold(10 + 90 * turn + 7 * u64::from(thread), thread, 0x10, 1));
    }
    program.push(890, 3, What::CondSignal { condition: OBJECT, site: SITE });
    program.push(895, 0, What::CondWake { condition: OBJECT, reason: WakeReason::Woken });
    (0..).zip(1..=3).for_each(|(number, thread)| program.join(898 + 20 * number, 910 + 20 * number, thread));
    assert_eq!(found(&program.trace(Ends::default())), [0; 0]);
}

/// Thread 2 waits with a deadline in each turn until thread 0 signals, and then posts that it has seen
/// the signal: it was told to end.
#[test]
fn a_thread_that_answers_the_joiner_is_background() {
    let mut program = Program::new();
    program.start(0, 2);
    let (condition, semaphore, site) = (OBJECT, OBJECT + 8, SiteId(7));
    for turn in 0..10 {
        let (end, reason) = if turn < 9 { (100, WakeReason::TimedOut) } else { (31, WakeReason::Woken) };
        program.push(5 + 100 * turn, 2, What::CondWait { condition, site });
        program.push(5 + 100 * turn + end, 2, What::CondWake { condition, reason });
    }
    program.push(930, 0, What::CondSignal { condition, site: SITE });
    program.push(940, 2, What::SemPost { semaphore, site: SITE });
    program.push(945, 0, What::SemTaken { semaphore, how: How::default() });
    program.join(950, 960, 2);
    assert_eq!(found(&program.trace(Ends::default())), [2]);
}
