//! From events to scripts, on traces made by hand: one tick is a nanosecond, the chip's clock is 1 GHz, so a tick is a
//! cycle, too.

mod common;

use baton_chip::Chip;
use baton_replay::compile::{Probes, Work, compile, compile_with};
use baton_replay::program::{Op, Program, Store};
use baton_replay::scale::{self, ScaleError};
use baton_replay::{Ask, predict};
use baton_trace::{
    Clock, How, Lock, Mode, OffReason, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, WakeReason, What,
};

/// No prices for locks, so that gaps come out as they are.
fn chip() -> Chip {
    common::chip(&[
        "core.clock_hz=1000000000",
        "cache.hit=1",
        "cache.atomic=0",
        "cache.transfer.same_cluster=0",
        "os.futex_wake=0",
        "os.futex_wake_none=0",
        "os.futex_wake_more=0",
        "os.wake_idle=0",
    ])
}

const LOCK: Lock = Lock::mutex(64);
const MODE: Mode = Mode::Exclusive;
const SITE: SiteId = SiteId(1);

fn trace(events: &[(u64, u32, What)]) -> Trace {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    for &(time, thread, what) in events {
        builder.push(Ticks(time), ThreadIndex(thread), what);
    }
    builder.build()
}

fn program(events: &[(u64, u32, What)]) -> Program {
    compile(&trace(events), &chip(), Probes::Kept)
}

fn acquire() -> What {
    What::Acquire { lock: LOCK, mode: MODE, site: SITE }
}
fn request() -> What {
    What::Request { lock: LOCK, mode: MODE, site: SITE }
}
fn acquired() -> What {
    What::Acquired { lock: LOCK, mode: MODE, how: How::OPAQUE }
}
fn release() -> What {
    What::Release { lock: LOCK, mode: MODE, site: SITE }
}
const START: What = What::ThreadStart { handle: 1 };
const END: What = What::ThreadEnd { handle: 1 };

#[test]
fn gaps_are_work_and_waits_are_not() {
    let program = program(&[
        (0, 0, START),
        (1001, 0, acquire()),
        (1500, 0, release()),
        (3001, 0, request()),
        (3601, 0, What::CpuTime { ns: 0 }),
        (9000, 0, acquired()),
        (9200, 0, What::CpuTime { ns: 1 }),
        (9700, 0, release()),
        (9801, 0, END),
    ]);
    let ops = [
        Op::Work(1000), // less the acquisition's own hit
        Op::Lock(0),
        Op::Work(499 + 25), // writing the release down, at the assumed price
        Op::Unlock(0),
        Op::Work(1500 - 25), // less the release's
        Op::Lock(0),
        Op::Work(500 + 25), // less reading the CPU time, which is charged behind the waits of the replay
        Op::Unlock(0),
        Op::Work(100 - 25),
    ];
    assert_eq!(program.threads[0].ops.to_vec(), ops);
    assert_eq!(program.measured.0, 9801);
    assert_eq!((program.around.before.0, program.around.behind.0), (600, 200));
}

#[test]
fn what_writes_a_release_down_still_holds_the_lock() {
    let program = program(&[
        (0, 0, START),
        (0, 0, What::ProbeCost { probe: 0, picoseconds: 30_000 }),
        (1001, 0, acquire()),
        (1500, 0, release()),
        (1601, 0, END),
    ]);
    let ops = [Op::Work(1000), Op::Lock(0), Op::Work(499 + 30), Op::Unlock(0), Op::Work(100 - 30)];
    assert_eq!(program.threads[0].ops.to_vec(), ops);
}

#[test]
fn recording_is_subtracted_by_event_and_pause() {
    let events = [
        (0, 0, START),
        (0, 0, What::ProbeCost { probe: 0, picoseconds: 30_000 }),
        (1001, 0, acquire()),
        (1400, 0, What::Pause { ticks: 200 }),
        (1500, 0, release()),
        (1600, 0, END),
    ];
    let program = compile(&trace(&events), &chip(), Probes::Subtracted);
    assert_eq!(program.threads[0].ops.to_vec()[..3], [Op::Work(970), Op::Lock(0), Op::Work(499 - 200 - 30)]);
    assert!(program.probe.recorded);
}

#[test]
fn blocked_time_is_a_delay_and_ready_time_is_left_out() {
    let off = |reason| What::OffCpu { tid: 0, reason };
    let on = What::OnCpu { tid: 0, cpu: 0 };
    let program = program(&[
        (0, 0, START),
        (100, 0, off(OffReason::Blocked)),
        (600, 0, on),
        (700, 0, off(OffReason::Preempted)),
        (900, 0, on),
        (1001, 0, acquire()),
        (1100, 0, release()),
        (1101, 0, END),
    ]);
    let ops = &program.threads[0].ops.to_vec();
    assert_eq!(ops[..3], [Op::Work(300), Op::Delay(500), Op::Lock(0)], "{ops:?}");
}

#[test]
fn cpu_time_tells_sleep_from_work_in_the_longest_gap() {
    let contend = |t: u64, ns: u64| {
        [
            (t, 0, request()),
            (t, 0, What::CpuTime { ns }),
            (t + 10, 0, acquired()),
            (t + 10, 0, What::CpuTime { ns: ns + 1 }),
        ]
    };
    let mut events = vec![(0, 0, START)];
    events.extend(contend(1000, 1000));
    events.push((2000, 0, release()));
    // Off the CPU for 9 ms of 10.
    events.push((10_002_000, 0, acquire()));
    events.push((10_003_000, 0, release()));
    events.extend(contend(10_004_000, 1_004_000));
    events.extend([(10_005_000, 0, release()), (10_006_000, 0, END)]);
    let program = program(&events);
    let slept: u64 = program.threads[0].ops.to_vec().iter().map(|op| if let Op::Delay(n) = op { *n } else { 0 }).sum();
    assert!((8_990_000..9_010_000).contains(&slept), "{slept}");
}

#[test]
fn a_condition_wait_is_a_token_of_its_signal() {
    let condition = 128;
    let program = program(&[
        (0, 0, START),
        (0, 1, START),
        (10, 0, acquire()),
        (20, 0, What::CondWait { condition, site: SITE }),
        (21, 0, What::CondMutex { mutex: 64 }),
        (22, 0, release()),
        (100, 1, acquire()),
        (110, 1, What::CondSignal { condition, site: SITE }),
        (120, 1, release()),
        (150, 0, What::CondWake { condition, reason: WakeReason::Woken }),
        (160, 0, acquire()),
        (200, 0, release()),
        (300, 0, What::CondWait { condition, site: SITE }),
        (301, 0, release()),
        (900, 0, What::CondWake { condition, reason: WakeReason::TimedOut }),
        (901, 0, acquire()),
        (910, 0, release()),
        (911, 0, END),
        (911, 1, END),
    ]);
    let waiter = &program.threads[0].ops.to_vec();
    let at = waiter.iter().position(|op| *op == Op::TokenWait(0)).unwrap();
    assert_eq!((waiter[at - 1], waiter[at + 1]), (Op::Unlock(0), Op::Lock(0)), "{waiter:?}");
    assert!(program.threads[1].ops.to_vec().contains(&Op::TokenPost(0)));
    assert!(waiter.iter().any(|op| matches!(op, Op::Delay(590..=610))), "a time-out is a delay: {waiter:?}");
    assert_eq!(program.replayability.unmatched_waits, 1, "the last wait released a lock that it did not hold");
}

#[test]
fn what_cannot_be_replayed_is_counted() {
    let condition = 128;
    let lost = program(&[
        (0, 0, START),
        (10, 0, What::TryFail { lock: LOCK, mode: MODE, site: SITE }),
        (20, 0, request()),
        (30, 0, What::Timeout { lock: LOCK, mode: MODE }),
        (40, 0, acquire()),
        (50, 0, What::CondWait { condition, site: SITE }),
        (51, 0, release()),
        (90, 0, What::CondWake { condition, reason: WakeReason::Woken }),
        (91, 0, acquire()),
        (99, 0, release()),
        (5, 1, acquire()),
        (6, 1, release()),
        (100, 0, END),
    ]);
    let told = &lost.replayability;
    assert_eq!((told.failed_tries, told.expired_waits, told.unmatched_waits, told.from_outside), (1, 1, 1, 1));
    assert!(told.share() > 0.3);
}

#[test]
fn unequal_shares_of_threads_of_one_kind_are_dynamic_work() {
    let shares = |counts: [u64; 2]| {
        let mut events = vec![(0, 0, START)];
        for i in 0..2u32 {
            let handle = 10 + u64::from(i);
            events.push((10 * handle, 0, What::Create { site: SiteId(5) }));
            events.push((10 * handle + 1, 0, What::Created { handle, error: 0 }));
            events.push((10 * handle + 2, i + 1, What::ThreadStart { handle }));
            for turn in 0..counts[i as usize] {
                let t = 1000 + turn * 100 + u64::from(i) * 50;
                events.extend([(t, i + 1, acquire()), (t + 10, i + 1, release())]);
            }
        }
        let trace = trace(&events);
        let recorded = compile_with(&trace, &chip(), Probes::Kept, Work::AsRecorded);
        (recorded.replayability.dynamic, program(&events))
    };
    for (counts, dynamic, items) in [([100, 100], 0, None), ([100, 101], 0, None), ([150, 50], 200, Some(149 + 49))] {
        let (recorded, shared) = shares(counts);
        assert_eq!((recorded, shared.replayability.dynamic), (dynamic, 0));
        assert_eq!(shared.stores.first().map(Store::len), items);
        let takes =
            |thread: usize| shared.threads[thread].ops.to_vec().iter().filter(|op| **op == Op::Share(0)).count();
        assert_eq!((takes(1), takes(2)), if items.is_some() { (1, 1) } else { (0, 0) });
        // What each thread's last acquisition is followed by stays its own.
        let own =
            |thread: usize| shared.threads[thread].ops.to_vec().iter().filter(|op| matches!(op, Op::Lock(_))).count();
        assert_eq!([own(1), own(2)], if items.is_some() { [1, 1] } else { counts.map(|n| n as usize) });
    }
}

/// Two threads of one kind; the events of each are given.
fn kind(first: &[(u64, What)], second: &[(u64, What)]) -> Program {
    let mut events = vec![(0, 0, START)];
    for (thread, of) in [(1, first), (2, second)] {
        let handle = 10 + u64::from(thread);
        events.push((10 * handle, 0, What::Create { site: SiteId(5) }));
        events.push((10 * handle + 1, 0, What::Created { handle, error: 0 }));
        events.push((10 * handle + 2, thread, What::ThreadStart { handle }));
        events.extend(of.iter().map(|&(time, what)| (time, thread, what)));
    }
    events.sort_by_key(|event| event.0);
    program(&events)
}

/// So many acquisitions from a time on, and something at the end of each.
fn takes(n: u64, from: u64, each: &[What]) -> Vec<(u64, What)> {
    let one = |i: u64| {
        let t = from + 100 * i;
        [(t, acquire()), (t + 10, release())].into_iter().chain(each.iter().map(move |&what| (t + 20, what)))
    };
    (0..n).flat_map(one).collect()
}

#[test]
fn items_are_in_the_order_in_which_they_were_taken() {
    let program = kind(&takes(30, 1000, &[]), &takes(10, 1050, &[]));
    let store = &program.stores[0];
    let work = |item| store.item(item).map(|op| if let Op::Work(cycles) = op { cycles } else { 0 }).sum::<u64>();
    let works: Vec<u64> = (0..store.len()).map(work).collect();
    // One thread's items and the other's by turns, then those of the first alone: 100 ticks each.
    assert_eq!(works.len(), 29 + 9);
    // Less what taking the lock costs.
    assert!(works.iter().all(|work| (90..=100).contains(work)), "{works:?}");
    assert!(
        program.notes.iter().any(|note| note.contains("38 items are replayed by whoever comes first")),
        "{:?}",
        program.notes
    );
}

#[test]
fn what_depends_on_who_does_it_is_left_as_recorded() {
    let other = Lock::mutex(640);
    let holds = [What::Acquire { lock: other, mode: MODE, site: SiteId(2) }];
    let meets = [What::BarrierArrive { barrier: 512, site: SITE }, What::BarrierLeave { barrier: 512, serial: false }];
    for each in [&holds[..1], &meets[..]] {
        let program = kind(&takes(30, 1000, each), &takes(10, 1050, each));
        assert!(
            program.stores.is_empty() && program.replayability.dynamic >= 40,
            "{each:?}: {:?}",
            program.replayability
        );
    }
    // One after the other: they have nothing in common.
    let program = kind(&takes(30, 1000, &[]), &[]);
    assert!(program.stores.is_empty());
}

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
fn barriers_semaphores_and_families_are_replayed() {
    let (barrier, semaphore) = (256, 512);
    let mut events = vec![
        (0, 0, START),
        (1, 0, What::Init { sort: baton_trace::Waitable::Barrier, address: barrier, site: SITE }),
        (1, 0, What::Attribute { address: barrier, value: 2 }),
        (2, 0, What::Init { sort: baton_trace::Waitable::Semaphore, address: semaphore, site: SITE }),
        (2, 0, What::Attribute { address: semaphore, value: 1 }),
        (5, 0, What::Create { site: SITE }),
        (6, 0, What::Created { handle: 77, error: 0 }),
        (7, 1, What::ThreadStart { handle: 77 }),
    ];
    for thread in 0..2 {
        let t = 100 + 40 * u64::from(thread);
        events.extend([
            (t, thread, What::SemTake { semaphore, site: SITE }),
            (t + 10, thread, What::SemPost { semaphore, site: SITE }),
            (t + 50, thread, What::BarrierArrive { barrier, site: SITE }),
            (t + 200, thread, What::BarrierLeave { barrier, serial: thread == 0 }),
        ]);
    }
    events.extend([
        (400, 1, What::ThreadEnd { handle: 77 }),
        (350, 0, What::JoinBegin { handle: 77, site: SITE }),
        (420, 0, What::JoinEnd { handle: 77, error: 0 }),
    ]);
    let trace = trace(&events);
    let program = compile(&trace, &chip(), Probes::Kept);
    assert_eq!((&program.barriers, &program.semaphores), (&vec![2], &vec![1]));
    assert!(
        program.threads[0].ops.to_vec().contains(&Op::Spawn(1))
            && program.threads[0].ops.to_vec().contains(&Op::Join(1))
    );
    assert_eq!((program.threads[0].at.is_some(), program.threads[1].at), (true, None));
    let ask = Ask { choices: Vec::new(), networks: Vec::new(), seeds: 1, cpus: None, threads: None };
    let prediction = predict(&trace, &chip(), &ask, &|| {}).unwrap();
    assert_eq!(prediction.results.len(), 1);
    let depends = scale::to(program, 8).unwrap_err();
    assert!(matches!(depends, ScaleError::Depends { .. }), "{depends}");
}

#[test]
fn a_semaphore_that_signals_is_a_token_a_unit() {
    let semaphore = 512;
    let mut events = vec![
        (0, 0, START),
        (0, 1, START),
        (1, 0, What::Init { sort: baton_trace::Waitable::Semaphore, address: semaphore, site: SITE }),
        (1, 0, What::Attribute { address: semaphore, value: 1 }),
        (10, 0, What::SemTake { semaphore, site: SITE }),
        (20, 0, What::SemWait { semaphore, site: SITE }),
        (300, 1, What::SemPost { semaphore, site: SITE }),
        (310, 0, What::SemTaken { semaphore, how: How::OPAQUE }),
    ];
    events.extend([(400, 0, END), (400, 1, END)]);
    let trace = trace(&events);
    let program = compile(&trace, &chip(), Probes::Kept);
    let steps = |thread: usize| -> Vec<Op> {
        program.threads[thread].ops.iter().filter(|op| !matches!(op, Op::Work(_))).collect()
    };
    assert_eq!((steps(0), steps(1)), (vec![Op::TokenWait(0)], vec![Op::TokenPost(0)]), "the first unit was there");
    let ask = Ask { choices: Vec::new(), networks: Vec::new(), seeds: 1, cpus: None, threads: None };
    let prediction = predict(&trace, &chip(), &ask, &|| {}).unwrap();
    assert!(prediction.check.replayed_ns.median >= 300, "the wait ends after the post");
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
    let ask = Ask { choices: choices.into(), networks: Vec::new(), seeds: 1, cpus: None, threads: None };
    let prediction = predict(&trace, &chip(), &ask, &|| {}).unwrap();
    let [_, futex, mcs] = &prediction.results[..] else { panic!("three rows") };
    assert_eq!((futex.time_ns, futex.spin_ns), (mcs.time_ns, mcs.spin_ns));
    assert!(mcs.spin_ns.median > 50_000, "{mcs:?}: the second spins while the first holds it");
}

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
    let ask = Ask { choices: Vec::new(), networks: Vec::new(), seeds: 1, cpus: None, threads: None };
    let refused = predict(&trace(&[]), &chip(), &ask, &|| {}).unwrap_err();
    assert_eq!(refused.to_string(), "the trace is empty: there is nothing to replay");
}

/// Two threads that compute for a millisecond each, their CPUs as given.
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

/// CPUs 4 and 5 of the recorded machine are cores 0 and 1; threads that share one take turns, whatever else is idle.
#[test]
fn threads_stay_on_their_cpus() {
    let chip = common::chip(&["core.clock_hz=1000000000", "core.count=4", "core.per_cluster=4"]);
    let run = |events: &[(u64, u32, What)], cpus| {
        let program = std::sync::Arc::new(compile(&trace(events), &chip, Probes::Kept));
        let choice = baton_replay::run::Choice { lock: "futex".into(), wait: baton_machine::Wait::Futex };
        let setup = baton_replay::run::Setup { choice, seed: 1, cpus, limit: None };
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
    // Two CPUs were recorded: so many cores are in use.
    assert_eq!(baton_replay::compile::cpus(&trace(&two_workers(&both, &both)), &chip), 2);
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

#[test]
fn a_meeting_that_nobody_left_holds_up_no_replay() {
    let barrier = 256;
    let mut events = vec![(0, 0, START), (0, 1, START)];
    for (round, left) in [(100, true), (1000, false)] {
        for thread in 0..2 {
            events.push((round + u64::from(thread), thread, What::BarrierArrive { barrier, site: SITE }));
        }
        for thread in (0..2).filter(|_| left) {
            // The first is back before the second has left.
            let at = round + 10 + 40 * u64::from(thread);
            events.push((at, thread, What::BarrierLeave { barrier, serial: thread == 0 }));
        }
    }
    events.push((120, 0, What::BarrierArrive { barrier, site: SITE }));
    events.push((160, 1, What::BarrierArrive { barrier, site: SITE }));
    events.push((170, 0, What::BarrierLeave { barrier, serial: true }));
    events.push((171, 1, What::BarrierLeave { barrier, serial: false }));
    events.sort_by_key(|&(time, ..)| time);
    let program = program(&events);
    assert_eq!(program.barriers, [2], "never three, though three stood there between an arrival and a leaving");
    for thread in &program.threads {
        assert_eq!(thread.ops.iter().filter(|op| *op == Op::Meet(0)).count(), 2);
    }
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
fn stalls_of_holds_are_cut_and_drawn_anew() {
    let mut events = vec![(0, 0, START)];
    for i in 0..100 {
        let (t, stall) = (1000 + 100_000 * i, if i == 40 { 30_000 } else { 0 });
        events.extend([(t, 0, acquire()), (t + 200 + i % 3 + stall, 0, release())]);
    }
    let longest = |program: &Program| {
        let ops = program.threads[0].ops.to_vec();
        let held = ops.windows(2).filter(|pair| matches!(pair[0], Op::Lock(_)));
        held.filter_map(|pair| if let Op::Work(cycles) = pair[1] { Some(cycles) } else { None }).max().unwrap()
    };
    let kept = compile(&trace(&events), &chip(), Probes::Kept);
    assert!(longest(&kept) > 30_000 && kept.stalls.cycles.is_empty(), "the recorded run as it was");
    let program = compile(&trace(&events), &chip(), Probes::Subtracted);
    assert!(longest(&program) < 300, "{}", longest(&program));
    assert_eq!((program.stalls.holds, program.stalls.cycles.len()), (100, 1));
    assert!((29_990..30_010).contains(&program.stalls.cycles[0]), "{:?}", program.stalls);
    assert!(program.notes.iter().any(|note| note.starts_with("1 of 100 holds")), "{:?}", program.notes);
    // Over seeds, one a run in the mean, at other places.
    let program = std::sync::Arc::new(program);
    let time = |seed| {
        let choice = baton_replay::run::Choice { lock: "futex".into(), wait: baton_machine::Wait::Futex };
        baton_replay::run::run(&program, &chip(), &baton_replay::run::Setup { choice, seed, cpus: 1, limit: None })
            .unwrap()
            .time
            .0
    };
    let times: Vec<u64> = (1..=40).map(time).collect();
    let least = *times.iter().min().unwrap();
    let stalls: u64 = times.iter().map(|time| (time - least + 15_000) / 30_000).sum();
    assert!((15..=70).contains(&stalls), "{stalls} in 40 runs: {times:?}");
    assert_eq!(time(3), times[2], "the seed decides");
}

/// Two workers that share out work; what the second one's last item waits for is signalled by the first thread, after it was
/// signalled by the worker that has left: `by_way` of it, or else by a third worker that has no part in it.
fn items_and_a_leaver(by_way: bool) -> Trace {
    let (condition, answer) = (600, 700);
    let other = |n: u64| Lock::mutex(1000 + 64 * n);
    let take = |lock| What::Acquire { lock, mode: MODE, site: SiteId(9) };
    let give = |lock| What::Release { lock, mode: MODE, site: SiteId(9) };
    let mut events = vec![(0, 0, START)];
    for thread in 1..=3 {
        let handle = 10 + u64::from(thread);
        events.push((1 + 3 * u64::from(thread), 0, What::Create { site: SITE }));
        events.push((2 + 3 * u64::from(thread), thread, What::ThreadStart { handle }));
        events.push((3 + 3 * u64::from(thread), 0, What::Created { handle, error: 0 }));
    }
    let wait = |t, thread, lock, condition| {
        vec![
            (t, thread, take(lock)),
            (t + 1, thread, What::CondWait { condition, site: SITE }),
            (t + 2, thread, What::CondMutex { mutex: lock.address }),
            (t + 3, thread, give(lock)),
        ]
    };
    let woken = |t, thread, lock, condition| {
        vec![
            (t, thread, What::CondWake { condition, reason: WakeReason::Woken }),
            (t + 1, thread, take(lock)),
            (t + 2, thread, give(lock)),
        ]
    };
    // The first thread waits for who has left; the second worker takes most items.
    events.extend(wait(50, 0, other(0), condition));
    for item in 0..40u64 {
        let (t, thread) = (100 + 100 * item, if item < 10 { 1 + (item % 2) as u32 } else { 2 });
        events.extend([(t, thread, acquire()), (t + 10, thread, release())]);
        if item == 20 {
            events.extend(wait(t + 20, 2, other(1), answer));
            events.push((t + 30, if by_way { 1 } else { 3 }, What::CondSignal { condition, site: SITE }));
            events.extend(woken(t + 40, 0, other(0), condition));
            events.push((t + 50, 0, What::CondSignal { condition: answer, site: SITE }));
            events.extend(woken(t + 60, 2, other(1), answer));
        }
    }
    events.sort_by_key(|&(time, ..)| time);
    trace(&events)
}

#[test]
fn no_store_is_made_whose_items_wait_by_way_of_others_for_a_thread_that_has_left() {
    let made = |by_way| compile(&items_and_a_leaver(by_way), &chip(), Probes::Subtracted);
    assert_eq!((made(false).stores.len(), made(true).stores.len()), (1, 0));
    for program in [made(false), made(true)].map(std::sync::Arc::new) {
        for seed in 1..20 {
            let choice = baton_replay::run::Choice { lock: "futex".into(), wait: baton_machine::Wait::Futex };
            let setup = baton_replay::run::Setup { choice, seed, cpus: 2, limit: None };
            assert!(baton_replay::run::run(&program, &chip(), &setup).is_ok(), "seed {seed}");
        }
    }
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
