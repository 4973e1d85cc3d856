//! Tests for threads that have ended before the joiner comes to join them, because it told them to end
//! before: by a flag, which no event shows, and then a short act, or a join of another such thread.

use crate::background::{Program, found, monitored};
use baton_trace::analysis::background;
use baton_trace::meta::Ends;
use baton_trace::point::CALLS;
use baton_trace::{Lock, Mode, Outcome, SiteId, SystemCall, What};

/// A call that took `ticks` and ended at `end`.
fn call(program: &mut Program, (end, ticks): (u64, u64), name: &str, site: u32) {
    let number = CALLS.iter().position(|call| *call == name).unwrap() as u8;
    let call = SystemCall { number, outcome: Outcome::Done, file: None, ticks: ticks as u32 };
    program.push(end, 0, What::Blocked { site: SiteId(site), ticks });
    program.push(end, 0, What::Called { call, site: SiteId(site) });
}

/// When thread 0 came, for each background thread.
fn came(program: Program) -> Vec<(u32, u64)> {
    background(&program.trace(Ends::default())).iter().map(|one| (one.thread.0, one.came.0)).collect()
}

#[test]
fn a_monitor_that_ends_before_its_joiner_comes_is_background() {
    assert_eq!(came(monitored(950, 980)), [(2, 906)]);
    assert_eq!(came(monitored(950, 5_000)), [(2, 906)], "thread 0 computes, and then joins it");
    assert_eq!(came(monitored(1_006, 1_050)), [(2, 906)], "a turn after the joiner's last act");
    assert_eq!(came(monitored(1_007, 1_050)), [], "more than a turn after it");
    assert_eq!(came(monitored(903, 950)), [], "before it");
}

/// Thread 2 sleeps in each turn but the first as well. Its last sleep, in which thread 0 sets the flag, takes 130 ticks.
#[test]
fn the_sleep_in_which_the_flag_is_set_may_be_the_longest() {
    let mut program = monitored(1_041, 1_050);
    for turn in 1..10 {
        let ends = if turn < 9 { 104 + 100 * turn } else { 1_040 };
        program.push(ends, 2, What::Blocked { site: SiteId(62), ticks: ends - 10 - 100 * turn });
    }
    assert_eq!(came(program), [(2, 906)]);
}

#[test]
fn the_joiner_may_write_or_sleep_once_before_it_comes() {
    let with = |name: &str, calls: &[(u64, u64)], came: u64| {
        let mut program = monitored(950, came);
        calls.iter().for_each(|at| call(&mut program, *at, name, 60));
        self::came(program)
    };
    assert_eq!(with("write", &[(960, 20)], 980), [(2, 940)], "thread 2 ends during the write");
    assert_eq!(with("write", &[(930, 5), (940, 5), (960, 5), (970, 5)], 980), [(2, 940)]);
    assert_eq!(with("write", &[(970, 5)], 1_060), [], "more than a turn after the thread's end");
    assert_eq!(with("usleep", &[(1_000, 90)], 1_010), [(2, 910)]);
    assert_eq!(with("usleep", &[(800, 90), (1_000, 90)], 1_010), [], "it may look whether thread 2 is done");
    assert_eq!(with("read", &[(960, 20)], 980), [], "it may hear from thread 2");
    let mut program = monitored(950, 980);
    program.hold(955, 0, 0x30, 61);
    assert_eq!(self::came(program), [], "it may see under the lock that thread 2 is done");
    let mut program = monitored(950, 980);
    program.hold(915, 0, 0x30, 61);
    program.push(960, 0, What::Marker { name: 0, value: 0 });
    assert_eq!(self::came(program), [(2, 920)], "it tells it under the lock");
}

#[test]
fn a_named_thread_that_ended_long_before_its_joiner_came_is_background() {
    let named = Ends { background: vec!["2".into()], ..Ends::default() };
    assert_eq!(found(&monitored(903, 950).trace(named)), [2]);
    let until = Ends { until: vec!["2".into()], ..Ends::default() };
    assert_eq!(found(&monitored(950, 980).trace(until)), [0; 0]);
}

/// Threads 1 to 3 have equal shares of a work, with turns of 30 ticks, and end at `ends`. Thread 0
/// takes a lock for the last time until 300, and comes to join them at `came`.
fn shares(ends: [u64; 3], came: u64) -> Vec<(u32, u64)> {
    let mut program = Program::new();
    (1..=3).for_each(|thread| program.start(u64::from(thread), thread));
    for turn in 0..10 {
        (1..=3).for_each(|thread| program.hold(10 + 30 * turn + 7 * u64::from(thread), thread, 0x10, 1));
    }
    program.hold(295, 0, 0x30, 61);
    for (number, thread) in (0..).zip(1..=3) {
        program.join(came + 50 * number, ends[number as usize], thread);
    }
    self::came(program)
}

#[test]
fn equal_shares_that_end_before_the_joiner_comes_are_work() {
    assert_eq!(shares([318, 324, 329], 400), [], "all of them before the first join");
    assert_eq!(shares([318, 324, 350], 400), []);
    assert_eq!(shares([318, 324, 430], 400), [], "the last one went on for turns after the joiner's last act");
}

/// Thread 0 has a share of the work, too: it takes the lock of threads 1 and 2 at a place of its own `times`
/// times, until 300, and joins them at once.
fn shared_by_the_joiner(times: u64) -> Vec<(u32, u64)> {
    let mut program = Program::new();
    (1..=2).for_each(|thread| program.start(u64::from(thread), thread));
    for turn in 0..10 {
        (1..=2).for_each(|thread| program.hold(10 + 30 * turn + 7 * u64::from(thread), thread, 0x10, 1));
    }
    (0..times).for_each(|turn| program.hold(297 - 30 * turn, 0, 0x10, 72));
    program.join(305, 320, 1);
    program.join(322, 315, 2);
    self::came(program)
}

#[test]
fn a_joiner_that_takes_the_lock_as_often_has_a_share_of_the_work() {
    assert_eq!(shared_by_the_joiner(9), [], "the compiler has copied the function of the work");
    assert_eq!(shared_by_the_joiner(5), []);
    assert_eq!(shared_by_the_joiner(4), [(1, 305), (2, 305)], "it reads what they count");
}

/// Thread 1 works until 905. The threads 2 to 4 look at one flag, in turns of 100, 50 and 20 ticks. They
/// release locks at the places `sites`, and end at `ends`. Thread 0, which has joined thread 1 at 906,
/// joins them from `came` on, each after the one before.
fn three(sites: [u32; 3], ends: [u64; 3], came: u64) -> Program {
    let mut program = Program::new();
    (1..=4).for_each(|thread| program.start(u64::from(4 * thread), thread));
    (0..10).for_each(|turn| program.hold(30 + 87 * turn, 1, 0x10, 1));
    program.join(22, 905, 1);
    let mut began = came;
    for ((thread, length), (site, ended)) in [(2, 100), (3, 50), (4, 20)].into_iter().zip(sites.into_iter().zip(ends)) {
        let turns = (0..).map(|turn| 40 + length * turn).take_while(|time| time + 5 < ended);
        turns.for_each(|time| program.hold(time, thread, 0x100 * u64::from(thread), site));
        program.join(began, ended, thread);
        began = ended.max(began) + 5;
    }
    program
}

#[test]
fn monitors_that_one_flag_ends_are_background_whatever_the_order_of_the_joins() {
    for sites in [[2, 3, 4], [2, 2, 2], [2, 3, 3]] {
        assert_eq!(came(three(sites, [1_000, 950, 925], 910)), [(2, 910), (3, 910), (4, 910)], "{sites:?}");
    }
    let behind = came(three([2, 3, 4], [1_000, 955, 925], 940));
    assert_eq!(behind, [(2, 940), (3, 940), (4, 906)], "thread 4 ended before the first of the joins");
    assert_eq!(came(three([2, 3, 4], [940, 950, 925], 960)), [(2, 906), (3, 906), (4, 906)], "all did");
    assert_eq!(came(three([2, 3, 4], [600, 950, 925], 960)), [(3, 906), (4, 906)], "thread 2 had ended by itself");
    let worker_first = came(three([2, 3, 4], [1_500, 950, 925], 910));
    assert_eq!(worker_first, [], "thread 0 waits for the work of thread 2");
    assert_eq!(came(three([2, 3, 4], [1_000, 600, 925], 910)), [(2, 910), (4, 910)], "thread 3 had ended by itself");
}

#[test]
fn a_lock_between_two_joins_ends_the_row() {
    let mut program = three([2, 3, 4], [1_000, 950, 925], 910);
    let lock = Lock::mutex(0x30);
    program.push(1_002, 0, What::Acquire { lock, mode: Mode::Exclusive, site: SiteId(61) });
    program.push(1_003, 0, What::Release { lock, mode: Mode::Exclusive, site: SiteId(61) });
    assert_eq!(came(program), [(2, 910)]);
}

#[test]
fn a_thread_relies_on_the_one_that_the_joiner_waited_for() {
    let said = Ends { until: vec!["2".into()], ..Ends::default() };
    assert_eq!(found(&three([2, 3, 4], [1_000, 950, 925], 910).trace(said)), [0; 0]);
    let mut program = three([2, 3, 4], [1_000, 950, 925], 910);
    program.push(907, 2, What::SemPost { semaphore: 0x40, site: SiteId(63) });
    program.push(908, 0, What::SemTake { semaphore: 0x40, site: SiteId(64) });
    assert_eq!(came(program), [], "thread 2 told thread 0 that it was done");
}
