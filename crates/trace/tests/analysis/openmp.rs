//! Tests for OpenMP's teams: regions and the threads that come last to their ends, workers between
//! regions, and tasks that run inside of waits.

use baton_trace::analysis::{Analysis, CriticalPath, Doing, WaitKind, Window, off_cpu};
use baton_trace::{Clock, Construct, OffReason, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, What};

const REGION: u64 = 0x1234;
const OPENS: SiteId = SiteId(1);
const CREATES: SiteId = SiteId(2);
const WAITS: SiteId = SiteId(3);

fn trace(events: &[(u64, u32, What)]) -> Trace {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.site(OPENS, &[REGION]).site(CREATES, &[0x20]).site(WAITS, &[0x30]);
    for (time, thread, what) in events {
        trace.push(Ticks(*time), ThreadIndex(*thread), *what);
    }
    trace.build()
}

fn fork() -> What {
    What::Fork { region: REGION, site: OPENS }
}

fn begins(idled: bool) -> What {
    What::TeamBegin { region: REGION, threads: 3, idled }
}

fn arrives() -> What {
    What::BarrierArrive { barrier: REGION, site: OPENS }
}

fn leaves() -> What {
    What::BarrierLeave { barrier: REGION, serial: false }
}

/// The events of two regions with three threads. Thread 1 comes last to the end of the first
/// region, thread 0, the master, to that of the second. 200 ns pass between the regions.
fn two_regions() -> Vec<(u64, u32, What)> {
    let idle = What::IdleBegin { region: REGION };
    vec![
        (0, 0, What::ThreadStart { handle: 1 }),
        (10, 1, What::ThreadStart { handle: 2 }),
        (10, 2, What::ThreadStart { handle: 3 }),
        (100, 0, fork()),
        (110, 0, begins(false)),
        (110, 1, begins(false)),
        (110, 2, begins(false)),
        (150, 0, What::Construct { barrier: REGION, construct: Construct::Region }),
        (200, 0, arrives()),
        (300, 2, arrives()),
        (500, 1, arrives()),
        (501, 1, leaves()),
        (501, 1, idle),
        (501, 2, leaves()),
        (501, 2, idle),
        (520, 0, leaves()),
        (720, 0, fork()),
        (725, 0, begins(false)),
        (731, 1, begins(true)),
        (741, 2, begins(true)),
        (800, 1, arrives()),
        (810, 2, arrives()),
        (900, 0, arrives()),
        (901, 1, leaves()),
        (901, 1, idle),
        (901, 2, leaves()),
        (901, 2, idle),
        (905, 0, leaves()),
        (1000, 2, What::ThreadEnd { handle: 3 }),
        (1000, 0, What::ThreadEnd { handle: 1 }),
    ]
}

#[test]
fn regions_are_counted_and_who_comes_last_is_told() {
    let trace = trace(&two_regions());
    let analysis = Analysis::of(&trace, Window::whole(&trace));
    let [region] = &analysis.regions[..] else { panic!("one call site: {:?}", analysis.regions) };
    assert_eq!((region.site, region.time.count, region.time.sum), (OPENS, 2, Ticks(420 + 185)));
    assert_eq!((region.least, region.most, region.capacity), (3, 3, Ticks(3 * (420 + 185))));
    let [barrier] = &analysis.waitables[..] else { panic!("one barrier") };
    let stats = &barrier.stats;
    assert_eq!((stats.construct, stats.rounds), (Some(Construct::Region), 2));
    let last: Vec<_> = stats.last.iter().map(|(thread, rounds)| (thread.0, *rounds)).collect();
    assert_eq!(last, [(0, 1), (1, 1)]);
    assert_eq!(stats.wait.sum, Ticks((320 + 1 + 201) + (5 + 101 + 91)));
    // A worker is idle from the end of a region to the beginning of the next one, and after the
    // last region to the worker's own last event.
    let of = |n: usize| (analysis.threads[n].barriers, analysis.threads[n].idle);
    assert_eq!(of(0), (Ticks(325), Ticks(0)));
    assert_eq!(of(1), (Ticks(1 + 101), Ticks(230)));
    assert_eq!(of(2), (Ticks(201 + 91), Ticks(240 + 99)));
}

#[test]
fn the_path_goes_from_a_worker_to_the_master_that_opened_its_region() {
    let mut events = two_regions();
    // In the second region, thread 2 must come last: moves its arrival from 810 to 950.
    events.retain(|(time, thread, _)| !(*time == 810 && *thread == 2));
    events.push((950, 2, arrives()));
    for (time, ..) in events.iter_mut().filter(|(time, ..)| *time == 901 || *time == 905) {
        *time += 60;
    }
    let trace = trace(&events);
    let path = CriticalPath::of(&trace, &Window::whole(&trace));
    let hand_offs: Vec<_> = path
        .segments
        .iter()
        .filter_map(|segment| match segment.doing {
            Doing::HandOff { kind, .. } => Some((kind, segment.thread.0, segment.begin.0, segment.end.0)),
            _ => None,
        })
        .collect();
    let expected = [(WaitKind::Barrier, 0, 500, 520), (WaitKind::Idle, 2, 720, 741), (WaitKind::Barrier, 0, 950, 965)];
    assert_eq!(hand_offs, expected);
}

/// A thread that runs tasks at a barrier waits only between the tasks, and the end of the last task
/// lets the other threads go on.
#[test]
fn tasks_in_a_wait_are_no_wait() {
    let task = |n| What::TaskBegin { task: n };
    let ends = |n| What::TaskEnd { task: n };
    let trace = trace(&[
        (0, 0, What::ThreadStart { handle: 1 }),
        (0, 1, What::ThreadStart { handle: 2 }),
        (100, 1, arrives()),
        (200, 0, What::TaskCreate { task: 7, site: CREATES }),
        (210, 0, What::TaskCreate { task: 8, site: CREATES }),
        (220, 1, task(7)),
        (300, 0, What::TaskWaitBegin { site: WAITS }),
        (310, 0, task(8)),
        (350, 0, ends(8)),
        (600, 1, ends(7)),
        (610, 0, What::TaskWaitEnd),
        (700, 0, arrives()),
        (710, 0, leaves()),
        (720, 1, leaves()),
        (800, 0, What::ThreadEnd { handle: 1 }),
        (800, 1, What::ThreadEnd { handle: 2 }),
    ]);
    let analysis = Analysis::of(&trace, Window::whole(&trace));
    assert_eq!(analysis.threads[1].barriers, Ticks(120 + 120), "120 before the task, 120 behind it");
    assert_eq!(analysis.threads[0].tasks, Ticks(10 + 260));
    let [wait] = &analysis.task_waits[..] else { panic!("one place waits") };
    assert_eq!((wait.site, wait.whole.sum, wait.running), (WAITS, Ticks(310), Ticks(40)));
    let [tasks] = &analysis.tasks[..] else { panic!("one place creates") };
    assert_eq!((tasks.site, tasks.run.count, tasks.run.sum, tasks.moved), (CREATES, 2, Ticks(380 + 40), 1));
    // The end of task 7, which another thread runs until 600, ends thread 0's wait for tasks at
    // 610.
    let path = CriticalPath::of(&trace, &Window::whole(&trace));
    let tasks = path.time(|doing| matches!(doing, Doing::HandOff { kind: WaitKind::Tasks, .. }));
    assert_eq!(tasks, Ticks(10), "from its end to the waiter; from its creation to its begin is the barrier's");
}

/// Time off the CPU inside a task that runs at a barrier does not belong to the wait at the
/// barrier.
#[test]
fn a_task_that_sleeps_is_off_its_cpu() {
    let trace = trace(&[
        (0, 0, What::ThreadStart { handle: 1 }),
        (100, 0, arrives()),
        (150, 0, What::OffCpu { tid: 0, reason: OffReason::Blocked }),
        (190, 0, What::OnCpu { tid: 0, cpu: 0 }),
        (200, 0, What::TaskBegin { task: 1 }),
        (210, 0, What::OffCpu { tid: 0, reason: OffReason::Blocked }),
        (260, 0, What::OnCpu { tid: 0, cpu: 0 }),
        (300, 0, What::TaskEnd { task: 1 }),
        (310, 0, What::OffCpu { tid: 0, reason: OffReason::Blocked }),
        (390, 0, What::OnCpu { tid: 0, cpu: 0 }),
        (400, 0, leaves()),
        (500, 0, What::ThreadEnd { handle: 1 }),
    ]);
    let off: Vec<_> = off_cpu(&trace)[0].stretches.iter().map(|s| (s.begin.0, s.end.0)).collect();
    assert_eq!(off, [(210, 260)]);
}
