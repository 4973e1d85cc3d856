//! A program is recorded on the simulated chip and replayed there. The replay must take as long as
//! the recorded run, and a lock that is predicted must behave as that lock does.

mod common;

use baton_machine::Wait;
use baton_machine::units::Cycles;
use baton_replay::compile::{Probes, compile};
use baton_replay::program::{Around, LockSpec, Op, Program, Script};
use baton_replay::run::{Choice, RunError, Setup, run, run_recorded};
use baton_replay::{Ask, predict};
use baton_trace::analysis::{Analysis, Window};
use common::{Work, chip, record};
use std::sync::Arc;

fn ask(locks: &[(&str, Wait)], seeds: u32) -> Ask {
    let choices = locks.iter().map(|&(lock, wait)| Choice { lock: lock.into(), wait }).collect();
    Ask { choices, seeds, ..Ask::default() }
}

const BUSY: Work = Work { threads: 4, rounds: 300, think: 3000, critical: 400, lines: 0, sleep: None };

#[test]
fn the_recorded_lock_takes_the_recorded_time() {
    for (work, settings) in [
        (Work { threads: 1, ..BUSY }, &[][..]),
        (Work { threads: 2, rounds: 500, ..BUSY }, &[]),
        (BUSY, &["core.count=4", "core.per_cluster=4"]),
        // Here there are more threads than cores.
        (Work { threads: 6, think: 30_000, critical: 3000, ..BUSY }, &["os.time_slice=200000"]),
        (Work { lines: 3, critical: 100, ..BUSY }, &["core.count=4", "core.per_cluster=4"]),
        (Work { sleep: Some((10, 400_000)), ..BUSY }, &["core.count=4", "core.per_cluster=4"]),
    ] {
        let chip = chip(settings);
        let (trace, time) = record(&chip, work, 1);
        let prediction = predict(&trace, &chip, &ask(&[], 3), &|| {}).unwrap();
        let error = prediction.check.error;
        assert!(error.abs() < 0.06, "{} threads, {settings:?}: {error:+.3} of {time}", work.threads);
        assert!(prediction.trustworthy, "{:?}", prediction.reasons);
        assert_eq!(prediction.results[0].counts.acquisitions, u64::from(work.threads * work.rounds));
    }
}

/// Every lock is replayed with waiters that sleep and that spin, with as many cores as threads and
/// with half as many. The totals of each run must agree with the analysis of a recording of the
/// same run, which adds the waits up in a way of its own.
#[test]
fn waiting_is_accounted_as_the_traces_analysis_does() {
    let chip = chip(&["os.time_slice=100000", "core.count=4", "core.per_cluster=4"]);
    let (trace, _) = record(&chip, Work { rounds: 100, think: 300, critical: 1500, ..BUSY }, 1);
    let program = Arc::new(compile(&trace, &chip, Probes::Kept));
    let mut rows = 0;
    for info in baton_sync::lock::LOCKS {
        for wait in [Wait::Futex, Wait::SpinPark(20), Wait::Pause] {
            if info.wait(Some(wait)).is_err() {
                continue;
            }
            for cpus in [2, 4] {
                let choice = Choice { lock: info.name.into(), wait };
                let setup = Setup::new(choice, cpus);
                let (ran, trace) = run_recorded(&program, &chip, &setup).unwrap();
                let analysis = Analysis::of(&trace, Window::whole(&trace));
                let (stats, row) = (&analysis.locks[0].stats, format!("{} {wait} on {cpus}", info.name));
                assert_eq!(ran.totals.acquisitions, stats.acquisitions, "{row}");
                assert_eq!(ran.totals.contended, stats.contended, "{row}");
                assert_eq!(ran.totals.sections.0, stats.sections.0, "{row}: critical sections");
                assert_eq!(ran.totals.overhead.0, stats.overhead.0, "{row}: competition overhead");
                // A hand-off takes time: a thread that waited must at least load the line that the
                // previous holder has written.
                assert!(stats.overhead.0 > 10 * stats.contended, "{row}: {} of {}", stats.overhead.0, stats.contended);
                rows += 1;
            }
        }
    }
    assert!(rows >= 60, "{rows}");
}

#[test]
fn lines_that_hop_are_inferred_and_charged_once() {
    let chip = chip(&["core.count=4", "core.per_cluster=4", "noise.latency=0.02"]);
    // There is little contention, so that there are holds after a hold on the same core and after
    // one on the other core.
    let work = Work { threads: 2, rounds: 3000, think: 4000, critical: 300, lines: 4, sleep: None };
    let (trace, _) = record(&chip, work, 1);
    let program = compile(&trace, &chip, Probes::Subtracted);
    let lines = program.locks[0].lines;
    if lines.own >= 30 && lines.foreign >= 30 {
        assert!(lines.low <= 4.0 && 4.0 <= lines.high + 0.5, "{lines:?}");
    }
    let prediction = predict(&trace, &chip, &ask(&[], 3), &|| {}).unwrap();
    assert!(prediction.check.error.abs() < 0.06, "{:+.3}", prediction.check.error);
}

#[test]
fn the_result_does_not_depend_on_the_number_of_workers() {
    let chip = chip(&[]);
    let (trace, _) = record(&chip, Work { rounds: 60, ..BUSY }, 1);
    let ask = ask(&[("mcs", Wait::SpinPark(128)), ("tas", Wait::Pause), ("ticket", Wait::Futex)], 4);
    let with = |workers| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
        pool.install(|| predict(&trace, &chip, &ask, &|| {}).unwrap())
    };
    let one = with(1);
    assert!(one == with(3));
    assert_eq!(one.results.len(), 4);
    assert!(one.results.iter().all(|row| row.by_seed_ns.len() == 4));
}

#[test]
fn a_recorded_wait_begins_when_it_has_been_written_down() {
    let hold = |at, cycles| Script {
        at: Some(Cycles(at)),
        ops: vec![Op::Lock(0), Op::Work(cycles), Op::Unlock(0)].into(),
        ..Script::default()
    };
    let program = Program {
        threads: vec![hold(0, 10_000), hold(1000, 100)],
        locks: vec![LockSpec::default()],
        ..Program::default()
    };
    let time = |around| {
        let choice = Choice { lock: "futex".into(), wait: Wait::Futex };
        let program = Arc::new(Program { around, ..program.clone() });
        let chip = chip(&["noise.start=0"]);
        run(&program, &chip, &Setup::new(choice, 2)).unwrap().time.0
    };
    // The second thread finds the lock taken. When it has read its CPU time, after 50,000 cycles,
    // the lock is free again, so no thread sleeps.
    let around = |before, behind| Around { before: Cycles(before), behind: Cycles(behind) };
    let free = time(around(50_000, 0));
    assert_eq!(time(around(50_007, 0)), free + 7);
    assert_eq!(time(around(50_000, 500)), free + 500, "and behind it, with the lock held");
    let asleep = time(Around::default());
    assert!((10_000..50_000).contains(&asleep), "{asleep}: it sleeps until the first one is through");
}

#[test]
fn a_collapse_is_cut_off_and_told() {
    // Six threads wait in a ticket lock by spinning only, with fewer cores: a preempted waiter
    // holds up all waiters behind it.
    let chip = chip(&["os.time_slice=2000000"]);
    let work = Work { threads: 6, rounds: 1500, think: 1000, critical: 2000, lines: 0, sleep: None };
    let (trace, _) = record(&chip, work, 1);
    let ask = ask(&[("ticket", Wait::Pause), ("ticket", Wait::Futex)], 2);
    let prediction = predict(&trace, &chip, &ask, &|| {}).unwrap();
    let (spinning, sleeping) = (&prediction.results[1], &prediction.results[2]);
    assert_eq!((spinning.cut_off, sleeping.cut_off), (2, 0));
    assert!(spinning.time_ns.median > sleeping.time_ns.median);
}

#[test]
fn years_of_time_slices_are_not_simulated() {
    // Damaged times in a trace can look like this: three threads on two CPUs, each of which
    // computes for years.
    let years = |at| Script { at: Some(Cycles(at)), ops: vec![Op::Work(1 << 57)].into(), ..Script::default() };
    let program = Arc::new(Program { threads: vec![years(0), years(1), years(2)], ..Program::default() });
    let choice = Choice { lock: "futex".into(), wait: Wait::Futex };
    let setup = Setup::new(choice, 2);
    let error = run(&program, &chip(&["os.time_slice=2000000"]), &setup).unwrap_err();
    assert!(matches!(error, RunError::TooLong { seconds: 1_000.., .. }), "{error}");
    // If the run has a limit that comes first, the run is cut off there.
    let setup = Setup { limit: Some(Cycles(1_000_000_000)), ..setup };
    assert!(run(&program, &chip(&["os.time_slice=2000000"]), &setup).unwrap().cut_off);
}

#[test]
fn a_prediction_is_what_the_other_lock_does() {
    // The run with the other lock is a second recording of the same program, under noise of another
    // seed. Its lock is `futex` as well, so the prediction can be compared with it.
    let chip = chip(&["core.count=4", "core.per_cluster=4"]);
    let (trace, _) = record(&chip, BUSY, 1);
    let (_, other) = record(&chip, BUSY, 7);
    let prediction = predict(&trace, &chip, &ask(&[("futex", Wait::Futex)], 5), &|| {}).unwrap();
    let predicted = prediction.results[1].time_ns.median as f64;
    let measured = chip.core.clock.nanos(other).0 as f64;
    assert!((predicted / measured - 1.0).abs() < 0.08, "{predicted} predicted, {measured} measured");
}

/// Interrupts of the clock stretch some holds of the recording. The replay has the clock as well, so that
/// holds would be stretched twice as often if the recorded stalls were drawn too.
#[test]
fn interrupts_of_the_machine_are_no_stalls_to_draw() {
    let chip = chip(&["core.count=2", "os.tick=50000", "os.tick_cost=12000", "noise.start=0"]);
    let (trace, _) = record(&chip, Work { threads: 2, rounds: 4000, think: 1200, critical: 800, ..BUSY }, 1);
    let recorded = compile(&trace, &chip, Probes::Subtracted).stalls.cycles.len();
    let prediction = predict(&trace, &chip, &ask(&[], 3), &|| {}).unwrap();
    let note = prediction.notes.iter().find(|note| note.contains("of these are interrupts")).expect("a note");
    let made: usize = note.split(": ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(recorded > 100 && made * 10 > recorded * 9, "{recorded} stalls: {note}");
}

#[test]
fn a_replay_that_fails_costs_its_own_row() {
    // Errors are put into rows by hand, because no trace gives a program that fails under only some
    // of the locks.
    let chip = chip(&[]);
    let (trace, _) = record(&chip, Work { rounds: 20, ..BUSY }, 1);
    let rows = ask(&[("mcs", Wait::SpinPark(128)), ("ticket", Wait::Futex)], 2);
    let mut ran = baton_replay::predict::run_all(&trace, &chip, &rows, &|| {}).unwrap();
    let stuck = {
        let waits = Script { at: Some(Cycles(0)), ops: vec![Op::TokenWait(0)].into(), ..Script::default() };
        let program = Program { threads: vec![waits], tokens: 1, ..Program::default() };
        let choice = Choice { lock: "mcs".into(), wait: Wait::SpinPark(128) };
        run(&Arc::new(program), &chip, &Setup::new(choice, 1)).unwrap_err()
    };
    ran.rows[0] = Err(stuck.clone());
    ran.rows[1] = Err(stuck.clone());
    ran.rows[2] = Err(stuck);
    let prediction = baton_replay::predict::conclude(&trace, &chip, &rows, ran).unwrap();
    let [own, mcs, ticket] = &prediction.results[..] else { panic!("three rows") };
    assert!(own.failed.is_none() && own.time_ns.median > 0);
    let failed = mcs.failed.as_ref().unwrap();
    assert!(failed.seeds == 2 && failed.why.contains("never ends under lock `mcs`"), "{failed:?}");
    assert_eq!((mcs.by_seed_ns.len(), mcs.speedup), (0, 0.0));
    assert!(ticket.failed.as_ref().unwrap().seeds == 1 && ticket.by_seed_ns.len() == 1 && ticket.time_ns.median > 0);
}
