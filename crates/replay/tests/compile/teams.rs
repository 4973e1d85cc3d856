//! Tests what becomes of OpenMP's teams and tasks: where their threads meet, and what they wait
//! for.

use super::*;
use baton_machine::Wait;
use baton_replay::change::{Change, Meeting};
use baton_replay::predict::{Ask, predict};
use baton_replay::program::Op;
use baton_sync::barrier::BARRIERS;
use baton_trace::Construct;

const REGION: u64 = 0x1234;

fn begins(idled: bool) -> What {
    What::TeamBegin { region: REGION, threads: 2, idled }
}

fn arrives(barrier: u64) -> What {
    What::BarrierArrive { barrier, site: SITE }
}

fn leaves(barrier: u64) -> What {
    What::BarrierLeave { barrier, serial: false }
}

/// The events of `count` regions of two threads. The master starts the worker in the first region.
/// In each region, the worker works for `work` ticks and the master for half of that.
fn regions(count: u64, work: u64) -> Vec<(u64, u32, What)> {
    let mut events = vec![(0, 0, START), (10, 0, What::Fork { region: REGION, site: SITE })];
    events.extend([
        (20, 0, What::Create { site: SITE }),
        (30, 1, What::ThreadStart { handle: 77 }),
        (40, 0, What::Created { handle: 77, error: 0 }),
        (45, 0, What::Construct { barrier: REGION, construct: Construct::Region }),
    ]);
    let mut now = 50;
    for region in 0..count {
        let idle = What::IdleBegin { region: REGION };
        if region > 0 {
            events.push((now - 20, 0, What::Fork { region: REGION, site: SITE }));
        }
        events.extend([
            (now, 0, begins(false)),
            (now + 5, 1, begins(region > 0)),
            (now + work / 2, 0, arrives(REGION)),
            (now + work, 1, arrives(REGION)),
            (now + work + 1, 1, leaves(REGION)),
            (now + work + 1, 1, idle),
            (now + work + 10, 0, leaves(REGION)),
        ]);
        now += work + 1000;
    }
    events.push((now, 0, END));
    events
}

fn meets(ops: &baton_replay::program::Ops) -> usize {
    ops.iter().filter(|op| matches!(op, Op::Meet(0))).count()
}

#[test]
fn a_team_meets_at_a_regions_begin_and_at_its_end() {
    let program = program(&regions(3, 5000));
    assert_eq!(program.barriers, [2]);
    assert!(program.teams.contains(&0), "libgomp's barrier stands for it");
    for thread in &program.threads {
        assert_eq!(meets(&thread.ops), 6, "{:?}", thread.ops);
    }
    let at = program.threads[0].ops.iter().position(|op| op == Op::Spawn(1)).expect("the master starts its worker");
    assert!(matches!(program.threads[0].ops.at(at + 1), Op::Meet(0)), "{:?}", program.threads[0].ops);
    // The time before a team begins is no work, so the worker has only its own, 3 times 5,000.
    let work: u64 = program.threads[1].ops.iter().map(|op| if let Op::Work(work) = op { work } else { 0 }).sum();
    assert!((14_900..15_100).contains(&work), "{work}");
    assert_eq!(program.replayability.not_replayable(), 0, "{:?}", program.replayability);
}

#[test]
fn every_barrier_stands_in_for_the_teams() {
    let trace = trace(&regions(20, 20_000));
    let changes: Vec<Change> = BARRIERS
        .iter()
        .flat_map(|barrier| [Wait::Futex, Wait::Pause].map(|wait| Meeting { barrier: barrier.name.into(), wait }))
        .map(|barrier| Change { text: barrier.barrier.clone(), barrier: Some(barrier), ..Change::default() })
        .collect();
    let rows = changes.len();
    let ask = Ask { changes, cpus: Some(2), ..Ask::default() };
    let prediction = predict(&trace, &chip(), &ask, &|| {}).unwrap();
    assert_eq!(prediction.results.len(), 1 + rows);
    for row in &prediction.results {
        let floor = 20 * 20_000;
        let time = row.time_ns.median;
        assert!(row.failed.is_none() && (floor..2 * floor).contains(&time), "{} {}: {time}", row.lock, row.wait);
    }
    let ask = Ask { changes: ask.changes, ..ask };
    let error = predict(&super::trace(&[(0, 0, START), (10, 0, END)]), &chip(), &ask, &|| {}).unwrap_err();
    assert!(error.to_string().contains("no barrier"), "{error}");
}

/// While the worker waits at a barrier, it runs task 1, which the master created before. Later the
/// worker runs task 2, which the master created after the master had left the barrier: so the
/// worker must meet the master before task 2.
#[test]
fn tasks_wait_for_their_creation_and_who_waits_for_tasks_for_their_ends() {
    let barrier = 0x99;
    let create = |task| What::TaskCreate { task, site: SITE };
    let mut events =
        vec![(0, 0, START), (0, 1, START), (40, 0, What::Construct { barrier, construct: Construct::Barrier })];
    events.extend([
        (100, 1, arrives(barrier)),
        (200, 0, create(1)),
        (210, 1, What::TaskBegin { task: 1 }),
        (220, 0, What::TaskWaitBegin { site: SITE }),
        (900, 1, What::TaskEnd { task: 1 }),
        (910, 0, What::TaskWaitEnd),
        (1000, 0, arrives(barrier)),
        (1010, 0, leaves(barrier)),
        (1100, 0, create(2)),
        (1110, 1, What::TaskBegin { task: 2 }),
        (1200, 1, What::TaskEnd { task: 2 }),
        (1210, 1, leaves(barrier)),
        (1300, 1, END),
        (1400, 0, END),
    ]);
    let trace = trace(&events);
    let program = compile(&trace, &chip(), Probes::Kept);
    let steps = |thread: usize| -> Vec<Op> {
        program.threads[thread].ops.iter().filter(|op| !matches!(op, Op::Work(_))).collect()
    };
    assert_eq!(steps(0), [Op::TokenPost(0), Op::TokenWait(1), Op::Meet(0), Op::TokenPost(2)]);
    assert_eq!(steps(1), [Op::TokenWait(0), Op::TokenPost(1), Op::Meet(0), Op::TokenWait(2)]);
    let prediction = predict(&trace, &chip(), &Ask::default(), &|| {}).unwrap();
    assert!(prediction.results[0].failed.is_none(), "{:?}", prediction.results[0].failed);
    assert!(prediction.notes.iter().any(|note| note.contains("2 tasks") && note.contains("2 of them")));
}
