//! Tests that what is written is read back: several threads, definitions, and everything in the
//! order of time.

use baton_trace::analysis::{Analysis, Window};
use baton_trace::writer::{ModuleInfo, Options, Session, SiteAnswer, SiteTable, ThreadWriter};
use baton_trace::{Affinity, Event, How, Kinds, Lock, LossKind, Mode, ProcessIndex, SiteId, Ticks, Trace, What};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn open(directory: &Path, options: Options) -> Session {
    let session = Session::new();
    session.open(&CString::new(directory.as_os_str().as_bytes()).unwrap(), options).unwrap();
    session
}

const LOCK: Lock = Lock::mutex(0x7fff_1234_5678);

fn pair(pen: &ThreadWriter, session: &Session) {
    pen.post_ordered(session, What::Acquire { lock: LOCK, mode: Mode::Exclusive, site: SiteId(7) });
    pen.post(session, What::Release { lock: LOCK, mode: Mode::Exclusive, site: SiteId(0xff_ffff) });
}

#[test]
fn several_threads_come_back_whole_and_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let session = open(directory.path(), Options::default());
    const PAIRS: u64 = 40_000;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let pen = ThreadWriter::new();
                pen.post(&session, What::ThreadStart { handle: 0x4242 });
                for _ in 0..PAIRS {
                    pair(&pen, &session);
                }
                pen.post(&session, What::ThreadEnd { handle: 0x4242 });
                pen.finish();
            });
        }
    });
    session.finish();
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!(trace.losses, []);
    assert_eq!(trace.threads.len(), 4);
    assert!(trace.processes[0].finished);
    assert_eq!(trace.processes[0].pid, std::process::id());
    let mut counts = [0u64; 4];
    let mut previous = Default::default();
    for event in trace.events() {
        assert!(event.time >= previous, "events go back in time");
        previous = event.time;
        match event.what {
            What::Acquire { lock, site: SiteId(7), .. } | What::Release { lock, site: SiteId(0xff_ffff), .. } => {
                assert_eq!(lock, LOCK);
                counts[event.thread.index()] += 1;
            }
            What::ThreadStart { handle: 0x4242 } | What::ThreadEnd { handle: 0x4242 } => {}
            What::Cpu { .. } | What::Pause { .. } => {}
            other => panic!("never written: {other:?}"),
        }
    }
    assert_eq!(counts, [2 * PAIRS; 4]);
}

/// Object files are loaded at the same addresses one after the other: each gets the events of its
/// own time, and its own locks.
#[test]
fn modules_have_lives() {
    let directory = tempfile::tempdir().unwrap();
    let session = open(directory.path(), Options::default());
    let pen = ThreadWriter::new();
    const START: u64 = 0x5555_0000;
    let lock = Lock::mutex(START + 0x1800);
    let names = ["first", "second", "first"];
    for (number, name) in (1..).zip(names) {
        let (start, end) = (START, START + 0x2000);
        pen.define_module(&session, ModuleInfo { bias: start, start, end, build_id: &[], path: name.as_bytes() });
        let site = SiteId(number);
        pen.define_site(&session, site, &[START + 0x10]);
        pen.post_ordered(&session, What::Acquire { lock, mode: Mode::Exclusive, site });
        pen.post(&session, What::Release { lock, mode: Mode::Exclusive, site });
        pen.post(&session, What::Unloaded { start, pages: 2 });
    }
    session.finish();
    let (trace, process) = (Trace::open(directory.path()).unwrap(), ProcessIndex(0));
    let path = |time| trace.module(process, lock.address, time).unwrap().path.as_str();
    assert_eq!([1, 2, 3].map(|site| path(trace.site_time(process, SiteId(site)))), names);
    assert_eq!(path(trace.span().1), "first", "the last one, when none is left");
    let analysis = Analysis::of(&trace, Window::whole(&trace));
    assert_eq!(analysis.locks.len(), 3);
    let mut of: Vec<_> = analysis.locks.iter().map(|lock| (lock.object.born, path(lock.object.loaded))).collect();
    of.sort();
    assert_eq!(of.into_iter().map(|(_, path)| path).collect::<Vec<_>>(), names);
    assert_eq!(analysis.classes.len(), 3);
}

#[test]
fn definitions_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let session = open(directory.path(), Options::default());
    let pen = ThreadWriter::new();
    static SITES: SiteTable<64> = SiteTable::new();
    let SiteAnswer::New(site) = SITES.number(0x40_1000) else { panic!("a new address is new") };
    let long = "ä".repeat(400);
    pen.define_site(&session, site, &[0x40_1000, 0x40_2000, 0x40_3000]);
    // Defines the site again with a shallower stack: the deeper one stays.
    pen.define_site(&session, site, &[0x40_1000]);
    pen.name_thread(&session, b"worker");
    pen.name_marker(&session, 3, b"phase");
    pen.name_object(&session, 0x1000, long.as_bytes());
    pen.name_object(&session, 0x2000, b"");
    let module =
        ModuleInfo { bias: 0x5555_0000, start: 0x5555_1000, end: 0x5555_2000, build_id: &[1, 2, 3], path: b"/bin/app" };
    pen.define_module(&session, module);
    pen.define_module(&session, module);
    pen.post(&session, What::RoiBegin { name: 3 });
    pen.post(&session, What::Acquired { lock: LOCK, mode: Mode::Shared, how: How::sleeping(12) });
    // The session is not finished, as if the program had been killed.
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!(trace.losses, []);
    let process = ProcessIndex(0);
    assert_eq!(trace.site(process, site), [0x40_1000, 0x40_2000, 0x40_3000]);
    assert_eq!(trace.threads[0].name.as_deref(), Some("worker"));
    assert_eq!(trace.marker_name(process, 3), Some("phase"));
    assert_eq!(trace.object_names[&(process, 0x1000)], long);
    assert_eq!(trace.object_names[&(process, 0x2000)], "");
    assert_eq!(trace.processes[0].modules.len(), 1);
    let module = trace.module(process, 0x5555_1800, Ticks(0)).unwrap();
    assert_eq!((module.path.as_str(), module.build_id.as_slice()), ("/bin/app", [1, 2, 3].as_slice()));
    assert_eq!(trace.module(process, 0x5555_2000, Ticks(0)), None);
    let whats: Vec<What> = trace.events().map(|e| e.what).collect();
    let how = How { slept: true, known: true, tries: 12 };
    assert_eq!(whats, [What::RoiBegin { name: 3 }, What::Acquired { lock: LOCK, mode: Mode::Shared, how }]);
}

#[test]
fn the_size_limit_stops_the_recording_and_counts_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let session = open(directory.path(), Options { limit: 64 << 10, ..Options::default() });
    let pen = ThreadWriter::new();
    const PAIRS: u64 = 10_000;
    for _ in 0..PAIRS {
        pair(&pen, &session);
    }
    // This thread begins after the file is full, so it gets no segment; its events are counted as
    // lost, too.
    std::thread::scope(|scope| {
        scope.spawn(|| pair(&ThreadWriter::new(), &session));
    });
    pen.finish();
    session.finish();
    let trace = Trace::open(directory.path()).unwrap();
    let recorded =
        trace.events().filter(|e| matches!(e.what, What::Acquire { .. } | What::Release { .. })).count() as u64;
    let [loss] = trace.losses.as_slice() else { panic!("{:?}", trace.losses) };
    assert_eq!(loss.kind, LossKind::Dropped(baton_trace::writer::StopReason::SizeLimit));
    assert_eq!(recorded + loss.events, 2 * PAIRS + 2);
    assert!(recorded > 1000, "{recorded}");
    assert!(trace.complete_until().unwrap() >= trace.threads[0].last);
    let size = std::fs::read_dir(directory.path()).unwrap().map(|f| f.unwrap().metadata().unwrap().len()).sum::<u64>();
    assert!(size <= 64 << 10, "{size}");
}

#[test]
fn a_definition_without_room_takes_none_from_the_events() {
    let directory = tempfile::tempdir().unwrap();
    // After the file header there is room for one segment of 8 KiB, which holds 508 records of 16
    // bytes.
    let session = open(directory.path(), Options { limit: 4096 + 8192, ..Options::default() });
    let pen = ThreadWriter::new();
    let mark = |value| pen.post(&session, What::Marker { name: 1, value });
    (0..480).for_each(mark);
    pen.name_object(&session, 0x1000, &[b'x'; 1000]);
    (480..600).for_each(mark);
    pen.finish();
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!((trace.len(), trace.object_names.len()), (508, 0));
    assert_eq!(trace.losses[0].events, 1 + 600 - 508);
}

/// Context switches that come from a kernel buffer are written afterwards. The reader attributes
/// them to the thread that had the kernel's number when they happened.
#[test]
fn context_switches_come_back_as_their_threads() {
    use baton_trace::OffReason;
    use baton_trace::analysis::{Analysis, Window};
    let directory = tempfile::tempdir().unwrap();
    let session = open(directory.path(), Options::default());
    let pen = ThreadWriter::new();
    let start = baton_trace::clock::now(session.source());
    pen.post_at(&session, start, What::Marker { name: 1, value: 0 });
    pen.post_at(&session, start + 1_000_000, What::Marker { name: 1, value: 1 });
    let switches = ThreadWriter::foreign(start);
    let tid = baton_trace::sys::tid();
    switches.post_at(&session, start + 100_000, What::OffCpu { tid, reason: OffReason::Preempted });
    switches.post_at(&session, start + 400_000, What::OnCpu { tid, cpu: 1 });
    switches.post_at(&session, start + 500_000, What::OnCpu { tid: u32::MAX, cpu: 1 });
    switches.finish();
    pen.finish();
    session.finish();
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!((trace.threads.len(), trace.len()), (1, 4));
    let [loss] = trace.losses.as_slice() else { panic!("{:?}", trace.losses) };
    assert_eq!((loss.kind, loss.events), (LossKind::UnknownThread, 1));
    let whats: Vec<What> = trace.events().map(|e| e.what).collect();
    assert!(matches!(whats[..], [What::Marker { .. }, What::OffCpu { .. }, What::OnCpu { .. }, What::Marker { .. }]));
    let analysis = Analysis::of(&trace, Window::whole(&trace));
    assert_eq!(analysis.threads[0].off_cpu.0, 300_000);
}

/// A thread's own context switches are written long after their time, when it has filled several
/// more segments. The reader returns them in the order of time.
#[test]
fn late_context_switches_come_in_their_place() {
    use baton_trace::OffReason;
    let directory = tempfile::tempdir().unwrap();
    let session = open(directory.path(), Options::default());
    let pen = ThreadWriter::new();
    let start = baton_trace::clock::now(session.source());
    const MARKERS: u64 = 10_000;
    let at = |n: u64| start + 1000 * n;
    for value in 0..MARKERS {
        pen.post_at(&session, at(value), What::Marker { name: 1, value });
    }
    for n in [100, 4000, MARKERS - 2] {
        pen.post_at(&session, at(n) + 1, What::OffCpu { tid: 0, reason: OffReason::Blocked });
        pen.post_at(&session, at(n) + 2, What::OnCpu { tid: 0, cpu: 0 });
    }
    pen.finish();
    session.finish();
    let trace = Trace::open(directory.path()).unwrap();
    assert!(trace.losses.is_empty());
    let (mut last, mut before) = (baton_trace::Ticks(0), 0);
    let mut switched = Vec::new();
    for event in trace.events() {
        assert!(event.time >= last);
        last = event.time;
        match event.what {
            What::Marker { value, .. } => before = value,
            What::OffCpu { .. } | What::OnCpu { .. } => switched.push(before),
            _ => {}
        }
    }
    assert_eq!(switched, [100, 100, 4000, 4000, MARKERS - 2, MARKERS - 2]);
}

/// Checks that a pass over some kinds of events returns exactly the events of these kinds.
fn assert_same_as_picked(trace: &mut Trace, kinds: Kinds, is: impl Fn(&What) -> bool, least: usize) {
    let picked: Vec<Event> = trace.events().filter(|event| is(&event.what)).collect();
    assert!(picked.len() >= least, "{} of {kinds:?}", picked.len());
    assert_eq!(trace.events_of(kinds).collect::<Vec<_>>(), picked);
    // A trace whose events are kept in memory has the same ones.
    let shown: [Vec<Event>; 2] = [trace.events().collect(), trace.complete_events().collect()];
    trace.keep_events();
    assert_eq!([trace.events().collect::<Vec<_>>(), trace.complete_events().collect()], shown);
    assert_eq!(trace.events_of(kinds).collect::<Vec<_>>(), picked);
    trace.forget_events();
}

/// A pass over rare kinds returns their events in the same order as among all events, whatever lies
/// between: many segments without such an event, events written late or with a time before that of
/// the previous segment, context switches of the thread itself and those that the kernel reported.
#[test]
fn rare_events_come_as_they_stand_among_all() {
    use baton_trace::OffReason;
    let directory = tempfile::tempdir().unwrap();
    let session = open(directory.path(), Options::default());
    let start = baton_trace::clock::now(session.source());
    let pens = [ThreadWriter::new(), ThreadWriter::new(), ThreadWriter::new()];
    let switches = ThreadWriter::foreign(start);
    let tid = baton_trace::sys::tid();
    for n in 0..60_000u64 {
        let (pen, at) = (&pens[n as usize % 3], start + 1000 * (n + 10_000));
        pen.post_at(&session, at, What::Marker { name: 1, value: n });
        // Every second rare event gets a time that lies 9,000 markers back, when the thread's
        // previous segment was not full yet.
        let late = at - if n % 2 == 0 { 0 } else { 9_000_000 };
        match n % 10_007 {
            1000 => pen.post_at(&session, late, What::Create { site: SiteId(3) }),
            1001 => pen.post_at(&session, late, What::Created { handle: n, error: 0 }),
            1002 => pen.post_at(&session, late, What::ThreadStart { handle: n }),
            1003 => Affinity::records(0, &[n, 1 << 40]).for_each(|what| pen.post_at(&session, late, what)),
            1004 => pen.post_at(&session, late, What::OffCpu { tid: 0, reason: OffReason::Blocked }),
            1005 => pen.post_at(&session, late, What::OnCpu { tid: 0, cpu: 1 }),
            1006 => switches.post_at(&session, late, What::OffCpu { tid, reason: OffReason::Preempted }),
            1007 => switches.post_at(&session, late, What::OnCpu { tid: tid ^ 1, cpu: 1 }),
            _ => {}
        }
    }
    pens.iter().chain([&switches]).for_each(ThreadWriter::finish);
    session.finish();
    let mut trace = Trace::open(directory.path()).unwrap();
    let births = |what: &What| matches!(what, What::Create { .. } | What::Created { .. } | What::ThreadStart { .. });
    assert_same_as_picked(&mut trace, Kinds::BIRTHS, births, 15);
    assert_same_as_picked(&mut trace, Kinds::AFFINITY, |what| matches!(what, What::Affinity { .. }), 10);
    assert_same_as_picked(
        &mut trace,
        Kinds::SWITCHES,
        |what| matches!(what, What::OffCpu { .. } | What::OnCpu { .. }),
        15,
    );
    assert_same_as_picked(&mut trace, Kinds::ALL, |_| true, 60_000);
    let times: Vec<Ticks> = trace.events().map(|event| event.time).collect();
    assert!(times.is_sorted(), "in the order of time");
}

/// Three threads compete for a real lock: no stamp contradicts mutual exclusion, and the accounts
/// add up.
#[test]
fn a_contended_lock_is_recorded_without_contradiction() {
    use baton_trace::analysis::{Analysis, Window};
    use std::sync::atomic::{AtomicBool, Ordering};
    let directory = tempfile::tempdir().unwrap();
    let session = open(directory.path(), Options::default());
    let held = AtomicBool::new(false);
    let lock = Lock::spin(&raw const held as u64);
    let mode = Mode::Exclusive;
    const EACH: u64 = 20_000;
    let try_lock = || held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
    let start = std::sync::Barrier::new(3);
    std::thread::scope(|scope| {
        for id in 0..3 {
            let (held, session, start) = (&held, &session, &start);
            scope.spawn(move || {
                let pen = ThreadWriter::new();
                let site = SiteId(id + 1);
                start.wait();
                for i in 0..EACH {
                    if try_lock() {
                        pen.post_ordered(session, What::Acquire { lock, mode, site });
                    } else {
                        pen.post(session, What::Request { lock, mode, site });
                        let mut tries = 1;
                        while !try_lock() {
                            tries += 1;
                            std::thread::yield_now();
                        }
                        pen.post_ordered(session, What::Acquired { lock, mode, how: How::spinning(tries) });
                    }
                    if i % 64 == 0 {
                        // Holds the lock while other threads run: on a busy machine they would
                        // otherwise seldom meet at it.
                        std::thread::yield_now();
                    }
                    pen.post(session, What::Release { lock, mode, site });
                    held.store(false, Ordering::Release);
                }
                pen.finish();
            });
        }
    });
    session.finish();
    let trace = Trace::open(directory.path()).unwrap();
    assert_eq!(trace.losses, []);
    let analysis = Analysis::of(&trace, Window::whole(&trace));
    let stats = &analysis.locks[0].stats;
    assert_eq!((stats.acquisitions, stats.residual()), (3 * EACH, 0));
    assert_eq!(stats.contended, stats.entered_spinning);
    assert!(stats.anomalies.is_clean(), "{:?}", stats.anomalies);
    assert!(stats.contended > 0 && stats.blocked == stats.sections + stats.overhead);
}

/// Returns the number of segments in the events file.
fn segments(directory: &Path) -> usize {
    let file = std::fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(file).unwrap();
    (4096..bytes.len()).step_by(4096).filter(|&at| bytes[at..at + 8] == bytes[4096..4104]).count()
}

/// The trace shows the time that the writer takes to make room, also if it does so before the room
/// is needed.
#[test]
fn room_made_ahead_is_a_pause() {
    let directory = tempfile::tempdir().unwrap();
    let session = open(directory.path(), Options::default());
    let pen = ThreadWriter::new();
    // The writer is due before the 508 records of the first segment are full. So its only pause
    // comes from `prepare`.
    while !pen.is_due() {
        pair(&pen, &session);
    }
    pen.prepare(&session);
    pen.finish();
    session.finish();
    let trace = Trace::open(directory.path()).unwrap();
    let pauses = trace.events().filter_map(|event| match event.what {
        What::Pause { ticks } => Some(ticks),
        _ => None,
    });
    assert!(matches!(pauses.collect::<Vec<_>>()[..], [ticks] if ticks > 0));
}

#[test]
fn room_is_made_ahead_where_no_lock_is_held() {
    let run = |prepares: bool| {
        let directory = tempfile::tempdir().unwrap();
        let session = open(directory.path(), Options::default());
        let pen = ThreadWriter::new();
        // The first segment, of 8 KiB, has room for 508 records; it counts as nearly full at 380.
        // With `prepare`, there are two segments after 402 records, without it only one.
        let mut after_400 = 0;
        for done in 0..15_000 {
            pair(&pen, &session);
            if prepares && pen.is_due() {
                pen.prepare(&session);
                assert!(!pen.is_due(), "it is done");
            }
            if done == 200 {
                after_400 = segments(directory.path());
            }
        }
        pen.finish();
        session.finish();
        let trace = Trace::open(directory.path()).unwrap();
        assert_eq!(trace.losses, []);
        let locks = |what: &What| matches!(what, What::Acquire { .. } | What::Release { .. });
        assert_eq!(trace.events().filter(|event| locks(&event.what)).count(), 30_000);
        after_400
    };
    assert_eq!((run(false), run(true)), (1, 2));
}
