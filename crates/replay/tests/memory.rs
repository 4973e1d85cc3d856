//! Tests how much memory a replay takes for each byte of a recording. The allocator counts it for a
//! recording and for one of twice the length, so that memory which every replay takes does not
//! count.

use baton_chip::Chip;
use baton_machine::Wait;
use baton_replay::compile::{Probes, compile};
use baton_replay::predict::{MEMORY_A_BYTE, MEMORY_A_LOCK, PredictError};
use baton_replay::run::Choice;
use baton_replay::{Ask, predict};
use baton_trace::{Clock, How, Lock, Mode, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, WakeReason, What};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator. It also counts the bytes that are in use, and the most bytes that were
/// in use at once.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn more(bytes: usize) {
    let used = USED.fetch_add(bytes, Relaxed) + bytes;
    MOST.fetch_max(used, Relaxed);
}

// SAFETY: every call goes to the system's allocator with unchanged arguments; this allocator only
// adds up the sizes.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller vouches for the layout, which goes to the system's allocator
        // unchanged.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller vouches for the layout, which goes to the system's allocator
        // unchanged.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller vouches for the block and its layout, and the block came from the
        // system's allocator.
        unsafe { System.dealloc(place, layout) }
    }

    // A large block grows in place, or the kernel moves its pages, so only its growth counts.
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        more(size.saturating_sub(layout.size()));
        USED.fetch_sub(layout.size().saturating_sub(size), Relaxed);
        // SAFETY: the caller vouches for the block, its layout and the size, and the block came
        // from the system's allocator.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MODE: Mode = Mode::Exclusive;
const THREADS: u64 = 2;

/// Puts the events of a round: the round's number, the time at which it begins, and a function that
/// takes time, thread and event.
type Round = fn(u64, u64, &mut dyn FnMut(u64, u64, What));

/// Makes a recording in which two threads, which a third one starts, do `rounds` rounds.
fn recording(rounds: u64, round: Round) -> Trace {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    let mut put = |time: u64, thread: u64, what| {
        builder.push(Ticks(time), ThreadIndex(thread as u32), what);
    };
    put(0, 0, What::ThreadStart { handle: 1 });
    for thread in 1..=THREADS {
        put(100 * thread, 0, What::Create { site: SiteId(9) });
        put(100 * thread + 20, 0, What::Created { handle: 1 + thread, error: 0 });
        put(100 * thread + 30, thread, What::ThreadStart { handle: 1 + thread });
    }
    for i in 0..rounds {
        round(i, 1000 + i * 20_000, &mut |time, thread, what| put(time, 1 + thread, what));
    }
    for thread in 0..=THREADS {
        put(2000 + rounds * 20_000 + thread, thread, What::ThreadEnd { handle: 1 + thread });
    }
    builder.build()
}

fn site(number: u64) -> SiteId {
    SiteId(1 + number as u32 % 5)
}

/// The threads take locks that are free.
fn uncontended(i: u64, t: u64, put: &mut dyn FnMut(u64, u64, What)) {
    for thread in 0..THREADS {
        let (lock, site, t) = (Lock::mutex(64 * (1 + (i + thread) % 7)), site(i), t + thread * 7000 + i * 37 % 500);
        put(t, thread, What::Acquire { lock, mode: MODE, site });
        put(t + 1000 + i * 31 % 200, thread, What::Release { lock, mode: MODE, site });
    }
}

/// Both threads want one lock; the CPU times of the waiting thread are recorded around its waits.
fn contended(i: u64, t: u64, put: &mut dyn FnMut(u64, u64, What)) {
    let (lock, site) = (Lock::mutex(64), site(i));
    put(t, 0, What::Acquire { lock, mode: MODE, site });
    put(t + 100, 1, What::Request { lock, mode: MODE, site });
    put(t + 300, 1, What::CpuTime { ns: t / 2 });
    put(t + 3000, 0, What::Release { lock, mode: MODE, site });
    put(t + 3500, 1, What::Acquired { lock, mode: MODE, how: How::OPAQUE });
    put(t + 3700, 1, What::CpuTime { ns: t / 2 + 700 });
    put(t + 5000 + i * 17 % 300, 1, What::Release { lock, mode: MODE, site });
}

/// The threads take items from one store: thread 1 a third of them, thread 0 the rest.
fn shared_out(i: u64, t: u64, put: &mut dyn FnMut(u64, u64, What)) {
    let (lock, site, thread) = (Lock::mutex(64), SiteId(1), u64::from(i.is_multiple_of(3)));
    put(t, thread, What::Acquire { lock, mode: MODE, site });
    put(t + 1000 + i * 31 % 200, thread, What::Release { lock, mode: MODE, site });
}

/// Each lock is taken ten times, and never again.
fn short_lived(i: u64, t: u64, put: &mut dyn FnMut(u64, u64, What)) {
    let (lock, site) = (Lock::mutex(64 * (1 + i / 10)), site(i));
    put(t, i % 2, What::Acquire { lock, mode: MODE, site });
    put(t + 1000, i % 2, What::Release { lock, mode: MODE, site });
}

/// Each lock is taken only once.
fn once(i: u64, t: u64, put: &mut dyn FnMut(u64, u64, What)) {
    let (lock, site) = (Lock::mutex(64 * (1 + i)), site(i));
    put(t, i % 2, What::Acquire { lock, mode: MODE, site });
    put(t + 1000, i % 2, What::Release { lock, mode: MODE, site });
}

/// Thread 0 waits at a condition variable, which thread 1 signals.
fn conditions(i: u64, t: u64, put: &mut dyn FnMut(u64, u64, What)) {
    let (lock, condition, site) = (Lock::mutex(64), 256, site(i));
    put(t, 0, What::Acquire { lock, mode: MODE, site });
    put(t + 200, 0, What::CondWait { condition, site });
    put(t + 210, 0, What::CondMutex { mutex: 64 });
    put(t + 220, 0, What::Release { lock, mode: MODE, site });
    put(t + 2000, 1, What::Acquire { lock, mode: MODE, site });
    put(t + 2500, 1, What::CondSignal { condition, site });
    put(t + 2600, 1, What::Release { lock, mode: MODE, site });
    put(t + 9000, 0, What::CondWake { condition, reason: WakeReason::Woken });
    put(t + 9100, 0, What::Acquire { lock, mode: MODE, site });
    put(t + 9900, 0, What::Release { lock, mode: MODE, site });
}

/// Thread 1 posts a semaphore, which thread 0 takes.
fn semaphores(i: u64, t: u64, put: &mut dyn FnMut(u64, u64, What)) {
    let (semaphore, site) = (128, site(i));
    put(t, 1, What::SemPost { semaphore, site });
    put(t + 5000, 0, What::SemTake { semaphore, site });
}

/// The allocator counts what all threads of the process allocate, so the tests run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Returns the most bytes that `does` has in use at once, in addition to those that were in use
/// before.
fn most<T>(does: impl FnOnce() -> T) -> usize {
    let before = USED.load(Relaxed);
    MOST.store(before, Relaxed);
    let made = does();
    let most = MOST.load(Relaxed) - before;
    drop(made);
    most
}

/// Returns how many bytes each byte of a recording takes: while the recording becomes a program,
/// and while that program runs. They are measured apart: a run takes some megabytes for any
/// program, which would hide what a short recording takes while it becomes a program.
fn bytes_a_byte(round: Round, rounds: u64) -> [f64; 2] {
    const RECORD: u64 = 16;
    let sample = include_str!("../../../chips/sample-host.toml");
    let chip = Chip::from_toml_with(sample, "sample-host.toml", &[]).expect("the sample is right");
    let choice = Choice { lock: "mcs".into(), wait: Wait::SpinPark(20) };
    let measured = [rounds, 2 * rounds].map(|rounds| {
        let trace = recording(rounds, round);
        let compiled = [Probes::Kept, Probes::Subtracted].map(|probes| most(|| compile(&trace, &chip, probes)));
        let ask = Ask { choices: vec![choice.clone()], ..Ask::default() };
        let ran = most(|| predict(&trace, &chip, &ask, &|| {}).expect("it can be replayed"));
        ([compiled[0].max(compiled[1]), ran], trace.len() * RECORD)
    });
    let [(short, few), (long, many)] = measured;
    [0, 1].map(|of| (long[of] as f64 - short[of] as f64) / (many - few) as f64)
}

#[test]
fn a_replay_takes_no_more_memory_than_is_told() {
    let _alone = ALONE.lock();
    let shapes: [(&str, Round); 6] = [
        ("uncontended", uncontended),
        ("contended", contended),
        ("shared out", shared_out),
        ("short-lived locks", short_lived),
        ("conditions", conditions),
        ("semaphores", semaphores),
    ];
    for (name, round) in shapes {
        let [compiled, ran] = bytes_a_byte(round, 4000);
        println!(
            "{name}: {compiled:.2} bytes for each byte of the recording while it becomes a program, {ran:.2} while that runs"
        );
        assert!(compiled.max(ran) <= MEMORY_A_BYTE as f64, "{name}: {compiled:.2}, {ran:.2}; at most {MEMORY_A_BYTE}");
    }
}

/// A lock that is taken once has two events of 16 bytes in the recording, and takes memory in each
/// of the runs, of which as many are made at once as there are cores.
#[test]
fn a_lock_takes_no_more_memory_than_is_told() {
    let _alone = ALONE.lock();
    const EVENTS: f64 = 2.0 * 16.0;
    let [compiled, ran] = bytes_a_byte(once, 4000).map(|bytes| bytes * EVENTS);
    println!("{compiled:.0} bytes a lock while it becomes a program, {ran:.0} while that runs");
    let told = MEMORY_A_BYTE as f64 * EVENTS + (MEMORY_A_LOCK * rayon::current_num_threads() as u64) as f64;
    assert!(compiled.max(ran) <= told, "{compiled:.0}, {ran:.0} bytes a lock; at most {told}");
}

#[test]
fn locks_that_would_not_fit_into_memory_are_refused() {
    let _alone = ALONE.lock();
    let chip = Chip::from_toml_with(include_str!("../../../chips/sample-host.toml"), "sample-host.toml", &[]).unwrap();
    let ask = |memory| Ask { memory, ..Ask::default() };
    let trace = recording(1000, once);
    let tight = 1000 * MEMORY_A_LOCK - 1;
    let refused = predict(&trace, &chip, &ask(Some(tight)), &|| {}).unwrap_err();
    assert!(matches!(refused, PredictError::Memory { locks: 1000, free, .. } if free == tight), "{refused}");
    let enough = tight * 2 * rayon::current_num_threads() as u64;
    assert!(predict(&trace, &chip, &ask(Some(enough)), &|| {}).is_ok());
}
