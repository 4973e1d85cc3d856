//! Tests for waits in futexes of the program's own, and for locks inside of the C library.

use baton_trace::analysis::{Analysis, CriticalPath, Doing, OffCpu, WaitKind, WaitableReport, Window, off_cpu};
use baton_trace::{Clock, FutexEnd, OffReason, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, What};

const FUTEX: u64 = 0x1000;
const SITE: SiteId = SiteId(1);
const MARK: What = What::Marker { name: 0, value: 0 };
const OFF: What = What::OffCpu { tid: 0, reason: OffReason::Blocked };
const ON: What = What::OnCpu { tid: 0, cpu: 0 };

/// Builds a trace from events given as (time, thread, what).
fn trace(events: &[(u64, u32, What)]) -> Trace {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    for (time, thread, what) in events {
        builder.push(Ticks(*time), ThreadIndex(*thread), *what);
    }
    builder.build()
}

const fn wait() -> What {
    What::FutexWait { futex: FUTEX, site: SITE }
}
const fn ended(end: FutexEnd) -> What {
    What::FutexWaitEnd { futex: FUTEX, end }
}
const fn wake() -> What {
    What::FutexWake { futex: FUTEX, site: SITE }
}
const fn woke(woken: u32) -> What {
    What::FutexWoke { futex: FUTEX, asked: 1, woken }
}

fn steps(trace: &Trace) -> Vec<(u32, u64, u64, Doing)> {
    let path = CriticalPath::of(trace, &Window::whole(trace));
    path.segments.iter().map(|s| (s.thread.0, s.begin.0, s.end.0, s.doing)).collect()
}

fn waitable(trace: &Trace) -> WaitableReport {
    let mut waitables = Analysis::of(trace, Window::whole(trace)).waitables;
    assert_eq!(waitables.len(), 1);
    waitables.remove(0)
}

/// Three threads share a lock made of a futex: thread 0 has it from 0 to 100, thread 1 from 110 to
/// 200, thread 2 from 205 on.
fn handed_on() -> Trace {
    trace(&[
        (0, 0, MARK),
        (10, 1, wait()),
        (12, 2, wait()),
        (100, 0, wake()),
        (100, 0, woke(1)),
        (110, 1, ended(FutexEnd::Woken)),
        (200, 1, wake()),
        (200, 1, woke(1)),
        (205, 2, ended(FutexEnd::Woken)),
        (300, 2, MARK),
    ])
}

#[test]
fn the_path_goes_over_to_the_waker() {
    let trace = handed_on();
    let object = waitable(&trace).id;
    let (kind, handed) = (WaitKind::Futex, Some(object));
    let expected = [
        (0, 0, 100, Doing::Running),
        (1, 100, 110, Doing::HandOff { kind, object: handed }),
        // Thread 2 waits while thread 1 runs.
        (1, 110, 200, Doing::Awaited { kind, object, off: None }),
        (2, 200, 205, Doing::HandOff { kind, object: handed }),
        (2, 205, 300, Doing::Running),
    ];
    assert_eq!(steps(&trace), expected);
}

#[test]
fn waits_and_wakes_are_counted() {
    let stats = waitable(&handed_on()).stats;
    assert_eq!((stats.wait.count, stats.wait.sum, stats.signals), (2, Ticks(100 + 193), 2));
    assert_eq!((stats.wake.count, stats.wake.sum, stats.timeouts), (2, Ticks(10 + 5), 0));
}

#[test]
fn work_that_nobody_waits_for_meanwhile_is_work() {
    // Thread 0 runs from 110 to 200. Thread 1 begins to wait for it only at 150, so up to then
    // thread 0 just runs.
    let trace = trace(&[
        (0, 1, MARK),
        (5, 0, wait()),
        (100, 1, wake()),
        (100, 1, woke(1)),
        (110, 0, ended(FutexEnd::Woken)),
        (150, 1, wait()),
        (200, 0, wake()),
        (200, 0, woke(1)),
        (210, 1, ended(FutexEnd::Woken)),
        (300, 1, MARK),
    ]);
    let (kind, object) = (WaitKind::Futex, waitable(&trace).id);
    let along: Vec<_> = steps(&trace).into_iter().filter(|step| step.0 == 0).skip(1).collect();
    assert_eq!(along, [(0, 110, 150, Doing::Running), (0, 150, 200, Doing::Awaited { kind, object, off: None })]);
}

#[test]
fn a_wake_that_found_nobody_is_no_cause() {
    let trace = trace(&[
        (0, 0, MARK),
        (10, 1, wait()),
        (50, 0, wake()),
        (50, 0, woke(0)),
        (90, 2, wake()),
        (90, 2, woke(1)),
        (100, 1, ended(FutexEnd::Woken)),
        (120, 1, MARK),
    ]);
    let hop = steps(&trace).into_iter().find(|step| matches!(step.3, Doing::HandOff { .. }));
    assert_eq!(hop.map(|step| (step.0, step.1, step.2)), Some((1, 90, 100)));
    assert_eq!(waitable(&trace).stats.signals, 2);
}

#[test]
fn one_wake_may_wake_many() {
    let trace = trace(&[
        (0, 0, MARK),
        (10, 1, wait()),
        (11, 2, wait()),
        (50, 0, wake()),
        (50, 0, What::FutexWoke { futex: FUTEX, asked: What::MANY, woken: 2 }),
        (60, 2, ended(FutexEnd::Woken)),
        (70, 1, ended(FutexEnd::Woken)),
        (80, 1, MARK),
    ]);
    let stats = waitable(&trace).stats;
    assert_eq!((stats.wake.count, stats.wake.sum), (2, Ticks(10 + 20)));
}

#[test]
fn a_changed_value_is_no_wait_and_a_time_out_has_no_cause() {
    let trace = trace(&[
        (0, 0, MARK),
        (10, 1, wait()),
        (11, 1, ended(FutexEnd::Changed)),
        (20, 1, wait()),
        (30, 0, wake()),
        (30, 0, woke(0)),
        (90, 1, ended(FutexEnd::TimedOut)),
        (100, 1, MARK),
    ]);
    let report = waitable(&trace);
    let (kind, object) = (WaitKind::Futex, Some(report.id));
    assert_eq!((report.stats.wait.count, report.stats.timeouts, report.stats.immediate), (1, 1, 1));
    assert!(steps(&trace).contains(&(1, 20, 90, Doing::Waiting { kind, object })));
}

#[test]
fn time_off_the_cpu_inside_of_such_waits_belongs_to_them() {
    let trace = trace(&[
        (0, 0, MARK),
        (10, 0, wait()),
        (12, 0, OFF),
        (88, 0, ON),
        (90, 0, ended(FutexEnd::Woken)),
        (100, 0, What::LibcWait { lock: 0x2000, site: SITE }),
        (102, 0, OFF),
        (140, 0, ON),
        (140, 0, What::LibcTaken { lock: 0x2000 }),
        (150, 0, OFF),
        (160, 0, ON),
        (170, 0, MARK),
    ]);
    let stretches: Vec<_> = off_cpu(&trace)[0].stretches.iter().map(|s| (s.begin.0, s.end.0, s.why)).collect();
    assert_eq!(stretches, [(150, 160, OffCpu::Blocked)]);
    let thread = Analysis::of(&trace, Window::whole(&trace)).threads.remove(0);
    assert_eq!((thread.futexes, thread.libc_locks), (Ticks(80), Ticks(40)));
}

#[test]
fn a_lock_of_the_c_library_is_handed_on_by_its_last_wake() {
    let (lock, libc_wait) = (0x2000, What::LibcWait { lock: 0x2000, site: SITE });
    let trace = trace(&[
        (0, 0, MARK),
        (10, 1, libc_wait),
        (12, 1, OFF),
        (50, 0, What::LibcWake { lock, site: SITE }),
        // Thread 1 is woken by the first release, finds the lock taken again, and sleeps until the
        // second release. Its hand-off must begin at the second.
        (80, 0, What::LibcWake { lock, site: SITE }),
        (95, 1, ON),
        (95, 1, What::LibcTaken { lock }),
        (120, 1, MARK),
    ]);
    let hop = steps(&trace).into_iter().find(|step| matches!(step.3, Doing::HandOff { .. }));
    let (kind, object) = (WaitKind::LibcLock, Some(waitable(&trace).id));
    assert_eq!(hop, Some((1, 80, 95, Doing::HandOff { kind, object })));
}
