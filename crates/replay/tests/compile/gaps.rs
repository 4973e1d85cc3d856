//! Tests what becomes of the time between events: work, blocked time, stalls, and the cost of
//! recording.

use super::{END, START, acquire, acquired, chip, program, release, request, trace};
use baton_replay::compile::{Probes, compile};
use baton_replay::program::{Op, Program};
use baton_trace::{OffReason, What};

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

/// A thread blocks from 100 to 600, within a pause of the recorder from 50 to 700. In a replay that
/// includes recording, the thread sleeps for 500. In a replay without recording, all 650 of the
/// pause are left out, and none of it twice.
#[test]
fn a_pause_in_which_the_recorder_slept_is_left_out_once() {
    let events = [
        (0, 0, START),
        (0, 0, What::ProbeCost { probe: 0, picoseconds: 30_000 }),
        (100, 0, What::OffCpu { tid: 0, reason: OffReason::Blocked }),
        (600, 0, What::OnCpu { tid: 0, cpu: 0 }),
        (700, 0, What::Pause { ticks: 650 }),
        (1001, 0, acquire()),
        (1100, 0, release()),
        (1101, 0, END),
    ];
    assert_eq!(program(&events).threads[0].ops.to_vec()[..3], [Op::Work(500), Op::Delay(500), Op::Lock(0)]);
    let without = compile(&trace(&events), &chip(), Probes::Subtracted);
    assert_eq!(without.threads[0].ops.to_vec()[..2], [Op::Work(1000 - 650 - 30), Op::Lock(0)]);
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
    // In the 10 ms up to this event, the thread uses 1 ms of CPU time (1,000 to 1,004,000 ns), so
    // it was off the CPU for 9 ms.
    events.push((10_002_000, 0, acquire()));
    events.push((10_003_000, 0, release()));
    events.extend(contend(10_004_000, 1_004_000));
    events.extend([(10_005_000, 0, release()), (10_006_000, 0, END)]);
    let program = program(&events);
    let slept: u64 = program.threads[0].ops.to_vec().iter().map(|op| if let Op::Delay(n) = op { *n } else { 0 }).sum();
    assert!((8_990_000..9_010_000).contains(&slept), "{slept}");
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
    // Each run has one stall in 100 holds on average, at a place that the seed draws: about 40
    // stalls in 40 runs.
    let program = std::sync::Arc::new(program);
    let time = |seed| {
        let choice = baton_replay::run::Choice { lock: "futex".into(), wait: baton_machine::Wait::Futex };
        baton_replay::run::run(
            &program,
            &chip(),
            &baton_replay::run::Setup { seed, ..baton_replay::run::Setup::new(choice, 1) },
        )
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
