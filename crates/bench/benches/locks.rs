//! Every lock beside std's, parking_lot's and pthread's, with one thread, and at 1, 2 and 4 threads a core.
//!
//! One iteration is one acquisition by any of the threads: take the lock, add to a counter, let go, compute for a while
//! outside. Locks that take any wait policy are run spinning (pause) and sleeping (spin-park). Thread *i* stays on CPU *i* of
//! those allowed, round and round: left alone, the scheduler may keep two threads on one CPU for a whole sample, and they
//! would never meet. Every lock has its counter beside it, on a pair of cache lines of their own.
//!
//! `cargo bench -p baton-bench --bench locks` measures, `… -- --test` (or `-- --smoke`) runs each once, to see that it
//! works. A name or a part of one as argument picks benchmarks. Every sample runs for the same time, and what was done in
//! it is counted: spinning with more threads than CPUs collapses, which is a result but must not take hours.

#![allow(clippy::disallowed_types, reason = "the others' locks and clocks stand beside ours")]

use baton_machine::units::Cycles;
use baton_machine::{Machine, Native, Wait};
use baton_sync::lock::{self, LOCKS, LockVisitor, RawLock, Waits, ZeroInit};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput};
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a sample runs, whatever it does in that time: some of the scheduler's time slices, so that the threads meet.
const WINDOW: Duration = Duration::from_millis(100);
/// What each thread computes between two acquisitions.
const OUTSIDE: Cycles = Cycles(100);

/// What nothing else shares a pair of cache lines with.
#[repr(C, align(128))]
struct Apart<T>(T);

/// Keeps the calling thread on one of the CPUs that it may use. Without that the figures would mean nothing.
fn stay_on(cpu: usize) {
    // SAFETY: an all-zero set is an empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is ours, and CPU numbers below its size are checked by the macro's array access.
    let failed = unsafe {
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    assert_eq!(failed, 0, "CPU {cpu}: {}", std::io::Error::last_os_error());
}

/// A counter that only the holder of some lock touches.
struct Counter(UnsafeCell<u64>);
// SAFETY: touched under a lock only.
unsafe impl Sync for Counter {}

impl Counter {
    fn new() -> Self {
        Counter(UnsafeCell::new(0))
    }

    /// # Safety
    /// The caller holds the lock.
    unsafe fn add(&self) {
        // SAFETY: by contract no other thread is here.
        unsafe { *self.0.get() = black_box(*self.0.get()) + 1 };
    }
}

/// The time that `threads` threads take for `acquisitions` in all: they run for [`WINDOW`], and the time for what they did
/// is scaled to what was asked for.
fn contend(threads: usize, acquisitions: u64, section: impl Fn() + Sync) -> Duration {
    let (barrier, stop, section) = (&Barrier::new(threads + 1), &AtomicBool::new(false), &section);
    let cpus = baton_machine::discover::allowed_cpus();
    let (took, done) = std::thread::scope(|s| {
        let threads: Vec<_> = (0..threads)
            .map(|i| {
                let cpu = cpus[i % cpus.len()];
                s.spawn(move || {
                    stay_on(cpu as usize);
                    barrier.wait();
                    let mut done = 0;
                    while !stop.load(Ordering::Relaxed) {
                        section();
                        Native::work(OUTSIDE);
                        done += 1;
                    }
                    (Instant::now(), done)
                })
            })
            .collect();
        barrier.wait();
        let start = Instant::now();
        std::thread::sleep(WINDOW);
        stop.store(true, Ordering::Relaxed);
        let ends: Vec<(Instant, u64)> =
            threads.into_iter().map(|thread| thread.join().expect("a bench thread does not panic")).collect();
        let end = ends.iter().map(|end| end.0).max().expect("there are threads");
        (end - start, ends.iter().map(|end| end.1).sum::<u64>())
    });
    // No thread may have come to its first one.
    took.mul_f64(acquisitions as f64 / done.max(1) as f64)
}

type Group<'a, 'b> = &'a mut BenchmarkGroup<'b, WallTime>;

fn measure(group: Group, name: &str, threads: usize, section: impl Fn() + Sync) {
    group.bench_function(BenchmarkId::new(name, threads), |b| {
        b.iter_custom(|acquisitions| contend(threads, acquisitions, &section));
    });
}

/// One of ours.
struct Ours<'a, 'b> {
    group: Group<'a, 'b>,
    wait: Wait,
    threads: usize,
}

impl LockVisitor<Native> for Ours<'_, '_> {
    type Out = ();
    fn visit<L: RawLock<Native> + ZeroInit>(self) {
        let (both, wait) = (Apart((L::new(), Counter::new())), self.wait);
        let Apart((lock, counter)) = &both;
        let name = format!("{} {wait}", L::INFO.name);
        measure(self.group, &name, self.threads, || {
            let token = lock.lock(wait);
            // SAFETY: we hold the lock, by `token`.
            unsafe {
                counter.add();
                lock.unlock(token, wait);
            }
        });
    }
}

/// The locks that people have already.
fn others(group: Group, threads: usize) {
    let std = Apart(std::sync::Mutex::new(0u64));
    measure(group, "std", threads, || *std.0.lock().unwrap() += 1);
    let parking_lot = Apart(parking_lot::Mutex::new(0u64));
    measure(group, "parking_lot", threads, || *parking_lot.0.lock() += 1);

    struct Pthread(UnsafeCell<libc::pthread_mutex_t>);
    // SAFETY: a pthread mutex is made to be shared.
    unsafe impl Sync for Pthread {}
    let both = Apart((Pthread(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)), Counter::new()));
    let Apart((pthread, counter)) = &both;
    measure(group, "pthread", threads, || {
        // SAFETY: the mutex is initialised and stays in place; the counter is touched while it is held.
        unsafe {
            libc::pthread_mutex_lock(pthread.0.get());
            counter.add();
            libc::pthread_mutex_unlock(pthread.0.get());
        }
    });
}

fn main() {
    // `--smoke` is this project's word for criterion's `--test`.
    let smoke = std::env::args().any(|argument| argument == "--smoke");
    let criterion = Criterion::default().without_plots();
    let mut criterion = if smoke {
        criterion.warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_millis(1)).nresamples(100)
    } else {
        criterion.configure_from_args()
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let crowd =
        |n: usize| (if n == 1 { "1 thread a core".to_owned() } else { format!("{n} threads a core") }, cores * n);
    for (name, threads) in [("1 thread".to_owned(), 1)].into_iter().chain([1, 2, 4].map(crowd)) {
        let mut group = criterion.benchmark_group(name);
        group.sampling_mode(SamplingMode::Flat).sample_size(10).throughput(Throughput::Elements(1));
        if !smoke {
            group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
        }
        others(&mut group, threads);
        for info in LOCKS {
            let waits = match info.waits {
                Waits::Fixed(own) => vec![own],
                Waits::Spinning => vec![Wait::Pause],
                Waits::Any => vec![Wait::Pause, Wait::SpinPark(baton_machine::wait::SPIN_TRIES)],
            };
            for wait in waits {
                lock::visit::<Native, _>(info.name, Ours { group: &mut group, wait, threads })
                    .expect("the registry knows its own locks");
            }
        }
        group.finish();
    }
    criterion.final_summary();
}
