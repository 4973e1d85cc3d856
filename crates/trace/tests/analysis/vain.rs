//! Tests for threads that are awake in vain, threads that starve, and critical sections that no
//! thread waits for.

use baton_trace::analysis::{
    Analysis, CriticalPath, Doing, FutileWakes, Overtaken, PathShare, Window, background, off_cpu,
};
use baton_trace::{
    Clock, FutexEnd, How, Lock, Mode, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, WakeReason, What,
};

/// Events as (time, thread, what).
type Events = Vec<(u64, u32, What)>;

const CONDITION: u64 = 0x3000;
const MUTEX: Lock = Lock::mutex(0x1000);
const INNER: Lock = Lock::mutex(0x2000);
const SHARED: Lock = Lock::rwlock(0x4000);
const SITE: SiteId = SiteId(1);
const BROADCAST: SiteId = SiteId(2);
const MARK: What = What::Marker { name: 0, value: 0 };

fn take(lock: Lock, mode: Mode) -> What {
    What::Acquire { lock, mode, site: SITE }
}
fn want(lock: Lock, mode: Mode) -> What {
    What::Request { lock, mode, site: SITE }
}
fn got(lock: Lock, mode: Mode) -> What {
    What::Acquired { lock, mode, how: How::sleeping(1) }
}
fn give(lock: Lock, mode: Mode) -> What {
    What::Release { lock, mode, site: SITE }
}
const X: Mode = Mode::Exclusive;
const S: Mode = Mode::Shared;

/// Builds a trace from events given as (time, thread, what).
fn trace(events: &[(u64, u32, What)]) -> Trace {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    builder.site(SITE, &[0x10]).site(BROADCAST, &[0x20]);
    for (time, thread, what) in events {
        builder.push(Ticks(*time), ThreadIndex(*thread), *what);
    }
    builder.build()
}

fn analysis(trace: &Trace) -> Analysis {
    Analysis::of(trace, Window::whole(trace))
}

fn path(trace: &Trace) -> CriticalPath {
    let analysis = analysis(trace);
    CriticalPath::with(trace, &analysis.window, &off_cpu(trace), &background(trace), &analysis.vain)
}

fn waits(at: u64, thread: u32) -> [(u64, u32, What); 3] {
    let (condition, mutex) = (CONDITION, MUTEX.address);
    [
        (at, thread, What::CondWait { condition, site: SITE }),
        (at, thread, What::CondMutex { mutex }),
        (at, thread, give(MUTEX, X)),
    ]
}

fn wakes(at: u64, thread: u32) -> [(u64, u32, What); 2] {
    let (condition, reason) = (CONDITION, WakeReason::Woken);
    [(at, thread, What::CondWake { condition, reason }), (at, thread, take(MUTEX, X))]
}

/// A trace in which a broadcast at 100 wakes threads 1, 2 and 3. Thread 3 acts if `finds`; the
/// threads that do not act wait again.
fn herd(finds: bool) -> Trace {
    let mut events = Vec::new();
    for thread in 1..4 {
        let at = u64::from(thread) * 10;
        events.push((at, thread, take(MUTEX, X)));
        events.extend(waits(at + 1, thread));
    }
    events.push((100, 0, What::CondBroadcast { condition: CONDITION, site: BROADCAST }));
    for thread in 1..4 {
        let at = 100 + u64::from(thread) * 100;
        events.extend(wakes(at, thread));
        if thread == 3 && finds {
            events.extend([(at + 1, 3, give(MUTEX, X)), (at + 50, 3, MARK), (at + 60, 3, take(MUTEX, X))]);
        }
        events.extend(waits(at + 70, thread));
    }
    events.push((500, 3, MARK));
    trace(&events)
}

fn futile(trace: &Trace) -> FutileWakes {
    analysis(trace).waitables[0].stats.futile.clone()
}

#[test]
fn threads_that_a_broadcast_wakes_and_that_wait_again_wake_in_vain() {
    let found = futile(&herd(true));
    assert_eq!((found.broadcasts, found.woken, found.futile), (1, 3, 2));
    assert_eq!(found.sites.into_iter().collect::<Vec<_>>(), [(BROADCAST, 2)]);
    // If all three wait again, one of them may still have done brief work under the mutex.
    assert_eq!(futile(&herd(false)).futile, 2);
}

/// Threads that work under the mutex, which they give up only in their next wait, find something to
/// do. A thread that has no CPU, or waits for the mutex, does not work.
#[test]
fn threads_that_run_under_the_mutex_do_not_wake_in_vain() {
    let rounds = |each: fn(u32, u64) -> Events| {
        let mut events = Vec::new();
        for thread in 1..4 {
            events.push((u64::from(thread), thread, take(MUTEX, X)));
            events.extend(waits(u64::from(thread), thread));
        }
        events.push((100, 0, What::CondBroadcast { condition: CONDITION, site: BROADCAST }));
        for thread in 1..4 {
            let at = 50_000 * u64::from(thread);
            events.extend(wakes(at, thread));
            events.extend(each(thread, at));
        }
        events.sort_by_key(|(time, ..)| *time);
        futile(&trace(&events))
    };
    let all_work = rounds(|thread, at| waits(at + 40_000, thread).to_vec());
    assert_eq!((all_work.woken, all_work.futile), (3, 0));
    let one_works = rounds(|thread, at| waits(at + if thread == 1 { 40_000 } else { 400 }, thread).to_vec());
    assert_eq!((one_works.woken, one_works.futile), (3, 2));
    let preempted = rounds(|thread, at| {
        let off = What::OffCpu { tid: 0, reason: baton_trace::OffReason::Preempted };
        match thread {
            1 => vec![(at + 10, 1, MARK)],
            _ => [
                vec![(at + 10, thread, off), (at + 40_000, thread, What::OnCpu { tid: 0, cpu: 0 })],
                waits(at + 40_400, thread).to_vec(),
            ]
            .concat(),
        }
    });
    assert_eq!((preempted.woken, preempted.futile), (3, 2));
}

#[test]
fn threads_that_act_do_not_wake_in_vain() {
    let mut events = Vec::new();
    for thread in 1..3 {
        let at = u64::from(thread) * 10;
        events.push((at, thread, take(MUTEX, X)));
        events.extend(waits(at + 1, thread));
    }
    events.push((100, 0, What::CondBroadcast { condition: CONDITION, site: BROADCAST }));
    for thread in 1..3 {
        let at = 100 + u64::from(thread) * 100;
        events.extend(wakes(at, thread));
        // Each thread takes the mutex a second time before it waits again: it has worked in
        // between.
        events.extend([(at + 1, thread, give(MUTEX, X)), (at + 9, thread, take(MUTEX, X))]);
        events.extend(waits(at + 10, thread));
    }
    let found = futile(&trace(&events));
    assert_eq!((found.woken, found.futile), (2, 0));
    // If the only woken thread waits again, it has not been woken for nothing: it may have done its
    // work under the mutex.
    let mut events = vec![(10, 1, take(MUTEX, X))];
    events.extend(waits(11, 1));
    events.push((100, 0, What::CondBroadcast { condition: CONDITION, site: BROADCAST }));
    events.extend(wakes(110, 1));
    events.extend(waits(120, 1));
    assert_eq!(futile(&trace(&events)), FutileWakes::default());
}

#[test]
fn the_path_tells_what_wake_ups_in_vain_cost() {
    let trace = herd(true);
    let object = analysis(&trace).waitables[0].id;
    let path = path(&trace);
    let vain: u64 = path.time(|doing| *doing == Doing::Vain { object }).0;
    // Thread 3 wakes up at 400, after threads 1 and 2, which wait again at 270 and 370. So its
    // hand-off, from the broadcast at 100 on, counts as awake in vain: 300.
    assert_eq!((vain, path.objects[&object].vain.0), (300, 300), "{:?}", path.segments);
    let alone = CriticalPath::of(&trace, &Window::whole(&trace));
    assert_eq!(alone.time(|doing| *doing == Doing::Vain { object }).0, 0);
}

#[test]
fn a_loop_over_two_places_polls() {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    builder.site(SiteId(1), &[0x10]).site(SiteId(2), &[0x20]).site(SiteId(3), &[0x30]).site(SiteId(4), &[0x40]);
    let mut turn = 0;
    let mut taken = |builder: &mut TraceBuilder, thread: u32, site: u32| {
        turn += 100;
        let site = SiteId(site);
        builder.push(Ticks(turn), ThreadIndex(thread), What::Acquire { lock: MUTEX, mode: X, site });
        builder.push(Ticks(turn + 10), ThreadIndex(thread), give(MUTEX, X));
    };
    for _ in 0..20 {
        taken(&mut builder, 1, 1);
        taken(&mut builder, 1, 2);
    }
    // Thread 0 changes the value at a third place; thread 1 finds it changed, and takes the lock at
    // a fourth place.
    taken(&mut builder, 0, 3);
    taken(&mut builder, 1, 1);
    taken(&mut builder, 1, 2);
    taken(&mut builder, 1, 4);
    let trace = builder.build();
    let analysis = analysis(&trace);
    let stats = &analysis.locks[0].stats;
    let polls: Vec<u64> = (1..5).map(|site| stats.sites[&SiteId(site)].polls).collect();
    assert_eq!((polls, stats.polls()), (vec![21, 21, 0, 0], 42));
    // The path runs along thread 1. It polls from its first acquisition at 100 to its last at the
    // two places, at 4,300.
    let path = path(&trace);
    assert_eq!(path.objects[&analysis.locks[0].id].vain.0, 4200, "{:?}", path.segments);
}

/// A trace in which threads 1 and 2 hold the lock by turns without a gap from 0 to 1000, in mode
/// `read`. Thread 0 wants it in mode `write` from 50 on, and gets it at 1005.
fn readers(write: Mode, read: Mode) -> Trace {
    let mut events = vec![(0, 1, take(SHARED, read)), (50, 0, want(SHARED, write))];
    for turn in 0..9u64 {
        let (now, next) = (1 + (turn % 2) as u32, 1 + ((turn + 1) % 2) as u32);
        events.push((100 + turn * 100, next, take(SHARED, read)));
        events.push((110 + turn * 100, now, give(SHARED, read)));
    }
    events.push((1000, 2, give(SHARED, read)));
    events.push((1005, 0, got(SHARED, write)));
    events.push((1010, 0, give(SHARED, write)));
    trace(&events)
}

#[test]
fn a_writer_that_readers_overtake_starves() {
    let starved = analysis(&readers(X, S)).locks[0].stats.starved;
    let time = Ticks(905);
    assert_eq!(starved.writers, Overtaken { waits: 1, by: 9, most: 9, time, longest: time });
    assert_eq!(starved.readers, Overtaken::default());
}

#[test]
fn who_came_first_overtakes_nobody() {
    // The waiting reader came before the second writer, and gets the lock before it: no thread is
    // overtaken.
    let starved = analysis(&trace(&[
        (0, 1, take(SHARED, X)),
        (10, 2, want(SHARED, S)),
        (20, 0, want(SHARED, X)),
        (100, 1, give(SHARED, X)),
        (101, 2, got(SHARED, S)),
        (200, 2, give(SHARED, S)),
        (201, 0, got(SHARED, X)),
        (210, 0, give(SHARED, X)),
    ]));
    assert_eq!(starved.locks[0].stats.starved, Default::default());
    // Threads that want the lock in the same mode do not starve each other, in whatever order they
    // get it.
    let same = analysis(&readers(S, S));
    assert_eq!(same.locks[0].stats.starved, Default::default());
}

#[test]
fn sections_that_somebody_waits_for_are_told_apart() {
    let trace = trace(&[
        (0, 0, take(MUTEX, X)),
        (10, 0, take(INNER, X)),
        (90, 0, give(INNER, X)),
        (100, 0, give(MUTEX, X)),
        (200, 0, take(MUTEX, X)),
        (210, 1, want(MUTEX, X)),
        (220, 0, take(INNER, X)),
        (250, 0, give(INNER, X)),
        (300, 0, give(MUTEX, X)),
        (305, 1, got(MUTEX, X)),
        (400, 1, give(MUTEX, X)),
    ]);
    let analysis = analysis(&trace);
    let id = |lock: Lock| analysis.locks.iter().find(|l| l.object.address == lock.address).unwrap().id;
    let path = path(&trace);
    let share = |lock: Lock| -> PathShare { path.objects[&id(lock)] };
    assert_eq!((share(MUTEX).sections.running.0, share(MUTEX).wanted.running.0), (295, 100));
    assert_eq!((share(INNER).sections.running.0, share(INNER).wanted.running.0), (110, 0));
    assert_eq!((path.sections.running.0, path.wanted.running.0), (295, 100), "nested ones count once");
    let nested: Vec<_> = path.nested.iter().map(|(pair, time)| (*pair, time.0)).collect();
    assert_eq!(nested, [((id(MUTEX), id(INNER)), 110)]);
}

const FUTEX: u64 = 0x5000;
const LOCK: u64 = 0x6000;

fn sleeps_in(futex: u64) -> What {
    What::FutexWait { futex, site: SITE }
}
fn woken_in(futex: u64) -> What {
    What::FutexWaitEnd { futex, end: FutexEnd::Woken }
}
fn wakes_in(time: u64, thread: u32, futex: u64, woken: u32) -> [(u64, u32, What); 2] {
    let site = if woken > 1 { BROADCAST } else { SITE };
    [
        (time, thread, What::FutexWake { futex, site }),
        (time, thread, What::FutexWoke { futex, asked: What::MANY, woken }),
    ]
}

/// A trace in which thread 0 wakes threads 1, 2 and 3 at 100. `each` is what a woken thread does
/// after that, given its number and the time at which it was woken.
fn futex_herd(each: impl Fn(u32, u64) -> Vec<(u64, u32, What)>) -> FutileWakes {
    let mut events = Vec::new();
    events.extend((1..4).map(|thread| (u64::from(thread), thread, sleeps_in(FUTEX))));
    events.extend(wakes_in(100, 0, FUTEX, 3));
    for thread in 1..4 {
        let at = 100_000 * u64::from(thread);
        events.push((at, thread, woken_in(FUTEX)));
        events.extend(each(thread, at));
    }
    events.push((1_000_000, 0, MARK));
    events.sort_by_key(|(time, ..)| *time);
    let analysis = analysis(&trace(&events));
    analysis.waitables.iter().find(|w| w.object.address == FUTEX).unwrap().stats.futile.clone()
}

/// Thread 1 finds something to do, and the two others do not.
#[test]
fn who_waits_in_the_same_futex_again_was_woken_for_nothing() {
    let found = futex_herd(|thread, at| match thread {
        1 => wakes_in(at + 50_000, 1, FUTEX, 0).to_vec(),
        _ => vec![(at + 300, thread, sleeps_in(FUTEX))],
    });
    let sites = [(BROADCAST, 2)].into();
    assert_eq!(found, FutileWakes { broadcasts: 1, woken: 3, futile: 2, sites });
    assert!(found.is_herd());
    // The word had changed: the thread did not wait.
    let changed = What::FutexWaitEnd { futex: FUTEX, end: FutexEnd::Changed };
    let found = futex_herd(|thread, at| match thread {
        1 => wakes_in(at + 50_000, 1, FUTEX, 0).to_vec(),
        2 => [vec![(at + 300, 2, sleeps_in(FUTEX)), (at + 400, 2, changed)], wakes_in(at + 500, 2, FUTEX, 0).to_vec()]
            .concat(),
        _ => vec![(at + 300, thread, sleeps_in(FUTEX))],
    });
    assert_eq!(found.futile, 1);
}

#[test]
fn threads_that_share_out_their_work_were_not_woken_for_nothing() {
    let brief = futex_herd(|thread, at| vec![(at + 300, thread, sleeps_in(FUTEX))]);
    assert_eq!(brief, FutileWakes::default(), "each may have had its part");
    let long = futex_herd(|thread, at| vec![(at + 20_000, thread, sleeps_in(FUTEX))]);
    assert_eq!((long.woken, long.futile), (3, 0));
    let one = futex_herd(|thread, at| vec![(at + if thread == 1 { 20_000 } else { 300 }, thread, sleeps_in(FUTEX))]);
    assert_eq!((one.woken, one.futile), (3, 2));
    // A thread that has no CPU meanwhile has not worked.
    let preempted = futex_herd(|thread, at| match thread {
        1 => vec![(at + 20, 1, MARK)],
        _ => vec![
            (at + 100, thread, What::OffCpu { tid: 0, reason: baton_trace::OffReason::Preempted }),
            (at + 50_000, thread, What::OnCpu { tid: 0, cpu: 0 }),
            (at + 50_100, thread, sleeps_in(FUTEX)),
        ],
    });
    assert_eq!(preempted.futile, 2);
}

/// The last thread that comes to a barrier wakes the others, and has worked for longest.
#[test]
fn threads_that_meet_at_a_barrier_are_not_woken_for_nothing() {
    let mut events: Vec<_> = (1..4).map(|thread| (u64::from(thread), thread, sleeps_in(FUTEX))).collect();
    for round in 0..4u32 {
        let (last, at) = (round % 4, 100_000 * u64::from(round + 1));
        events.extend(wakes_in(at, last, FUTEX, 3));
        for thread in (0..4).filter(|thread| *thread != last) {
            events.push((at + 10_000, thread, woken_in(FUTEX)));
        }
        for thread in (0..4).filter(|thread| *thread != (round + 1) % 4) {
            events.push((at + 10_300, thread, sleeps_in(FUTEX)));
        }
    }
    events.sort_by_key(|(time, ..)| *time);
    let analysis = analysis(&trace(&events));
    let stats = &analysis.waitables.iter().find(|w| w.object.address == FUTEX).unwrap().stats;
    assert_eq!((stats.wait.count, &stats.futile), (12, &FutileWakes::default()));
}

/// A condition variable made of a futex: its waiters take a mutex made of another futex, and release
/// it when they wait again.
#[test]
fn a_lock_around_the_wait_is_no_act() {
    let takes = |thread: u32, at: u64| vec![(at + 200, thread, sleeps_in(LOCK)), (at + 30_000, thread, woken_in(LOCK))];
    let herd = futex_herd(|thread, at| {
        let mut events = takes(thread, at);
        events.extend(wakes_in(at + 30_200, thread, LOCK, 1));
        let again = if thread == 2 { 60_000 } else { 31_000 };
        events.push((at + again, thread, sleeps_in(FUTEX)));
        events
    });
    assert_eq!((herd.woken, herd.futile), (3, 2));
    // Between two barriers, a thread waits in the second futex for the others, and wakes none there.
    let barriers = futex_herd(|thread, at| {
        let mut events = takes(thread, at);
        events.push((at + 30_200, thread, sleeps_in(FUTEX)));
        events
    });
    assert_eq!(barriers.futile, 0);
}
