//! Tests for time off the CPU: it is separated from running on the critical path, has the call
//! sites around it, and is never taken from a wait.

use baton_trace::analysis::{CriticalPath, Doing, Known, OffCpu, Window, off_cpu};
use baton_trace::{Clock, How, Lock, Mode, OffReason, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, What};

const LOCK: Lock = Lock::mutex(0x1000);
const HERE: SiteId = SiteId(1);
const THERE: SiteId = SiteId(2);

fn trace(events: &[(u64, u32, What)]) -> Trace {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.site(HERE, &[0x10]).site(THERE, &[0x20]);
    for (time, thread, what) in events {
        trace.push(Ticks(*time), ThreadIndex(*thread), *what);
    }
    trace.build()
}

fn acquire(site: SiteId) -> What {
    What::Acquire { lock: LOCK, mode: Mode::Exclusive, site }
}

fn release() -> What {
    What::Release { lock: LOCK, mode: Mode::Exclusive, site: SiteId::UNKNOWN }
}

fn off(reason: OffReason) -> What {
    What::OffCpu { tid: 0, reason }
}

const ON: What = What::OnCpu { tid: 0, cpu: 0 };

fn times(path: &CriticalPath) -> [u64; 4] {
    let of = |doing: Doing| path.time(|d| *d == doing).0;
    [Doing::Running, Doing::OffCpu(OffCpu::Ready), Doing::OffCpu(OffCpu::Blocked), Doing::OffCpu(OffCpu::Unknown)]
        .map(of)
}

/// A thread that sleeps for nearly all of its life does not count as running.
#[test]
fn a_sleeping_thread_does_not_run() {
    let trace = trace(&[
        (0, 0, What::ThreadStart { handle: 1 }),
        (1_000, 0, off(OffReason::Blocked)),
        (99_000, 0, ON),
        (100_000, 0, What::ThreadEnd { handle: 1 }),
    ]);
    let path = CriticalPath::of(&trace, &Window::whole(&trace));
    assert_eq!(times(&path), [2_000, 0, 98_000, 0]);
    let threads = off_cpu(&trace);
    assert_eq!(threads[0].known, Known::All);
    assert_eq!(
        (threads[0].stretches[0].after, threads[0].stretches[0].before),
        (None, None),
        "from its start to its end"
    );
}

/// A thread that blocks while the recorder makes room for events is not blocked by the program. The
/// recorder's pause lasts from 1,000 to 5,100, and the thread blocks in it for 3,900; the blocks of
/// 300 before and 100 after the pause stay the program's.
#[test]
fn time_in_the_recorder_is_told_apart() {
    let trace = trace(&[
        (0, 0, What::ThreadStart { handle: 1 }),
        (100, 0, off(OffReason::Blocked)),
        (400, 0, ON),
        (1_100, 0, off(OffReason::Blocked)),
        (5_000, 0, ON),
        (5_100, 0, What::Pause { ticks: 4_100 }),
        (6_000, 0, off(OffReason::Blocked)),
        (6_100, 0, ON),
        (8_000, 0, What::ThreadEnd { handle: 1 }),
    ]);
    let path = CriticalPath::of(&trace, &Window::whole(&trace));
    assert_eq!(path.time(|doing| *doing == Doing::OffCpu(OffCpu::Recorder)), Ticks(3_900));
    assert_eq!(times(&path), [8_000 - 3_900 - 400, 0, 400, 0]);
}

/// An interval off the CPU inside a recorded call has the call's site before and after it; the
/// intervals before and after the call have the call's site only on the side of the call.
#[test]
fn time_in_a_call_has_the_calls_own_site() {
    const CALL: SiteId = SiteId(3);
    let trace = trace(&[
        (0, 0, What::ThreadStart { handle: 1 }),
        (100, 0, acquire(HERE)),
        (200, 0, release()),
        (300, 0, off(OffReason::Preempted)),
        (400, 0, ON),
        (1_000, 0, off(OffReason::Blocked)),
        (5_000, 0, ON),
        (5_100, 0, What::Blocked { site: CALL, ticks: 4_200 }),
        (6_000, 0, off(OffReason::Preempted)),
        (6_100, 0, ON),
        (7_000, 0, acquire(THERE)),
        (7_100, 0, release()),
        (8_000, 0, What::ThreadEnd { handle: 1 }),
    ]);
    let threads = off_cpu(&trace);
    let sites: Vec<_> = threads[0].stretches.iter().map(|s| (s.begin.0, s.after, s.before)).collect();
    let all = [(300, HERE, CALL), (1_000, CALL, CALL), (6_000, CALL, THERE)];
    assert_eq!(sites, all.map(|(begin, after, before)| (begin, Some(after), Some(before))));
}

#[test]
fn ready_is_told_from_blocked_and_both_have_their_call_sites() {
    let trace = trace(&[
        (0, 0, What::ThreadStart { handle: 1 }),
        (100, 0, acquire(HERE)),
        (200, 0, off(OffReason::Preempted)),
        (500, 0, ON),
        (600, 0, release()),
        (700, 0, off(OffReason::Blocked)),
        (1_700, 0, ON),
        (1_800, 0, acquire(THERE)),
        (1_900, 0, release()),
        (2_000, 0, What::ThreadEnd { handle: 1 }),
    ]);
    let path = CriticalPath::of(&trace, &Window::whole(&trace));
    assert_eq!(times(&path), [700, 300, 1_000, 0]);
    let sections = path.sections;
    assert_eq!(
        (sections.running.0, sections.ready.0, sections.blocked.0),
        (300, 300, 0),
        "the first section lost its CPU"
    );
    assert_eq!(path.objects.values().next().unwrap().sections, sections);
    let found: Vec<_> = off_cpu(&trace)[0].stretches.iter().map(|s| (s.why, s.after, s.before)).collect();
    assert_eq!(found, [(OffCpu::Ready, Some(HERE), Some(HERE)), (OffCpu::Blocked, Some(HERE), Some(THERE))]);
}

#[test]
fn without_switches_cpu_times_say_how_much_and_the_longest_gap_takes_it() {
    let trace = trace(&[
        (0, 0, What::ThreadStart { handle: 1 }),
        (10_000, 0, acquire(HERE)),
        (20_000, 0, release()),
        (120_000, 0, acquire(THERE)),
        (130_000, 0, release()),
        (140_000, 0, What::CpuTime { ns: 60_000 }),
        (140_000, 0, What::ThreadEnd { handle: 1 }),
    ]);
    let threads = off_cpu(&trace);
    assert_eq!(threads[0].known, Known::HowMuch);
    let [stretch] = threads[0].stretches[..] else { panic!("{:?}", threads[0].stretches) };
    assert_eq!((stretch.begin, stretch.end, stretch.why), (Ticks(40_000), Ticks(120_000), OffCpu::Unknown));
    assert_eq!((stretch.after, stretch.before), (Some(HERE), Some(THERE)));
    let path = CriticalPath::of(&trace, &Window::whole(&trace));
    assert_eq!(times(&path), [60_000, 0, 0, 80_000]);
}

/// A thread's end records its CPU time before the kernel's last reports, of which some were lost. The time
/// without reports lies on both sides of that record.
#[test]
fn lost_switches_around_a_cpu_time_count_as_its_time_tells() {
    let trace = trace(&[
        (0, 0, What::ThreadStart { handle: 1 }),
        (0, 0, ON),
        (10_000, 0, off(OffReason::Unknown)),
        (110_000, 0, What::CpuTime { ns: 30_000 }),
        (112_000, 0, ON),
        (112_000, 0, What::CpuTime { ns: 32_000 }),
        (113_000, 0, What::ThreadEnd { handle: 1 }),
    ]);
    let threads = off_cpu(&trace);
    assert_eq!(threads[0].known, Known::HowMuch);
    let unknown: u64 = threads[0].stretches.iter().map(|s| s.end.0 - s.begin.0).sum();
    assert_eq!(unknown, 80_000, "{:?}", threads[0].stretches);
}

#[test]
fn what_is_not_known_is_said_and_passes_for_running() {
    let trace = trace(&[(0, 0, What::ThreadStart { handle: 1 }), (9_000, 0, What::ThreadEnd { handle: 1 })]);
    assert_eq!(off_cpu(&trace)[0].known, Known::Nothing);
    assert_eq!(times(&CriticalPath::of(&trace, &Window::whole(&trace))), [9_000, 0, 0, 0]);
}

/// A sleep inside a wait for a lock belongs to the wait: it is not counted as time off the CPU as
/// well.
#[test]
fn a_wait_keeps_its_time() {
    let events = [
        (0, 0, What::ThreadStart { handle: 1 }),
        (0, 1, What::ThreadStart { handle: 2 }),
        (100, 0, acquire(HERE)),
        (150, 1, What::Request { lock: LOCK, mode: Mode::Exclusive, site: THERE }),
        (160, 1, What::CpuTime { ns: 150 }),
        (200, 1, off(OffReason::Blocked)),
        (5_000, 0, release()),
        (5_100, 1, ON),
        (5_200, 1, What::Acquired { lock: LOCK, mode: Mode::Exclusive, how: How::OPAQUE }),
        (5_210, 1, What::CpuTime { ns: 300 }),
        (6_000, 1, release()),
        (6_100, 1, What::ThreadEnd { handle: 2 }),
    ];
    for with_switches in [true, false] {
        let kept = events
            .iter()
            .filter(|(_, _, what)| with_switches || !matches!(what, What::OffCpu { .. } | What::OnCpu { .. }));
        let trace = trace(&kept.copied().collect::<Vec<_>>());
        assert_eq!(off_cpu(&trace)[1].stretches, [], "with switches: {with_switches}");
    }
}

/// On two CPUs, thread 0 is ready from 100 to 300. If only one other thread runs meanwhile, a CPU
/// is left to other programs; if two others run, none is.
#[test]
fn a_cpu_is_left_to_others_while_fewer_threads_run_than_there_are_cpus() {
    use baton_trace::analysis::{Left, LeftCpus};
    let two = |late: bool| {
        let mut trace = TraceBuilder::new(Clock::nanoseconds());
        let mut meta = baton_trace::Meta::default();
        meta.host.cpus = 2;
        trace.meta(meta);
        for thread in 0..if late { 3 } else { 2 } {
            trace.push(Ticks(0), ThreadIndex(thread), What::ThreadStart { handle: u64::from(thread) });
        }
        trace.push(Ticks(100), ThreadIndex(0), off(OffReason::Preempted));
        trace.push(Ticks(300), ThreadIndex(0), ON);
        for thread in 0..if late { 3 } else { 2 } {
            trace.push(Ticks(1_000), ThreadIndex(thread), What::ThreadEnd { handle: u64::from(thread) });
        }
        LeftCpus::of(&trace.build(), &[ThreadIndex(0)].into())
    };
    let left = |late, begin, end| two(late).overlap(ThreadIndex(0), Ticks(begin), Ticks(end));
    let free = |free| Left { free: Ticks(free), bound: Ticks(0) };
    assert_eq!(left(false, 100, 300), free(200));
    assert_eq!(left(false, 250, 900), free(50));
    assert_eq!(left(false, 0, 1_000), free(200));
    assert_eq!(left(true, 100, 300), free(0));
}

/// On CPUs 0 and 1, three threads are bound to CPU 0, and thread 0 may use both but sleeps. While
/// thread 1 is ready, thread 2 runs on CPU 0: CPU 1 is free, and thread 1 may not use it.
#[test]
fn a_thread_that_is_bound_to_a_busy_cpu_has_left_no_cpu_to_others() {
    use baton_trace::Affinity;
    use baton_trace::analysis::{Left, LeftCpus};
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    for (thread, words) in [(0, 0b11), (1, 0b01), (2, 0b01)] {
        trace.push(Ticks(0), ThreadIndex(thread), What::ThreadStart { handle: u64::from(thread) });
        for what in Affinity::records(0, &[words]) {
            trace.push(Ticks(1), ThreadIndex(thread), what);
        }
        trace.push(Ticks(2), ThreadIndex(thread), ON);
    }
    trace.push(Ticks(10), ThreadIndex(0), off(OffReason::Blocked));
    trace.push(Ticks(100), ThreadIndex(1), off(OffReason::Preempted));
    trace.push(Ticks(200), ThreadIndex(2), off(OffReason::Blocked));
    trace.push(Ticks(300), ThreadIndex(1), ON);
    for thread in 0..3 {
        trace.push(Ticks(1_000), ThreadIndex(thread), What::ThreadEnd { handle: u64::from(thread) });
    }
    let left = LeftCpus::of(&trace.build(), &[ThreadIndex(1)].into());
    let bound = |free, bound| Left { free: Ticks(free), bound: Ticks(bound) };
    assert_eq!(left.overlap(ThreadIndex(1), Ticks(100), Ticks(200)), bound(0, 100));
    assert_eq!(left.overlap(ThreadIndex(1), Ticks(200), Ticks(300)), bound(100, 0), "then its own CPU is free");
}

/// Threads 0, 1 and 2 are bound to CPUs 0 and 1, 1 and 2, 2 and 3. Each one's own set has a free CPU
/// except from 200 to 300, when threads 0 and 1 run on CPUs 0 and 1, and from 400 on, when threads 1 and 2
/// run on CPUs 1 and 2.
#[test]
fn each_thread_has_the_free_cpus_of_its_own_set() {
    use baton_trace::Affinity;
    use baton_trace::analysis::{Left, LeftCpus};
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    let threads = [(0, 0b0011), (1, 0b0110), (2, 0b1100)];
    for (thread, words) in threads {
        trace.push(Ticks(0), ThreadIndex(thread), What::ThreadStart { handle: u64::from(thread) });
        for what in Affinity::records(0, &[words]) {
            trace.push(Ticks(1), ThreadIndex(thread), what);
        }
        trace.push(Ticks(10), ThreadIndex(thread), off(OffReason::Blocked));
    }
    for (time, thread, what) in [
        (100, 0, What::OnCpu { tid: 0, cpu: 0 }),
        (200, 1, What::OnCpu { tid: 0, cpu: 1 }),
        (300, 0, off(OffReason::Blocked)),
        (400, 2, What::OnCpu { tid: 0, cpu: 2 }),
    ] {
        trace.push(Ticks(time), ThreadIndex(thread), what);
    }
    for (thread, _) in threads {
        trace.push(Ticks(1_000), ThreadIndex(thread), What::ThreadEnd { handle: u64::from(thread) });
    }
    let left = LeftCpus::of(&trace.build(), &threads.map(|(thread, _)| ThreadIndex(thread)).into());
    for (thread, none_free) in [(0, 200..300), (1, 400..1_000), (2, 0..0)] {
        let of = |begin, end| left.overlap(ThreadIndex(thread), Ticks(begin), Ticks(end));
        for begin in (100..1_000).step_by(100) {
            let bound = if none_free.contains(&begin) { 100 } else { 0 };
            let expected = Left { free: Ticks(100 - bound), bound: Ticks(bound) };
            assert_eq!(of(begin, begin + 100), expected, "thread {thread} from {begin}");
        }
    }
}

/// The kernel's reports are lost from 1,000 to 9,000. In that time the thread is in a call of 3,000, and
/// used its CPU for 4,000 of all 10,000: of the other 5,000 it was off its CPU for 3,000.
#[test]
fn where_switches_were_lost_calls_and_cpu_times_tell_as_much_as_they_can() {
    let lost = |cpu_time: bool| {
        let mut events = vec![
            (0, 0, What::ThreadStart { handle: 1 }),
            (1_000, 0, off(OffReason::Unknown)),
            (6_000, 0, What::Blocked { site: HERE, ticks: 3_000 }),
            (9_000, 0, ON),
            (10_000, 0, What::ThreadEnd { handle: 1 }),
        ];
        if cpu_time {
            events.insert(4, (10_000, 0, What::CpuTime { ns: 4_000 }));
        }
        trace(&events)
    };
    let told = lost(true);
    let threads = off_cpu(&told);
    assert_eq!(threads[0].known, Known::HowMuch);
    let time = |why| threads[0].stretches.iter().filter(|s| s.why == why).map(|s| s.end.0 - s.begin.0).sum::<u64>();
    assert_eq!((time(OffCpu::Call), time(OffCpu::Unknown)), (3_000, 3_000), "{threads:?}");
    let path = CriticalPath::of(&told, &Window::whole(&told));
    assert_eq!(times(&path), [4_000, 0, 0, 3_000]);
    // A program that was killed has no CPU time: all of it is unknown.
    assert_eq!(times(&CriticalPath::of(&lost(false), &Window::whole(&lost(false)))), [2_000, 0, 0, 5_000]);
}
